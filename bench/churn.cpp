// SPDX-License-Identifier: MIT
// Replace random blocks of a large live set, as a long-running program does. 64-byte blocks; 1,000
// of them stay in the nearest cache, 200,000 (13 MB) do not.
//
// Expected: at 200,000 most of the time is the cache miss on the block that is given back. `none`
// has it too, because it reads the block.
#include "rivals/all.hpp"

#include <string_view>
#include <vector>

namespace
{

using namespace bench;

constexpr std::size_t block_bytes   = 64;
constexpr std::size_t swaps_at_once = 1000;

struct churn_job {
    std::vector<void*> live;
    std::uint64_t      random;
};

template <class Rival>
__attribute__((noinline)) std::uint64_t churn(Rival& rival, churn_job& job)
{
    void** const        live   = job.live.data();
    const std::uint64_t count  = job.live.size();
    std::uint64_t       random = job.random;
    std::uint64_t       hash   = 0;
    for (std::size_t i = 0; i < swaps_at_once; i++) {
        random             = random * 6364136223846793005u + 1442695040888963407u;
        void** const which = &live[(random >> 32) * count >> 32];
        void*        block = rival.take();  // before the give, else it would be the same block
        content(block)     = random;
        keep(block);
        void* victim = *which;
        hash         = hash * 31 + content(victim);
        rival.give(victim);
        settle();
        *which = block;
    }
    job.random = random;
    return hash;
}

template <class Rival>
void run(benchmark::State& state, std::size_t live_count)
{
    const std::size_t   count = live_count + 1;  // two blocks, for a moment
    const place         where = warm(block_bytes * count + slack_bytes);
    const seated<Rival> seat(where, block_bytes, count);
    Rival&              rival = *seat;
    churn_job           job{std::vector<void*>(live_count), 1};
    for (void*& block : job.live) {
        block          = rival.take();
        content(block) = 0;
    }
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < 2 * live_count / swaps_at_once; i++) {  // nearly all are replaced
        hash = hash * 31 + churn(rival, job);
    }
    // Without an allocator a block is handed out while in use, so its contents cannot be compared.
    const bool compares = std::string_view(Rival::name) != none::name;
    same_work(state, case_name("churn", live_count, compares ? "" : Rival::name), hash);
    while (state.KeepRunningBatch(swaps_at_once)) {
        benchmark::DoNotOptimize(churn(rival, job));
    }
    for (void* const block : job.live) {
        rival.give(block);
    }
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t live_count) const
    {
        const std::string name = case_name("churn", live_count, Rival::name);
        benchmark::RegisterBenchmark(name.c_str(), run<Rival>, live_count);
    }
};

template <std::size_t LiveCount>
void add_cpp()
{
    using check = eggbox::fixed_check;
    add_one{}.operator()<eggbox_cpp<block_bytes, LiveCount + 1, check::marks>>(LiveCount);
    add_one{}.operator()<eggbox_cpp<block_bytes, LiveCount + 1, check::off>>(LiveCount);
}

}  // namespace

void bench::add_churn(scale size)
{
    for_each(all_rivals{}, add_one{}, std::size_t{1000});
    add_cpp<1000>();
    if (!size.smoke) {
        for_each(all_rivals{}, add_one{}, std::size_t{200000});
        add_cpp<200000>();
    }
}

// SPDX-License-Identifier: MIT
// Take one block, write to it, give it back, 100,000 times, in a pool of 1,000,000 blocks of 4 KiB
// over memory that no one has touched: does the resident memory stay at the one page that is
// needed?
//
// Counters: `rss_pages`, the growth of the process, from /proc/self/statm; `pool_pages`, the pages
// of the pool's own memory that are there afterwards. Expected: 1 and 1 for the fixed pool; 100,000
// as printed; all for Boost.Pool if it reserves, else 32 blocks.
//
// Boost.Pool's reserve really needs 4 GB of memory.
#include "rivals/all.hpp"

namespace
{

using namespace bench;

constexpr std::size_t block_bytes = 4096;

template <class Rival>
__attribute__((noinline)) std::uint64_t ping_pong(Rival& rival, std::size_t pairs)
{
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < pairs; i++) {
        void* block    = rival.take();
        content(block) = i;
        keep(block);
        hash += content(block);
        rival.give(block);
        settle();
    }
    return hash;
}

template <class Rival>
void run(benchmark::State& state, std::size_t count, std::size_t pairs)
{
    {
        fresh memory(block_bytes * 64);  // code and stack are there then
        Rival rival(memory.where(), block_bytes, 1);
        (void)ping_pong(rival, 1);
        (void)resident_pages();
    }
    fresh             memory(block_bytes * count + slack_bytes);
    const std::size_t before = resident_pages();
    Rival             rival(memory.where(), block_bytes, count);
    std::uint64_t     hash = 0;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(pairs))) {
        hash = ping_pong(rival, pairs);
    }
    const std::size_t after      = resident_pages();
    state.counters["rss_pages"]  = static_cast<double>(after) - static_cast<double>(before);
    state.counters["pool_pages"] = static_cast<double>(memory.resident_pages());
    same_work(state, "ping_pong", hash);
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t count, std::size_t pairs) const
    {
        const std::string name = case_name("ping_pong", count, Rival::name);
        benchmark::RegisterBenchmark(name.c_str(), run<Rival>, count, pairs)
            ->Iterations(static_cast<benchmark::IterationCount>(pairs));
    }
};

}  // namespace

void bench::add_ping_pong(scale size)
{
    const std::size_t count = size.smoke ? 1000 : 1000000;
    const std::size_t pairs = size.smoke ? 100 : 100000;
    for_each(pools_in_place{}, add_one{}, count, pairs);
    add_one{}.operator()<boost_pool_growing>(count, pairs);
}

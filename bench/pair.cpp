// SPDX-License-Identifier: MIT
// Take one block, give it back: the cost of the allocator's code, with everything in the cache.
//
// `pair`, the headline, does nothing with the block; `pair_touched` writes and reads its first 8
// bytes. Expected on x86-64 at -O2: about 1 ns for the fixed pool, the same for every size. If it
// gets slower, look first for vector instructions in the loop: when two neighbouring fields are
// stored as one, the next load of either waits.
#include "rivals/all.hpp"

namespace
{

using namespace bench;

// Only one block is live at a time, so the number matters only to rivals that walk through their
// memory first.
constexpr std::size_t block_count = 8;

constexpr std::size_t pairs_at_once = 1000;  // between two looks at the clock's counter

template <class Rival>
__attribute__((noinline)) void pair(Rival& rival)
{
    for (std::size_t i = 0; i < pairs_at_once; i++) {
        void* block = rival.take();
        keep(block);
        rival.give(block);
        settle();
    }
}

template <class Rival>
__attribute__((noinline)) std::uint64_t pair_touched(Rival& rival)
{
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < pairs_at_once; i++) {
        void* block    = rival.take();
        content(block) = i;
        keep(block);
        hash += content(block);
        rival.give(block);
        settle();
    }
    return hash;
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t block_bytes) const
    {
        const auto run = [block_bytes](benchmark::State& state, bool touched) {
            const place         where = warm(block_bytes * block_count + slack_bytes);
            const seated<Rival> seat(where, block_bytes, block_count);
            Rival&              rival = *seat;
            const std::uint64_t hash  = pair_touched(rival);
            same_work(state, "pair", hash);
            while (state.KeepRunningBatch(pairs_at_once)) {
                if (touched) {
                    benchmark::DoNotOptimize(pair_touched(rival));
                } else {
                    pair(rival);
                }
            }
        };
        benchmark::RegisterBenchmark(
            case_name("pair", block_bytes, Rival::name).c_str(), run, false
        );
        benchmark::RegisterBenchmark(
            case_name("pair_touched", block_bytes, Rival::name).c_str(), run, true
        );
    }
};

BENCH_STATIC_POOL(16, block_count);
BENCH_STATIC_POOL(64, block_count);
BENCH_STATIC_POOL(256, block_count);
BENCH_STATIC_POOL(1024, block_count);
BENCH_STATIC_POOL(4096, block_count);
BENCH_STATIC_POOL(16384, block_count);

template <class Static, std::size_t BlockBytes>
void add_size()
{
    for_each(all_rivals{}, add_one{}, BlockBytes);
    add_one{}.operator()<Static>(BlockBytes);
    using check = eggbox::fixed_check;
    add_one{}.operator()<eggbox_cpp<BlockBytes, block_count, check::marks>>(BlockBytes);
    add_one{}.operator()<eggbox_cpp<BlockBytes, block_count, check::off>>(BlockBytes);
}

}  // namespace

void bench::add_pair(scale)
{
    add_size<eggbox_static_16, 16>();
    add_size<eggbox_static_64, 64>();
    add_size<eggbox_static_256, 256>();
    add_size<eggbox_static_1024, 1024>();
    add_size<eggbox_static_4096, 4096>();
    add_size<eggbox_static_16384, 16384>();
}

// SPDX-License-Identifier: MIT
// The benchmark that came with the pool library elr_mpl, twice.
//
// `elr`: the way its authors ran it. 1,000 steps, each by the throw of a coin: take a block, or
// give the newest one back; the clock's counter around each single call, and around one write to
// the last byte of a new block; a new pool for each size, the sizes one after the other in one
// process, one pass. The columns are cycles of that counter for each take, free and write, the
// counter's own 20 to 60 included (`none` has only these). Some 40 blocks are live at most. Most of
// the cost of taking a large block is therefore the first touch of new pages, and the write comes
// after it.
//
// `elr_cold` and `elr_warm`: the same steps without the traps. The clock is around passes, not
// around calls; the same coins for all; the first and the last bytes of each block are written; the
// remaining blocks are given back at the end of a pass. Cold is the first pass of a new pool in a
// new process, warm are all the later ones. Time per step.
#include "rivals/all.hpp"
#include "ticks.hpp"

#include <vector>

namespace
{

using namespace bench;

constexpr std::size_t steps = 1000;

// Whether each step takes; the others give, if there is a block to give.
std::vector<bool> throw_coins()
{
    std::vector<bool> coins(steps);
    std::uint64_t     random = 1;
    for (std::size_t i = 0; i < steps; i++) {
        random   = random * 6364136223846793005u + 1442695040888963407u;
        coins[i] = (random >> 33) % 100 < 50;
    }
    return coins;
}

// The blocks in use, newest last.
struct stack {
    void*       blocks[steps];
    std::size_t count = 0;
};

unsigned char& last_byte(void* block, std::size_t block_bytes)
{
    return static_cast<unsigned char*>(block)[block_bytes - 1];
}

// ---- as its authors ran it ----------------------------------------------------------------------

struct sums {
    std::uint64_t take = 0, free = 0, access = 0;
    std::uint64_t takes = 0, frees = 0;
};

template <class Rival>
__attribute__((noinline)) void as_run(
    Rival& rival, std::size_t block_bytes, const std::vector<bool>& coins, stack& live, sums& sum
)
{
    for (const bool takes : coins) {
        if (takes) {
            std::uint64_t from  = ticks();
            void*         block = rival.take();
            sum.take += ticks() - from;
            keep(block);
            from                          = ticks();
            last_byte(block, block_bytes) = 0;
            settle();
            sum.access += ticks() - from;
            sum.takes++;
            live.blocks[live.count++] = block;
        } else if (live.count > 0) {
            void*               block = live.blocks[--live.count];
            const std::uint64_t from  = ticks();
            rival.give(block);
            settle();
            sum.free += ticks() - from;
            sum.frees++;
        }
    }
}

template <class Rival>
void run_as_run(benchmark::State& state, std::size_t block_bytes)
{
    const std::vector<bool> coins = throw_coins();
    static stack            live;
    sums                    sum;
    live.count = 0;
    fresh memory(block_bytes * steps + slack_bytes);
    Rival rival(memory.where(), block_bytes, steps);
    while (state.KeepRunningBatch(steps)) {
        as_run(rival, block_bytes, coins, live, sum);
    }
    while (live.count > 0) {
        rival.give(live.blocks[--live.count]);
    }
    const auto mean = [](std::uint64_t total, std::uint64_t count) {
        return static_cast<double>(total) / static_cast<double>(count);
    };
    state.counters["take_cycles"]   = mean(sum.take, sum.takes);
    state.counters["free_cycles"]   = mean(sum.free, sum.frees);
    state.counters["access_cycles"] = mean(sum.access, sum.takes);
    same_work(state, case_name("elr", block_bytes, ""), sum.takes * 1000 + sum.frees);
}

// ---- without the traps --------------------------------------------------------------------------

template <class Rival>
__attribute__((noinline)) std::uint64_t
pass(Rival& rival, std::size_t block_bytes, const std::vector<bool>& coins, stack& live)
{
    std::uint64_t hash = 0;
    const auto    give = [&] {
        void* block = live.blocks[--live.count];
        hash        = hash * 31 + content(block) + last_byte(block, block_bytes);
        rival.give(block);
        settle();
    };
    for (const bool takes : coins) {
        if (takes) {
            void* block                   = rival.take();
            content(block)                = live.count;
            last_byte(block, block_bytes) = static_cast<unsigned char>(live.count);
            keep(block);
            live.blocks[live.count++] = block;
        } else if (live.count > 0) {
            give();
        }
    }
    while (live.count > 0) {
        give();
    }
    return hash;
}

template <class Rival>
void run_pass(benchmark::State& state, std::size_t block_bytes, bool warms)
{
    const std::vector<bool> coins = throw_coins();
    static stack            live;
    live.count = 0;
    fresh               memory(block_bytes * steps + slack_bytes);
    const seated<Rival> seat(memory.where(), block_bytes, steps);
    Rival&              rival = *seat;
    std::uint64_t       hash  = 0;
    if (warms) {
        hash = pass(rival, block_bytes, coins, live);
    }
    while (state.KeepRunningBatch(steps)) {
        hash = pass(rival, block_bytes, coins, live);
    }
    same_work(state, case_name("elr_pass", block_bytes, ""), hash);
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t block_bytes) const
    {
        const auto name = [block_bytes](const char* pattern) {
            return case_name(pattern, block_bytes, Rival::name);
        };
        benchmark::RegisterBenchmark(name("elr").c_str(), run_as_run<Rival>, block_bytes)
            ->Iterations(steps);
        benchmark::RegisterBenchmark(name("elr_cold").c_str(), run_pass<Rival>, block_bytes, false)
            ->Iterations(steps);
        benchmark::RegisterBenchmark(name("elr_warm").c_str(), run_pass<Rival>, block_bytes, true);
    }
};

}  // namespace

void bench::add_elr(scale)
{
    // Boost.Pool grows here: to reserve 1,000 blocks would be the price of 1,000, paid by some 40.
    using elr_rivals =
        joined<rivals<none, eggbox_check, boost_pool_growing, pmr_unsync>, shared_rivals>;
    for (std::size_t block_bytes = 16; block_bytes <= 16384; block_bytes *= 2) {
        for_each(elr_rivals{}, add_one{}, block_bytes);
    }
}

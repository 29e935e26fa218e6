// SPDX-License-Identifier: MIT
// The time of a thread on its processor while another one works on the other processor, and alone:
// the least of many windows of some tenths of a millisecond. `apart` and `together` of threads.cpp
// have the sum of two threads. On a virtual machine each processor has faster and slower minutes,
// not at the same time, and that sum depends on them.
//
// A window counts only if the other thread did nearly as much in it: two thirds, since its
// processor may be in a slower minute. Otherwise the least would be a window in which the other
// thread had no processor, and nobody was in the way.
//
//     eggbox_two_threads [SECONDS | --smoke]
//
// Expected: the same, except for `together` in batches, which meet at the pool lock of the depot.
#include "pin.hpp"

#include "eggbox/pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace
{

using timer                       = std::chrono::steady_clock;
constexpr std::size_t processors  = 2;
constexpr std::size_t block_bytes = 64;
constexpr std::size_t batch       = 1000;

using nanoseconds = std::array<double, processors>;

constexpr double  no_window   = 1e9;
const nanoseconds nothing_yet = {no_window, no_window};

std::size_t* first_word(void* block)
{
    return static_cast<std::size_t*>(block);
}

void run_pairs(egb_pool pool, std::size_t count)
{
    for (std::size_t i = 0; i < count; i++) {
        void* const block                                     = egb_pool_alloc(pool);
        *const_cast<volatile std::size_t*>(first_word(block)) = i;
        egb_pool_free(pool, block);
    }
}

void run_batches(egb_pool pool, std::size_t count)
{
    static thread_local std::array<void*, batch> blocks;
    for (std::size_t done = 0; done < count; done += batch) {
        for (void*& block : blocks) {
            block              = egb_pool_alloc(pool);
            *first_word(block) = done;
        }
        for (void* const block : blocks) {
            egb_pool_free(pool, block);
        }
    }
}

using work = void (*)(egb_pool pool, std::size_t count);

// The operations that a thread has done, in a cache line of its own.
struct alignas(128) progress {
    std::atomic<std::size_t> pairs{0};
};

using both = std::array<progress, processors>;

// Runs when all threads have come; `other` is NULL for a thread alone.
double
least_window(work run, egb_pool pool, progress& own, const progress* other, timer::time_point end)
{
    constexpr std::size_t step  = 5 * batch;
    constexpr std::size_t count = 20 * step;
    double                least = no_window;
    do {
        run(pool, step);
        own.pairs.store(step);
    } while (other != nullptr && other->pairs.load() == 0);
    for (timer::time_point from = timer::now(); from < end; from = timer::now()) {
        const std::size_t before = other != nullptr ? other->pairs.load() : 0;
        for (std::size_t done = 0; done < count; done += step) {
            run(pool, step);
            own.pairs.store(own.pairs.load() + step);
        }
        const std::chrono::duration<double, std::nano> taken = timer::now() - from;
        if (other == nullptr || other->pairs.load() - before >= count / 3 * 2) {
            least = std::min(least, taken.count() / static_cast<double>(count));
        }
    }
    return least;
}

egb_pool make_pool(egb_level level)
{
    egb_pool_options options{};
    options.block_bytes = block_bytes;
    options.level       = level;
    egb_pool pool{};
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        std::abort();
    }
    return pool;
}

// On the processors from `first` up to `end`.
void measure(
    work            run,
    egb_level       level,
    bool            is_together,
    std::size_t     first,
    std::size_t     end,
    timer::duration time,
    nanoseconds&    least
)
{
    const std::array<egb_pool, processors> pools = {make_pool(level), make_pool(level)};
    const timer::time_point                stop  = timer::now() + time;
    both                                   done;
    std::vector<std::thread>               threads;
    for (std::size_t cpu = first; cpu < end; cpu++) {
        threads.emplace_back([&, cpu] {
            bench::pin(cpu);
            const progress* const other = end - first > 1 ? &done[1 - cpu] : nullptr;
            const double          now =
                least_window(run, pools[is_together ? 0 : cpu], done[cpu], other, stop);
            least[cpu] = std::min(least[cpu], now);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const egb_pool pool : pools) {
        (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE);
    }
}

struct one_case {
    egb_level   level;
    const char* name;
    work        run;
    nanoseconds alone    = nothing_yet;
    nanoseconds apart    = nothing_yet;
    nanoseconds together = nothing_yet;
};

void measure_all(one_case& what, timer::duration time)
{
    measure(what.run, what.level, false, 0, 1, time, what.alone);
    measure(what.run, what.level, false, 1, 2, time, what.alone);
    measure(what.run, what.level, false, 0, 2, time, what.apart);
    measure(what.run, what.level, true, 0, 2, time, what.together);
}

void print(const one_case& what, const char* how, const nanoseconds& two)
{
    if (std::max({what.alone[0], what.alone[1], two[0], two[1]}) == no_window) {
        std::printf(
            "%-6s %-8s %-9s no window that counts\n", egb_level_text(what.level), what.name, how
        );
        return;
    }
    const double speeds = what.alone[0] / two[0] + what.alone[1] / two[1];
    std::printf(
        "%-6s %-8s %-9s %7.2f %7.2f %10.2f %7.2f %11.2fx\n",
        egb_level_text(what.level),
        what.name,
        how,
        what.alone[0],
        what.alone[1],
        two[0],
        two[1],
        speeds
    );
}

}  // namespace

int main(int argc, char** argv)
{
    const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
    const int  seconds  = argc > 1 && !is_smoke ? std::atoi(argv[1]) : 180;
    if (argc > 2 || (!is_smoke && seconds <= 0)) {
        std::fputs("usage: eggbox_two_threads [SECONDS | --smoke]\n", stderr);
        return 2;
    }
    std::array<one_case, 4> cases = {
        {{EGB_LEVEL_CHECK, "pairs", run_pairs},
         {EGB_LEVEL_CHECK, "batches", run_batches},
         {EGB_LEVEL_OFF, "pairs", run_pairs},
         {EGB_LEVEL_OFF, "batches", run_batches}}
    };
    const timer::time_point end = timer::now() + std::chrono::seconds(is_smoke ? 0 : seconds);
    do {
        for (one_case& what : cases) {
            measure_all(what, std::chrono::milliseconds(is_smoke ? 1 : 100));
        }
    } while (timer::now() < end);
    std::puts("ns a pair, 64 bytes          one alone, each      two, each   two against one");
    for (const one_case& what : cases) {
        print(what, "apart", what.apart);
        print(what, "together", what.together);
    }
    return 0;
}

// SPDX-License-Identifier: MIT
// Several threads that do a fixed amount of work each, from a common start to the last one's end.
#ifndef EGGBOX_BENCH_RACE_HPP
#define EGGBOX_BENCH_RACE_HPP

#include "bench.hpp"
#include "pin.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <time.h>
#include <vector>

namespace bench
{

constexpr std::size_t apart_bytes = 128;  // two cache lines: processors fetch them in pairs

// Threads wait for each other by polling, because a sleep would be in the times. They do not poll
// for long, because there may be fewer processors than threads.
class patience
{
  public:
    void wait()
    {
        if (++turns_ % 512 == 0) {
            std::this_thread::yield();
        }
    }

  private:
    unsigned turns_ = 0;
};

// Lets all threads go on when the last one has come. May be used again and again.
class barrier
{
  public:
    explicit barrier(std::size_t threads) : threads_(threads) {}

    void wait()
    {
        const std::size_t turn = turn_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        patience patience;
        while (turn_.load(std::memory_order_acquire) == turn) {
            patience.wait();
        }
    }

  private:
    alignas(apart_bytes) std::atomic<std::size_t> arrived_{0};
    alignas(apart_bytes) std::atomic<std::size_t> turn_{0};
    std::size_t threads_;
};

inline double seconds_of(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct outcome {
    double        wall = 0;  // seconds, from the first start to the last end
    double        cpu  = 0;  // seconds, of all threads
    std::uint64_t hash = 0;
};

// Makes `threads` new threads, the only one included, so that one is like two. Each makes its job
// with `make_job(which)` and runs it twice: once to warm up, once for the clock.
template <class MakeJob>
outcome race(std::size_t threads, const MakeJob& make_job)
{
    struct alignas(apart_bytes) lap {
        double        from, to, cpu;
        std::uint64_t hash;
    };
    std::vector<lap> laps(threads);
    barrier          line(threads);
    const auto       run = [&](std::size_t which) {
        pin(which);
        auto job = make_job(which);
        (void)job.run();
        line.wait();
        const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        lap          mine{};
        mine.from = seconds_of(CLOCK_MONOTONIC);
        mine.hash = job.run();
        mine.to   = seconds_of(CLOCK_MONOTONIC);
        mine.cpu  = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
        line.wait();  // nobody's end is in another's time
        laps[which] = mine;
    };
    std::vector<std::thread> running;
    for (std::size_t which = 0; which < threads; which++) {
        running.emplace_back(run, which);
    }
    for (std::thread& one : running) {
        one.join();
    }
    outcome all;
    double  from = laps[0].from, to = laps[0].to;
    for (const lap& one : laps) {
        from = std::min(from, one.from);
        to   = std::max(to, one.to);
        all.cpu += one.cpu;
        all.hash = all.hash * 31 + one.hash;
    }
    all.wall = to - from;
    return all;
}

// Runs races as long as google-benchmark wants. The time shown is wall time, for each operation of
// one thread; the counter `cpu_ns` is the thread's processor time meanwhile.
template <class MakeJob>
void race_for(
    benchmark::State&  state,
    const std::string& work,
    std::size_t        threads,
    std::size_t        operations,
    const MakeJob&     make_job
)
{
    double cpu = 0, count = 0;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(operations))) {
        const outcome one = race(threads, make_job);
        state.SetIterationTime(one.wall);
        cpu += one.cpu;
        count += static_cast<double>(operations * threads);
        same_work(state, work, one.hash);
    }
    state.counters["cpu_ns"] = cpu * 1e9 / count;
}

}  // namespace bench

#endif  // EGGBOX_BENCH_RACE_HPP

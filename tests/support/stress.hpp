// SPDX-License-Identifier: MIT
// Shared by the tests with many threads: random numbers by seed, a barrier, the memory of the
// process, and a check that ends the process, because a thread cannot go on after a failure.
#ifndef EGGBOX_TESTS_SUPPORT_STRESS_HPP
#define EGGBOX_TESTS_SUPPORT_STRESS_HPP

#include "eggbox/pool.h"
#include "levels.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__GLIBC__)
  #include <malloc.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  #define STRESS_IS_SANITIZED 1
#elif defined(__has_feature)
  #if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    #define STRESS_IS_SANITIZED 1
  #endif
#endif
#if !defined(STRESS_IS_SANITIZED)
  #define STRESS_IS_SANITIZED 0
#endif

#define MUST(condition) stress::must((condition), #condition, __FILE__, __LINE__)

namespace stress
{

inline void must(bool is_so, const char* what, const char* file, int line)
{
    if (!is_so) {
        std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        std::fflush(nullptr);
        std::abort();
    }
}

// A number from the environment, so that one program has a short and a long run.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise)
{
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Small, and the same everywhere: splitmix64.
class random
{
  public:
    explicit random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next()
    {
        state_ += UINT64_C(0x9E3779B97F4A7C15);
        std::uint64_t mixed = state_;
        mixed               = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        mixed               = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
        return mixed ^ (mixed >> 31);
    }

    std::size_t below(std::size_t end)
    {
        return static_cast<std::size_t>(next() % end);
    }

  private:
    std::uint64_t state_;
};

// All threads wait here until the last has come.
class barrier
{
  public:
    explicit barrier(std::size_t threads) : threads_(threads) {}

    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const std::uint64_t          turn = turn_;
        if (++waiting_ == threads_) {
            waiting_ = 0;
            turn_++;
            all_here_.notify_all();
            return;
        }
        all_here_.wait(lock, [&] { return turn_ != turn; });
    }

  private:
    std::mutex              mutex_;
    std::condition_variable all_here_;
    std::size_t             threads_;
    std::size_t             waiting_ = 0;
    std::uint64_t           turn_    = 0;
};

// Runs `work` with the numbers from 0 on, each in a thread of its own, and waits for all.
template <class Work>
void in_threads(std::size_t count, Work work)
{
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; i++) {
        threads.emplace_back([&work, i] { work(i); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// The C library gives threads heaps of their own, of 64 MiB of address space each, at times of its
// own choosing. A test that counts mapped bytes must have one only.
inline void keep_one_heap()
{
#if defined(__GLIBC__) && !STRESS_IS_SANITIZED
    MUST(mallopt(M_ARENA_MAX, 1) == 1);
#endif
}

struct memory {
    std::size_t mapped   = 0;
    std::size_t resident = 0;
};

// The memory of the process as the system counts it, in bytes. Allocates nothing.
inline memory memory_now()
{
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    MUST(file >= 0);
    char          text[128] = "";
    const ssize_t bytes     = read(file, text, sizeof text - 1);
    MUST(bytes > 0);
    close(file);
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    char*             rest = text;
    memory            now;
    now.mapped   = std::strtoul(rest, &rest, 10) * page;
    now.resident = std::strtoul(rest, &rest, 10) * page;
    return now;
}

inline egb_pool make(const egb_pool_options& options)
{
    egb_pool pool{};
    MUST(egb_pool_create(&pool, &options) == EGB_OK);
    return pool;
}

inline egb_pool make(std::size_t block_bytes, std::size_t max_blocks = 0, bool is_checked = true)
{
    egb_pool_options options{};
    options.block_bytes = block_bytes;
    options.max_blocks  = max_blocks;
    options.level       = level_named(is_checked ? "check" : "off");
    return make(options);
}

inline egb_pool_stats stats_of(egb_pool pool)
{
    egb_pool_stats stats{};
    MUST(egb_pool_get_stats(pool, &stats) == EGB_OK);
    return stats;
}

// While it lives, a misuse other than a stale handle ends the process. Stale handles are counted,
// or end the process too.
class only_stale
{
  public:
    explicit only_stale(bool may_be_stale = true) : may_be_stale_(may_be_stale)
    {
        egb_misuse_set_handler(record, this);
    }

    ~only_stale()
    {
        egb_misuse_set_handler(nullptr, nullptr);
    }

    only_stale(const only_stale&)            = delete;
    only_stale& operator=(const only_stale&) = delete;

    std::uint64_t count() const
    {
        return count_.load();
    }

  private:
    static void record(const egb_misuse_event* event, void* user)
    {
        only_stale* const self = static_cast<only_stale*>(user);
        if (event->kind != EGB_MISUSE_STALE || !self->may_be_stale_) {
            std::fprintf(stderr, "misuse: %s\n", egb_misuse_text(event->kind));
            std::abort();
        }
        self->count_++;
    }

    bool                       may_be_stale_;
    std::atomic<std::uint64_t> count_{0};
};

}  // namespace stress

#endif  // EGGBOX_TESTS_SUPPORT_STRESS_HPP

// SPDX-License-Identifier: MIT
// Caches of threads that are gone in the child of a fork: their memory may be anything.
#include "eggbox/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <future>
#include <thread>

#include <pthread.h>
#if defined(__has_include) && !defined(__SANITIZE_THREAD__)  // nobody but the C library writes it
  #if __has_include(<sys/single_threaded.h>)
    #include <sys/single_threaded.h>
    #define KNOWS_THREADS 1
  #endif
#endif
#include <sys/wait.h>
#include <unistd.h>

namespace
{

// The state that the child finds. Its exit status says where it went wrong.
int use_in_child(egb_pool pool, egb_magazine* mine, egb_magazine* gone)
{
    std::memset(static_cast<void*>(gone), 0x5A, sizeof *gone);
    egb_pool_stats stats{};
    if (egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0) {
        return 1;
    }
    void* const block = egb_magazine_alloc(mine);  // opens itself again
    if (block == nullptr) {
        return 2;
    }
    egb_magazine_free(mine, block);
    if (egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0 ||
        stats.in_magazines == 0) {
        return 3;
    }
    egb_magazine_close(mine);
    return egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK ? 0 : 4;
}

}  // namespace

TEST(pool_fork, caches_of_threads_that_are_gone_are_forgotten_in_the_child)
{
    egb_pool_options options{};
    options.block_bytes = 64;
    egb_pool pool{};
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    egb_magazine       mine;
    egb_magazine       gone;
    std::promise<void> is_open;
    std::promise<void> is_over;
    ASSERT_EQ(egb_magazine_open(&mine, pool), EGB_OK);
    egb_magazine_free(&mine, egb_magazine_alloc(&mine));
    std::thread other([&] {
        EXPECT_EQ(egb_magazine_open(&gone, pool), EGB_OK);
        egb_magazine_free(&gone, egb_magazine_alloc(&gone));
        is_open.set_value();
        is_over.get_future().wait();
        egb_magazine_close(&gone);
    });
    is_open.get_future().wait();
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(pool, &mine, &gone));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    is_over.set_value();
    other.join();
    egb_magazine_close(&mine);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

// A handler of a signal may fork while its thread waits. The child has that thread, whose wait is
// over there, and goes on in the parent. ThreadSanitizer keeps signals back until a better moment.
#if !defined(__SANITIZE_THREAD__)
namespace
{

std::atomic<pid_t> forked{-1};

void fork_in_handler(int)
{
    forked = fork();
}

}  // namespace

TEST(pool_fork, a_thread_that_forks_in_a_wait_waits_no_more_in_the_child)
{
    egb_pool_options options{};
    options.block_bytes = 64;
    options.max_blocks  = 1;
    egb_pool pool{};
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    void* const held          = egb_pool_alloc(pool);
    void (*const before)(int) = std::signal(SIGUSR1, fork_in_handler);
    std::thread waiting([pool] {
        void*            block  = nullptr;
        const egb_status answer = egb_pool_alloc_for(pool, &block, EGB_FOREVER);
        if (forked == 0) {
            const bool is_right = answer == EGB_CANCELLED && block == nullptr &&
                                  egb_pool_alloc_for(pool, &block, 1) == EGB_TIMED_OUT;
            _exit(is_right ? 0 : 1);
        }
        EXPECT_EQ(answer, EGB_OK);
        egb_pool_free(pool, block);
    });
    while (egb_pool_waiting(pool) == 0) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it sleeps by then
    EXPECT_EQ(pthread_kill(waiting.native_handle(), SIGUSR1), 0);
    while (forked == -1) {
        std::this_thread::yield();
    }
    int status = -1;
    EXPECT_EQ(waitpid(forked, &status, 0), forked);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(egb_pool_waiting(pool), 1u);
    egb_pool_free(pool, held);
    waiting.join();
    (void)std::signal(SIGUSR1, before);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}
#endif

// A C library may say in the child that its thread is alone, before the library is called there.
#if defined(KNOWS_THREADS)
namespace
{

bool is_told_early;
char told_before;

void tell()
{
    told_before = __libc_single_threaded;
    if (is_told_early) {
        __libc_single_threaded = 1;
    }
}

void take_back()
{
    if (is_told_early) {
        __libc_single_threaded = told_before;
    }
}

// Set before those of the library, which makes no pool until a test does: so it is called behind
// them before a fork, and before them after it.
const int is_set = pthread_atfork(tell, take_back, nullptr);

}  // namespace

TEST(pool_fork, locks_are_free_in_a_child_that_knows_at_once_that_it_is_alone)
{
    egb_pool_options options{};
    options.block_bytes = 64;
    egb_pool           pool{};
    std::promise<void> is_over;
    std::thread        other([&] { is_over.get_future().wait(); });
    ASSERT_EQ(is_set, 0);
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    is_told_early     = true;
    const pid_t child = fork();
    is_told_early     = false;
    if (child == 0) {
        constexpr unsigned deadlock_s = 60;
        (void)alarm(deadlock_s);
        egb_pool_free(pool, egb_pool_alloc(pool));
        _exit(egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    is_over.set_value();
    other.join();
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}
#endif

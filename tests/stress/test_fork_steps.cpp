// SPDX-License-Identifier: MIT
// A fork while another thread stands between two instructions of a call, at each of them in turn.
// The child uses everything, and finds no more and no fewer blocks in use than there are.
#include "events.hpp"
#include "heaps.hpp"
#include "steps.hpp"

#include "eggbox/guard.h"
#include "levels.hpp"

#include <atomic>
#include <thread>

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace
{

enum class order { none, fork, end };

egb_pool           pool;
int                limit;    // one of its blocks; 0: none
std::atomic<int>   held{0};  // blocks that the thread that is stepped through has for certain
std::atomic<order> given{order::none};
std::atomic<bool>  has_begun{false};
std::atomic<bool>  has_locks{false};  // the fork goes on: no lock is waited for any more
std::atomic<int>   forks{0};
std::atomic<int>   status_seen{0};  // the first child that ended wrongly
std::size_t        instructions;
std::size_t        stride;  // a fork at one in so many of them
std::size_t        most;    // as long as there were fewer than this

// ---- the child ----------------------------------------------------------------------------------

// At most one block is on its way between the pool and its caller. The result names the fault.
int use_in_child()
{
    egb_pool_stats stats{};
    if (egb_pool_get_stats(pool, &stats) != EGB_OK) {
        return 1;
    }
    const int in_use = static_cast<int>(stats.in_use);
    if (in_use < held - 1 || in_use > held + 1) {
        return 2;
    }
    const int          room   = limit == 0 ? 100 : limit - in_use;
    std::vector<void*> blocks = take_all(pool, 100);
    if (static_cast<int>(blocks.size()) != room) {
        return 3;
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        fill(blocks[i], 40, i);
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        if (!is_filled(blocks[i], 40, i)) {
            return 4;
        }
    }
    give_all(pool, blocks);
    if (egb_pool_get_stats(pool, &stats) != EGB_OK || static_cast<int>(stats.in_use) != in_use) {
        return 5;
    }
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{3000}, std::size_t{200000}}) {
        void* const block = egb_malloc(bytes);
        if (block == nullptr) {
            return 6;
        }
        egb_free(block);
    }
    const egb_status right = in_use == 0 ? EGB_OK : EGB_BUSY;
    return egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == right ? 0 : 7;
}

// ---- the thread that forks ----------------------------------------------------------------------

void fork_once()
{
    has_begun         = true;
    const pid_t child = fork();
    if (child == 0) {
        alarm(600);
        _exit(use_in_child());
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    if (status != 0 && status_seen == 0) {
        status_seen = status;
    }
    forks++;
    given = order::none;
}

void fork_when_told()
{
    while (given != order::end) {
        if (given == order::fork) {
            fork_once();
        }
        sched_yield();
    }
}

// Called when all locks of the library are taken: the function registered first is called last.
const bool is_registered = pthread_atfork([] { has_locks = true; }, nullptr, nullptr) == 0;

// ---- the thread that is stepped through ---------------------------------------------------------

std::int64_t now_us()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1000000} + now.tv_nsec / 1000;
}

// The other thread has all the locks it needs: this one stands still until the child is done.
void wait_for_child()
{
    while (given != order::none) {
        sched_yield();
    }
}

// If this thread has a lock, the other thread waits for it. Then this thread goes on, and stands
// still again as soon as the other thread has the lock.
void stand_still()
{
    instructions++;
    if (given == order::fork && has_locks) {
        wait_for_child();
    }
    if (instructions % stride != 0 || instructions / stride > most || given != order::none) {
        return;
    }
    has_begun = false;
    has_locks = false;
    given     = order::fork;
    while (!has_begun) {
        sched_yield();
    }
    const std::int64_t give = now_us() + 2000;
    while (!has_locks && now_us() < give) {
        sched_yield();
    }
    if (has_locks) {
        wait_for_child();
    }
}

void take_and_give(std::size_t count)
{
    void* blocks[71];
    for (std::size_t i = 0; i < count; i++) {
        blocks[i] = egb_pool_alloc(pool);
        held += blocks[i] != nullptr ? 1 : 0;
    }
    for (std::size_t i = 0; i < count; i++) {
        void* const block = blocks[i * 7 % count];
        held -= block != nullptr ? 1 : 0;
        egb_pool_free(pool, block);
    }
}

void ask_heap()
{
    for (const std::size_t bytes : {std::size_t{30}, std::size_t{2000}, std::size_t{100000}}) {
        egb_free(egb_malloc(bytes));
    }
    (void)egb_heap_trim(0);
}

void make_pool(const char* level, int max_blocks)
{
    egb_pool_options options{};
    options.block_bytes = 40;
    options.level       = level_named(level);
    options.max_blocks  = static_cast<std::size_t>(max_blocks);
    limit               = max_blocks;
    pool                = make(options);
}

// Fewer forks than were wished for, where locks are held; on a busy machine so few that it takes
// the calls once more to have enough.
enum { FORKS_WANTED = 21, ROUNDS_MAX = 5 };

// This number of times, evenly from the first instruction of `calls` to the last; or, with
// `is_dense`, at each of the first instructions.
template <class Function>
void fork_within(std::size_t count, bool is_dense, Function&& calls)
{
    ASSERT_TRUE(is_registered);
    const steps all(stand_still);
    calls();  // one-time work is done
    instructions = 0;
    stride       = SIZE_MAX;
    all.through(calls);
    stride      = is_dense ? 1 : instructions / count + 1;
    most        = count;
    forks       = 0;
    status_seen = 0;
    given       = order::none;
    std::thread other(fork_when_told);
    for (int round = 0; round < ROUNDS_MAX && forks < FORKS_WANTED; round++) {
        instructions = 0;
        all.through(calls);
        while (given != order::none) {
            sched_yield();
        }
    }
    given = order::end;
    other.join();
    EXPECT_EQ(status_seen, 0);
    EXPECT_GE(forks, FORKS_WANTED);
    std::printf("%d forks, %zu instructions\n", forks.load(), instructions);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

}  // namespace

// A pop looks whether there was a block when it has taken it already, and then puts it back.
TEST(fork_steps, where_a_magazine_is_found_empty)
{
    make_pool("check", 0);
    fork_within(is_sanitized ? 150 : 60, true, [] {
        take_and_give(1);
        (void)egb_pool_trim(pool, 0);
    });
}

TEST(fork_steps, on_the_hot_path)
{
    make_pool("check", 0);
    fork_within(200, false, [] { take_and_give(3); });
}

TEST(fork_steps, where_magazines_are_filled_and_emptied)
{
    make_pool("check", 0);
    fork_within(100, false, [] { take_and_give(71); });
}

TEST(fork_steps, where_a_limited_pool_has_no_block_left)
{
    make_pool("check", 9);
    fork_within(80, false, [] { take_and_give(10); });
}

TEST(fork_steps, in_a_pool_with_guards)
{
    make_pool("track", 0);
    fork_within(200, false, [] { take_and_give(5); });  // a lock is held most of the time
}

TEST(fork_steps, in_the_heap)
{
    make_pool("check", 0);
    fork_within(100, false, ask_heap);
}

// SPDX-License-Identifier: MIT
// Shared pools for tests, and processes that use them and die.
#ifndef EGGBOX_TESTS_SHARED_SHARED_HPP
#define EGGBOX_TESTS_SHARED_SHARED_HPP

#include "eggbox/shared.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

inline egb_shared_options shared_options(size_t count, size_t feed_count)
{
    egb_shared_options options = {};
    options.block_bytes        = 100;
    options.count              = count;
    options.feed_count         = feed_count;
    options.note_bytes         = sizeof(uint64_t);
    return options;
}

inline egb_shared* make_shared_pool(const egb_shared_options& options)
{
    egb_shared* pool = nullptr;
    EXPECT_EQ(egb_shared_create(&pool, &options), EGB_OK);
    return pool;
}

inline egb_shared* attach_again(const egb_shared* pool, unsigned flags = 0)
{
    egb_shared* again = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&again, egb_shared_fd(pool), flags), EGB_OK);
    return again;
}

inline egb_shared_numbers numbers_of(const egb_shared* pool)
{
    egb_shared_numbers numbers = {};
    EXPECT_EQ(egb_shared_stats(pool, &numbers), EGB_OK);
    return numbers;
}

// A name that no other test uses, and that is free.
inline std::string unused_name(const char* what)
{
    return std::string("test-") + what + "-" + std::to_string(getpid());
}

inline std::string path_of(const std::string& name)
{
    return "/dev/shm/eggbox-" + name;
}

// Runs `work` in a child of a fork, and then ends it: 0 if `work` returned true. It does not
// outlive a test that is killed.
template <class Work>
pid_t start_child(Work work)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(work() ? 0 : 1);
    }
    return child;
}

// The exit status; below 0: the signal that killed it.
inline int end_of(pid_t child)
{
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A process that waits to be killed, after it wrote a byte to say that it is ready.
template <class Work>
pid_t start_victim(Work work)
{
    int pipes[2];
    EXPECT_EQ(pipe(pipes), 0);
    const pid_t child = start_child([&] {
        work();
        const bool is_said = write(pipes[1], "x", 1) == 1;
        pause();
        return is_said;
    });
    char        ready = 0;
    EXPECT_EQ(read(pipes[0], &ready, 1), 1);
    close(pipes[0]);
    close(pipes[1]);
    return child;
}

inline void kill_and_reap(pid_t child)
{
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(end_of(child), -SIGKILL);
}

// What must hold when only `pool` is alive and everything dead was recovered: each block is held by
// this process or the feed as `in_use` says, and all others can be allocated.
inline void expect_nothing_lost(egb_shared* pool, size_t in_use)
{
    (void)egb_shared_recover(pool);
    const egb_shared_numbers numbers = numbers_of(pool);
    ASSERT_EQ(numbers.in_use, in_use);
    ASSERT_EQ(numbers.attachments, 1U);
    size_t got = 0;
    void*  blocks[64];
    while (got < 64 && egb_shared_alloc_wait(pool, &blocks[got], 0) == EGB_OK) {
        got++;
    }
    ASSERT_EQ(got + in_use, numbers.count);
    while (got > 0) {
        egb_shared_release(pool, blocks[--got]);
    }
    ASSERT_EQ(numbers_of(pool).in_use, in_use);
}

#endif  // EGGBOX_TESTS_SHARED_SHARED_HPP

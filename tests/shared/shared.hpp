// SPDX-License-Identifier: MIT
// Shared pools for tests, and processes that use them and die.
#ifndef EGGBOX_TESTS_SHARED_SHARED_HPP
#define EGGBOX_TESTS_SHARED_SHARED_HPP

#include "eggbox/shared.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

inline egb_shared_options shared_options(size_t count, size_t feed_count)
{
    egb_shared_options options = {};
    options.block_bytes        = 100;
    options.count              = count;
    options.feed_count         = feed_count;
    options.note_bytes         = sizeof(uint64_t);
    return options;
}

// `name` has to live as long as the options.
inline egb_shared_options named_options(const char* name, size_t count = 2, size_t feed_count = 0)
{
    egb_shared_options options = shared_options(count, feed_count);
    options.name               = name;
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

// ---- the file of a pool -------------------------------------------------------------------------

// An opening of its own, as another process has it.
inline int open_file_of(const egb_shared* pool, int mode)
{
    const std::string path = "/proc/self/fd/" + std::to_string(egb_shared_fd(pool));
    return open(path.c_str(), mode | O_CLOEXEC);
}

// Locks a byte as another process does, until the descriptor that it returns is closed. `byte`: the
// number of an attachment, of the publisher, or of repairs.
inline int lock_byte(const egb_shared* pool, unsigned byte)
{
    const int    file = open_file_of(pool, O_RDWR);
    struct flock lock = {};
    lock.l_type       = F_WRLCK;
    lock.l_whence     = SEEK_SET;
    lock.l_start      = 0x40000000 + static_cast<off_t>(byte);
    lock.l_len        = 1;
    EXPECT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
    return file;
}

inline std::vector<char> bytes_of(const egb_shared* pool)
{
    std::vector<char> bytes(numbers_of(pool).bytes);
    EXPECT_EQ(
        pread(egb_shared_fd(pool), bytes.data(), bytes.size(), 0),
        static_cast<ssize_t>(bytes.size())
    );
    return bytes;
}

// A new file in memory, without seals, with the first `length` of these bytes.
inline int file_with(const std::vector<char>& bytes, size_t length)
{
    const int file = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(write(file, bytes.data(), length), static_cast<ssize_t>(length));
    return file;
}

// ---- processes ----------------------------------------------------------------------------------

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

enum { NOT_ALLOWED = 77 };

// A child with mounts of its own, which ends with what `work` returns.
template <class Work>
pid_t start_apart(Work work)
{
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            _exit(NOT_ALLOWED);
        }
        _exit(work());
    }
    return child;
}

// The end of a child that says NOT_ALLOWED where only root can go on.
inline void expect_done(pid_t child)
{
    const int end = end_of(child);
    if (end == NOT_ALLOWED) {
        GTEST_SKIP() << "only root may do this";
    }
    EXPECT_EQ(end, 0);
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

// Checks, when only `pool` is alive, that everything dead is recovered: this process or the feed
// holds `in_use` blocks, and all others can be allocated.
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

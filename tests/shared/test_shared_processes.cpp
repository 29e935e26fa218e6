// SPDX-License-Identifier: MIT
// Shared pools between real processes: forks, kills, names, clocks.
#include "cancelled.hpp"
#include "shared.hpp"

#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace
{

// ---- forks --------------------------------------------------------------------------------------

TEST(SharedFork, gives_the_child_an_attachment_with_every_hold)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    void* const       block = egb_shared_alloc(pool);
    egb_shared_retain(pool, block);
    const pid_t child = start_victim([] {});
    EXPECT_EQ(numbers_of(pool).attachments, 2U);
    EXPECT_EQ(egb_shared_holders(pool, 0), 3U);
    egb_shared_release(pool, block);
    egb_shared_release(pool, block);
    EXPECT_EQ(egb_shared_holders(pool, 0), 2U);  // the child's
    kill_and_reap(child);
    EXPECT_EQ(egb_shared_recover(pool), 1U);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFork, lets_a_child_of_a_child_use_what_the_first_process_held)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    char* const       block = static_cast<char*>(egb_shared_alloc(pool));
    const pid_t       child = start_child([&] {
        const pid_t grandchild = start_child([&] {
            strcpy(block, "from afar");
            egb_shared_release(pool, block);
            void* const more = egb_shared_alloc(pool);  // a new one: the parents hold the first
            return more != nullptr && more != block;
        });
        return end_of(grandchild) == 0;
    });
    EXPECT_EQ(end_of(child), 0);
    EXPECT_STREQ(block, "from afar");
    egb_shared_release(pool, block);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFork, of_a_publisher_leaves_the_feed_to_the_parent)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    void* const       block = egb_shared_alloc(pool);
    ASSERT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_OK);
    const pid_t child = start_child([&] {
        return egb_shared_publish(pool, egb_shared_alloc(pool), nullptr, nullptr) == EGB_BUSY;
    });
    EXPECT_EQ(end_of(child), 0);
    egb_shared_close(pool);
}

TEST(SharedFork, while_other_threads_allocate_loses_nothing)
{
    egb_shared* const pool = make_shared_pool(shared_options(8, 0));
    std::atomic<bool> stop{false};
    std::thread       busy([&] {
        while (!stop) {
            egb_shared_release(pool, egb_shared_alloc(pool));
        }
    });
    for (int i = 0; i < 50; i++) {
        ASSERT_EQ(
            end_of(start_child([&] {
                void* const block = egb_shared_alloc(pool);
                egb_shared_release(pool, block);
                return block != nullptr;
            })),
            0
        );
    }
    stop = true;
    busy.join();
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

// ---- kills --------------------------------------------------------------------------------------

TEST(SharedKill, is_noticed_by_the_next_alloc_that_finds_no_block)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 0));
    const pid_t       child = start_victim([&] {
        while (egb_shared_alloc(pool) != nullptr) {
        }
    });
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    kill_and_reap(child);
    EXPECT_NE(egb_shared_alloc(pool), nullptr);
    egb_shared_close(pool);
}

TEST(SharedKill, wakes_one_that_waits_for_a_block)
{
    egb_shared* const pool  = make_shared_pool(shared_options(1, 0));
    const pid_t       child = start_victim([&] { (void)egb_shared_alloc(pool); });
    std::thread       killer([&] {
        while (numbers_of(pool).failures < 2) {
            std::this_thread::yield();
        }
        EXPECT_EQ(kill(child, SIGKILL), 0);
    });
    void*             block = nullptr;
    EXPECT_EQ(egb_shared_alloc_wait(pool, &block, EGB_SHARED_FOREVER), EGB_OK);
    killer.join();
    EXPECT_EQ(end_of(child), -SIGKILL);
    egb_shared_close(pool);
}

TEST(SharedKill, of_a_publisher_leaves_its_frames_and_its_place)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    const pid_t       child = start_victim([&] {
        for (uint64_t i = 1; i <= 3; i++) {
            void* const block = egb_shared_alloc(pool);
            (void)!egb_shared_publish(pool, block, &i, nullptr);
            egb_shared_release(pool, block);
        }
    });
    void* const       mine  = egb_shared_alloc(pool);
    EXPECT_EQ(egb_shared_publish(pool, mine, nullptr, nullptr), EGB_BUSY);
    kill_and_reap(child);
    egb_published out;
    ASSERT_EQ(egb_shared_next(pool, 0, 0, &out), EGB_OK);
    EXPECT_EQ(out.sequence, 2U);
    uint64_t sequence = 0;
    EXPECT_EQ(egb_shared_publish(pool, mine, nullptr, &sequence), EGB_OK);
    EXPECT_EQ(sequence, 4U);
    egb_shared_close(pool);
}

TEST(SharedKill, of_a_stopped_process_is_noticed_only_when_it_is_dead)
{
    egb_shared* const pool  = make_shared_pool(shared_options(1, 0));
    const pid_t       child = start_victim([&] { (void)egb_shared_alloc(pool); });
    EXPECT_EQ(kill(child, SIGSTOP), 0);
    EXPECT_EQ(egb_shared_recover(pool), 0U);
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    kill_and_reap(child);
    EXPECT_EQ(egb_shared_recover(pool), 1U);
    EXPECT_NE(egb_shared_alloc(pool), nullptr);
    egb_shared_close(pool);
}

// The child keeps its block until the parent saw it: a fork also recovers dead processes, at once.
TEST(SharedKill, and_exec_with_frames_held_are_the_same)
{
    egb_shared* const pool = make_shared_pool(shared_options(1, 0));
    int               seen[2];
    ASSERT_EQ(pipe(seen), 0);
    const pid_t child = start_child([&] {
        char go = 0;
        (void)egb_shared_alloc(pool);
        return read(seen[0], &go, 1) == 1 && execlp("sleep", "sleep", "1000", nullptr) == 0;
    });
    void*       block = nullptr;
    while (egb_shared_holders(pool, 0) == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(write(seen[1], "x", 1), 1);
    EXPECT_EQ(egb_shared_alloc_wait(pool, &block, EGB_SHARED_FOREVER), EGB_OK);
    kill_and_reap(child);
    close(seen[0]);
    close(seen[1]);
    egb_shared_close(pool);
}

// Each of these does everything, at random, until it is killed.
bool live(egb_shared* pool, unsigned seed)
{
    uint64_t after = 0;
    for (;;) {
        seed = seed * 1664525u + 1013904223u;
        egb_published out;
        void*         block = nullptr;
        switch (seed >> 29) {
            case 0:
            case 1:
            case 2:
                block = egb_shared_alloc(pool);
                if (block != nullptr) {
                    memset(block, static_cast<int>(seed & 255), 100);
                    (void)!egb_shared_publish(pool, block, nullptr, nullptr);
                }
                break;
            case 3:
            case 4:
                if (egb_shared_next(pool, after, 0, &out) == EGB_OK) {
                    after = out.sequence;
                    block = out.block;
                }
                break;
            case 5:
                if (egb_shared_take(pool, 0, &out) == EGB_OK) {
                    block = out.block;
                }
                break;
            case 6:
                if (egb_shared_latest(pool, &out) == EGB_OK) {
                    block = out.block;
                }
                break;
            default: (void)egb_shared_recover(pool);
        }
        egb_shared_release(pool, block);
    }
}

TEST(SharedKill, at_random_loses_nothing)
{
    const char* const  rounds_wanted = getenv("EGGBOX_SHARED_KILLS");
    const int          rounds        = rounds_wanted != nullptr ? atoi(rounds_wanted) : 60;
    egb_shared_options options       = shared_options(12, 4);
    options.on_full                  = EGB_SHARED_DROP_OLDEST;
    egb_shared* const pool           = make_shared_pool(options);
    pid_t             children[3]    = {};
    for (int round = 0; round < rounds; round++) {
        pid_t& one = children[round % 3];
        if (one != 0) {
            kill_and_reap(one);
        }
        one = start_child([&] { return live(pool, static_cast<unsigned>(round) * 77u + 1u); });
        usleep(static_cast<useconds_t>(round * 97 % 3000));
    }
    for (const pid_t one : children) {
        kill_and_reap(one);
    }
    (void)egb_shared_recover(pool);
    const egb_shared_numbers numbers = numbers_of(pool);
    EXPECT_EQ(numbers.in_use, numbers.only_feed);
    EXPECT_LE(numbers.only_feed, 4U);
    size_t got = 0;
    while (egb_shared_alloc(pool) != nullptr) {  // those of the feed, too
        got++;
    }
    EXPECT_EQ(got, 12U);
    egb_shared_close(pool);
}

// ---- names --------------------------------------------------------------------------------------

bool exists(const std::string& path)
{
    return access(path.c_str(), F_OK) == 0;
}

TEST(SharedName, is_there_as_long_as_an_attachment_lives)
{
    const std::string  name    = unused_name("name");
    egb_shared_options options = named_options(name.c_str());
    options.about              = "1080p";
    options.about_bytes        = 5;
    egb_shared* const pool     = make_shared_pool(options);
    struct stat       facts    = {};
    ASSERT_EQ(stat(path_of(name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    egb_shared* other = nullptr;
    ASSERT_EQ(egb_shared_attach(&other, name.c_str(), EGB_SHARED_PREFAULT), EGB_OK);
    size_t bytes = 0;
    EXPECT_EQ(memcmp(egb_shared_about(other, &bytes), "1080p", 5), 0);
    EXPECT_EQ(bytes, 5U);
    egb_shared* more = nullptr;
    EXPECT_EQ(egb_shared_create(&more, &options), EGB_BUSY);
    egb_shared_close(pool);
    EXPECT_TRUE(exists(path_of(name)));
    egb_shared_close(other);
    EXPECT_FALSE(exists(path_of(name)));
    EXPECT_EQ(egb_shared_attach(&more, name.c_str(), 0), EGB_STALE);
    EXPECT_EQ(more, nullptr);
}

// The child makes a pool of this name, and dies with it.
void leave_behind(const egb_shared_options& options)
{
    kill_and_reap(start_victim([&] {
        egb_shared* const pool = make_shared_pool(options);
        (void)egb_shared_alloc(pool);
    }));
}

TEST(SharedName, of_the_dead_is_replaced_attached_to_or_collected)
{
    const std::string  name    = unused_name("dead");
    egb_shared_options options = named_options(name.c_str());
    (void)egb_shared_gc();  // removes the pools that other tests left behind
    leave_behind(options);
    EXPECT_TRUE(exists(path_of(name)));
    options.count          = 3;
    egb_shared* const pool = make_shared_pool(options);
    EXPECT_EQ(numbers_of(pool).count, 3U);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
    EXPECT_FALSE(exists(path_of(name)));

    leave_behind(options);
    egb_shared* found = nullptr;
    ASSERT_EQ(egb_shared_attach(&found, name.c_str(), 0), EGB_OK);
    EXPECT_EQ(egb_shared_gc(), 0U);  // alive again
    expect_nothing_lost(found, 0);
    egb_shared_close(found);

    leave_behind(options);
    EXPECT_GE(egb_shared_gc(), 1U);
    EXPECT_FALSE(exists(path_of(name)));
}

TEST(SharedName, of_anything_else_stays_as_it_is)
{
    const std::string  name    = unused_name("else");
    const std::string  path    = path_of(name);
    egb_shared_options options = named_options(name.c_str());
    egb_shared*        pool    = nullptr;
    std::ofstream(path) << std::string(100000, 'x');
    EXPECT_EQ(egb_shared_create(&pool, &options), EGB_BUSY);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(egb_shared_gc(), 0U);
    EXPECT_TRUE(exists(path));
    EXPECT_EQ(unlink(path.c_str()), 0);

    EXPECT_EQ(symlink("/etc/passwd", path.c_str()), 0);
    EXPECT_EQ(egb_shared_create(&pool, &options), EGB_BUSY);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(rmdir(path.c_str()), 0);
    EXPECT_EQ(pool, nullptr);
}

// ---- clocks -------------------------------------------------------------------------------------

uint64_t monotonic_s()
{
    timespec now = {};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec);
}

// From now on the clock of this process's children goes a million seconds before its own.
bool set_clock_of_children()
{
    const int new_time = 0x80;  // CLONE_NEWTIME
    if (unshare(new_time) != 0) {
        return false;
    }
    std::ofstream offsets("/proc/self/timens_offsets");
    offsets << "monotonic 1000000 0\n" << std::flush;
    return offsets.good();
}

bool has_ended(pid_t child)
{
    siginfo_t seen = {};
    return waitid(P_PID, static_cast<id_t>(child), &seen, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           seen.si_pid == child;
}

// Somebody holds a block, and somebody waits.
bool holds_and_waits(const egb_shared* pool)
{
    uint64_t waiting = 0;
    egb_shared_each(
        pool,
        [](const egb_shared_attachment* one, void* user) {
            *static_cast<uint64_t*>(user) += one->waiting;
        },
        &waiting
    );
    return waiting != 0 && numbers_of(pool).in_use != 0;
}

// As processes in containers, or one that goes on where another machine stopped it.
int wait_with_another_clock(egb_shared* pool)
{
    const uint64_t before = monotonic_s();
    const uint64_t hour   = uint64_t{3600} * 1000000000;
    if (!set_clock_of_children()) {
        return NOT_ALLOWED;
    }
    const pid_t reader = start_child([&] {
        egb_published out     = {};
        void*         block   = nullptr;
        const bool    is_late = monotonic_s() - before >= 1000000;
        return is_late && egb_shared_next(pool, 0, 1000000, &out) == EGB_BUSY &&
               egb_shared_alloc_wait(pool, &block, 1000000) == EGB_OK &&
               egb_shared_next(pool, 0, hour, &out) == EGB_OK && out.sequence == 1;
    });
    while (!holds_and_waits(pool) && !has_ended(reader)) {
        (void)usleep(1000);
    }
    void* const block = egb_shared_alloc(pool);
    const bool  is_published =
        block != nullptr && egb_shared_publish(pool, block, nullptr, nullptr) == EGB_OK;
    return end_of(reader) == 0 && is_published ? 0 : 1;
}

// It would leave a lock behind that all others wait for.
TEST(SharedName, keeps_no_thread_that_is_to_be_cancelled_half_way)
{
    const std::string        name    = unused_name("cancelled");
    const egb_shared_options options = named_options(name.c_str());
    egb_shared*              pool    = nullptr;
    egb_shared*              again   = nullptr;
    EXPECT_TRUE(comes_back_though_cancelled([&] { pool = make_shared_pool(options); }));
    EXPECT_TRUE(comes_back_though_cancelled([&] {
        EXPECT_EQ(egb_shared_attach(&again, name.c_str(), 0), EGB_OK);
    }));
    EXPECT_TRUE(comes_back_though_cancelled([&] { egb_shared_close(again); }));
    EXPECT_TRUE(comes_back_though_cancelled([&] { egb_shared_close(pool); }));
    EXPECT_TRUE(comes_back_though_cancelled([] { (void)egb_shared_gc(); }));
    EXPECT_EQ(egb_shared_attach(&again, name.c_str(), 0), EGB_STALE);
}

TEST(SharedWait, of_processes_whose_clocks_differ_is_each_ones_own)
{
    egb_shared* const pool = make_shared_pool(shared_options(3, 1));
    expect_done(start_apart([&] { return wait_with_another_clock(pool); }));
    egb_shared_close(pool);
}

}  // namespace

// SPDX-License-Identifier: MIT
// A process is killed at every instruction of the calls on a shared pool, one process for each, and
// of a recovery of another dead process. A survivor then finds all blocks. A processor traps behind
// each instruction, and the process kills itself there: steps.hpp.
#include "../stress/steps.hpp"
#include "pools.hpp"
#include "shared.hpp"

#include <csignal>
#include <cstring>

namespace
{

// A trap takes some microseconds on a virtual machine, and each process has all those before its
// end. Short calls are killed at every instruction. In long ones one of `rare` is, another one in
// each run of the test; EGGBOX_SHARED_KILL_ALL=1 kills at every one there, too. A sanitizer adds
// instructions of its own.
long step_of_kills(long rare)
{
    return getenv("EGGBOX_SHARED_KILL_ALL") != nullptr ? 1 : is_sanitized ? rare * 37 : rare;
}

long left;  // instructions until the kill

void count_down()
{
    if (left-- == 0) {
        kill(getpid(), SIGKILL);
    }
}

// The calls of `act` are killed behind instruction `at`, if they have so many.
template <class Act>
void act_until(long at, Act act)
{
    const steps stepping(count_down);
    left = at;
    stepping.through(act);
}

bool was_killed(pid_t child)
{
    const int end = end_of(child);
    EXPECT_TRUE(end == 0 || end == -SIGKILL) << end;
    return end == -SIGKILL;
}

// The survivor holds one frame all the time. What is in use is that, and what the feed holds alone;
// a publisher that dies may be between two frames, so the feed has one less, never one more.
void expect_all_found(egb_shared* pool, size_t feed_count, egb_frame frame)
{
    (void)egb_shared_recover(pool);
    const egb_shared_numbers numbers = numbers_of(pool);
    ASSERT_EQ(numbers.attachments, 1U);
    ASSERT_LE(numbers.only_feed, feed_count);
    ASSERT_EQ(numbers.in_use - numbers.only_feed, 1U);
    void* again = nullptr;
    ASSERT_EQ(egb_shared_open(pool, frame, &again), EGB_OK);
    ASSERT_STREQ(static_cast<char*>(again), "held");
    egb_shared_release(pool, again);
    void*  blocks[8];
    size_t got = 0;
    while (got < 8 && (blocks[got] = egb_shared_alloc(pool)) != nullptr) {
        got++;
    }
    const size_t kept = numbers_of(pool).only_feed;
    ASSERT_EQ(got + kept + 1, numbers.count);
    while (got > 0) {
        egb_shared_release(pool, blocks[--got]);
    }
}

void publish_one(egb_shared* pool)
{
    const uint64_t note  = 7;
    void* const    block = egb_shared_alloc(pool);
    if (block != nullptr) {
        (void)!egb_shared_publish(pool, block, &note, nullptr);
        egb_shared_release(pool, block);
    }
}

// One process after the other does `prepare`, and is killed at one instruction of `act`.
template <class Prepare, class Act>
void kill_in(egb_shared_full on_full, long rare, Prepare prepare, Act act)
{
    egb_shared_options options = shared_options(6, 2);
    options.on_full            = on_full;
    egb_shared* const pool     = make_shared_pool(options);
    char* const       held     = static_cast<char*>(egb_shared_alloc(pool));
    const egb_frame   frame    = egb_shared_handle(pool, held);
    const long        step     = step_of_kills(rare);
    long              kills    = 0;
    strcpy(held, "held");
    for (long at = getpid() % step;; at += step) {
        const pid_t child = start_child([&] {
            egb_shared_release(pool, held);  // the parent's frame, which the fork holds, too
            prepare(pool);
            act_until(at, [&] { act(pool); });
            return true;
        });
        const bool  was   = was_killed(child);
        ASSERT_NO_FATAL_FAILURE(expect_all_found(pool, 2, frame)) << "killed at " << at;
        if (!was) {
            break;
        }
        kills++;
    }
    EXPECT_GT(kills, 2);
    printf("%ld kills, one of %ld instructions\n", kills, step);
    egb_shared_close(pool);
}

// What a child holds, and what it does with that.
void*         a_block;
egb_frame     a_frame;
egb_published a_published;

void take_a_block(egb_shared* pool)
{
    a_block = egb_shared_alloc(pool);
    a_frame = egb_shared_handle(pool, a_block);
}

void publish_three(egb_shared* pool)
{
    publish_one(pool);
    publish_one(pool);
    publish_one(pool);
}

void take_all(egb_shared* pool)
{
    while (egb_shared_alloc(pool) != nullptr) {
    }
}

const auto nothing = [](egb_shared*) {
};

TEST(SharedKillSteps, of_alloc_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 1, nothing, [](egb_shared* pool) { (void)egb_shared_alloc(pool); });
}

TEST(SharedKillSteps, of_alloc_without_a_free_block_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 19, publish_three, take_all);
}

TEST(SharedKillSteps, of_alloc_that_drops_frames_lose_nothing)
{
    kill_in(
        EGB_SHARED_DROP_OLDEST,
        5,
        [](egb_shared* pool) {
            publish_three(pool);
            while (numbers_of(pool).in_use < 6) {
                (void)egb_shared_alloc(pool);
            }
        },
        [](egb_shared* pool) { (void)egb_shared_alloc(pool); }
    );
}

TEST(SharedKillSteps, of_release_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 1, take_a_block, [](egb_shared* pool) {
        egb_shared_release(pool, a_block);
    });
}

TEST(SharedKillSteps, of_the_first_publish_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 3, take_a_block, [](egb_shared* pool) {
        (void)!egb_shared_publish(pool, a_block, nullptr, nullptr);
    });
}

TEST(SharedKillSteps, of_publish_and_of_release_afterwards_lose_nothing)
{
    kill_in(
        EGB_SHARED_FAIL,
        2,
        [](egb_shared* pool) {
            publish_three(pool);
            take_a_block(pool);
        },
        [](egb_shared* pool) {
            (void)!egb_shared_publish(pool, a_block, nullptr, nullptr);
            egb_shared_release(pool, a_block);
        }
    );
}

TEST(SharedKillSteps, of_next_and_of_release_afterwards_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 13, publish_three, [](egb_shared* pool) {
        (void)!egb_shared_next(pool, 0, 0, &a_published);
        egb_shared_release(pool, a_published.block);
    });
}

TEST(SharedKillSteps, of_take_and_of_release_afterwards_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, 13, publish_three, [](egb_shared* pool) {
        (void)!egb_shared_take(pool, 0, &a_published);
        egb_shared_release(pool, a_published.block);
    });
}

TEST(SharedKillSteps, of_open_of_a_stale_frame_lose_nothing)
{
    kill_in(
        EGB_SHARED_FAIL,
        1,
        [](egb_shared* pool) {
            take_a_block(pool);
            egb_shared_release(pool, a_block);
            publish_one(pool);  // the same block, in the feed alone
        },
        [](egb_shared* pool) { (void)!egb_shared_open(pool, a_frame, &a_block); }
    );
}

// Two processes hold a frame, and the one that publishes it is killed: it is in the feed, or the
// other one publishes it.
TEST(SharedKillSteps, of_publish_leave_the_frame_published_or_to_be_published_by_another_holder)
{
    const long step  = step_of_kills(3);
    long       kills = 0;
    bool       was   = true;
    for (long at = getpid() % step; was; at += step) {
        egb_shared* const pool  = make_shared_pool(shared_options(6, 2));
        void* const       block = egb_shared_alloc(pool);
        was                     = was_killed(start_child([&] {
            act_until(at, [&] { (void)!egb_shared_publish(pool, block, nullptr, nullptr); });
            return true;
        }));
        (void)egb_shared_recover(pool);
        egb_published published = {};
        const bool    is_there  = egb_shared_latest(pool, &published) == EGB_OK;
        ASSERT_EQ(
            egb_shared_publish(pool, block, nullptr, nullptr), is_there ? EGB_INVALID : EGB_OK
        ) << "killed at "
          << at;
        egb_shared_close(pool);
        kills += was ? 1 : 0;
    }
    EXPECT_GT(kills, 2);
    printf("%ld kills, one of %ld instructions\n", kills, step);
}

TEST(SharedKillSteps, of_a_recovery_lose_nothing)
{
    egb_shared* const pool  = make_shared_pool(shared_options(6, 2));
    char* const       held  = static_cast<char*>(egb_shared_alloc(pool));
    const egb_frame   frame = egb_shared_handle(pool, held);
    const long        step  = step_of_kills(13);
    long              kills = 0;
    strcpy(held, "held");
    for (long at = getpid() % step;; at += step) {
        int go[2];
        ASSERT_EQ(pipe(go), 0);
        // Forked before the other one dies: a fork makes an attachment, and so recovers one.
        const pid_t recoverer = start_child([&] {
            char       byte     = 0;
            const bool is_ready = read(go[0], &byte, 1) == 1;
            act_until(at, [&] { (void)egb_shared_recover(pool); });
            return is_ready;
        });
        const pid_t victim    = start_child([&] {
            publish_one(pool);
            (void)egb_shared_alloc(pool);
            act_until(40 + at % 200, [&] { publish_one(pool); });
            kill(getpid(), SIGKILL);
            return true;
        });
        EXPECT_TRUE(was_killed(victim));
        ASSERT_EQ(write(go[1], "x", 1), 1);
        const bool was = was_killed(recoverer);
        close(go[0]);
        close(go[1]);
        ASSERT_NO_FATAL_FAILURE(expect_all_found(pool, 2, frame)) << "killed at " << at;
        if (!was) {
            break;
        }
        kills++;
    }
    EXPECT_GT(kills, 2);
    printf("%ld kills\n", kills);
    egb_shared_close(pool);
}

}  // namespace

// SPDX-License-Identifier: MIT
// A process is killed in every call on a shared pool, and in a recovery of another dead process; a
// survivor then finds all blocks. A processor traps behind each instruction, and the process kills
// itself there: steps.hpp.
//
// After a kill between two instructions the others see the control part and the state of the system
// alone. Therefore there is one kill behind the first instruction, behind each one that changed the
// control part, and behind each system call; all others would be the same once more.
// EGGBOX_SHARED_KILL_ALL=1 kills behind every instruction nevertheless.
#include "../stress/steps.hpp"
#include "inside.h"
#include "shared.hpp"

#include <csignal>
#include <cstring>
#include <sys/mman.h>

namespace
{

// The watched parts of the pool, and their bytes before the last instruction.
constexpr size_t seen_bytes = 8192;  // the first bytes of the file: all but the frames

const bool           all_instructions = getenv("EGGBOX_SHARED_KILL_ALL") != nullptr;
const unsigned char* control;
file_part            parts[2];
unsigned char        seen[seen_bytes];
bool                 is_first;
bool                 was_system_next;
long                 left;  // events until the kill

bool has_changed(const file_part& part)
{
    if (memcmp(seen + part.start, control + part.start, part.bytes) == 0) {
        return false;
    }
    memcpy(seen + part.start, control + part.start, part.bytes);
    return true;
}

bool is_event()
{
    const bool is_system = was_system_next || is_first;
    const bool is_store  = control != nullptr && (has_changed(parts[0]) || has_changed(parts[1]));
    was_system_next      = steps::is_system_next();
    is_first             = false;
    return is_system || is_store || all_instructions;
}

void count_down()
{
    if (is_event() && left-- == 0) {
        kill(getpid(), SIGKILL);
    }
}

// The calls of `act` are killed behind event `at`, if they have so many.
template <class Act>
void act_until(long at, Act act)
{
    const steps stepping(count_down);
    if (control != nullptr) {
        memcpy(seen, control, seen_bytes);
    }
    was_system_next = false;
    is_first        = true;
    left            = at;
    stepping.through(act);
}

// Maps the control part, for as long as one of these lives.
class watched
{
  public:
    explicit watched(const egb_shared* pool)
        : start_(mmap(nullptr, seen_bytes, PROT_READ, MAP_SHARED, egb_shared_fd(pool), 0))
    {
        EXPECT_NE(start_, MAP_FAILED);
        control  = static_cast<const unsigned char*>(start_);
        parts[0] = state_part(pool);
        parts[1] = blocks_part(pool);
        EXPECT_LE(parts[1].start + parts[1].bytes, seen_bytes);
    }

    ~watched()
    {
        control = nullptr;
        munmap(start_, seen_bytes);
    }

    watched(const watched&)            = delete;
    watched& operator=(const watched&) = delete;

  private:
    void* start_;
};

bool was_killed(pid_t child)
{
    const int end = end_of(child);
    EXPECT_TRUE(end == 0 || end == -SIGKILL) << end;
    return end == -SIGKILL;
}

// The survivor holds one frame all the time. The blocks in use are that one and those of the
// feed; a publisher that dies may be between two frames, so the feed has one less, never one more.
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

void say(long kills)
{
    EXPECT_GT(kills, 2);
    printf("%ld kills\n", kills);
}

// One process after the other does `prepare`, and is killed at one event of `act`.
template <class Prepare, class Act>
void kill_in(egb_shared_full on_full, Prepare prepare, Act act)
{
    egb_shared_options options = shared_options(6, 2);
    options.on_full            = on_full;
    egb_shared* const pool     = make_shared_pool(options);
    const watched     watching(pool);
    char* const       held  = static_cast<char*>(egb_shared_alloc(pool));
    const egb_frame   frame = egb_shared_handle(pool, held);
    long              kills = 0;
    strcpy(held, "held");
    for (bool was = true; was; kills += was ? 1 : 0) {
        was = was_killed(start_child([&] {
            egb_shared_release(pool, held);  // the parent's frame, which the fork holds, too
            prepare(pool);
            act_until(kills, [&] { act(pool); });
            return true;
        }));
        ASSERT_NO_FATAL_FAILURE(expect_all_found(pool, 2, frame)) << "killed at " << kills;
    }
    say(kills);
    egb_shared_close(pool);
}

// The block or frame that a child holds, and the calls that it makes with it.
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
    kill_in(EGB_SHARED_FAIL, nothing, [](egb_shared* pool) { (void)egb_shared_alloc(pool); });
}

TEST(SharedKillSteps, of_alloc_without_a_free_block_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, publish_three, take_all);
}

TEST(SharedKillSteps, of_alloc_that_drops_frames_lose_nothing)
{
    kill_in(
        EGB_SHARED_DROP_OLDEST,
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
    kill_in(EGB_SHARED_FAIL, take_a_block, [](egb_shared* pool) {
        egb_shared_release(pool, a_block);
    });
}

TEST(SharedKillSteps, of_the_first_publish_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, take_a_block, [](egb_shared* pool) {
        (void)!egb_shared_publish(pool, a_block, nullptr, nullptr);
    });
}

TEST(SharedKillSteps, of_publish_and_of_release_afterwards_lose_nothing)
{
    kill_in(
        EGB_SHARED_FAIL,
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
    kill_in(EGB_SHARED_FAIL, publish_three, [](egb_shared* pool) {
        (void)!egb_shared_next(pool, 0, 0, &a_published);
        egb_shared_release(pool, a_published.block);
    });
}

TEST(SharedKillSteps, of_take_and_of_release_afterwards_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, publish_three, [](egb_shared* pool) {
        (void)!egb_shared_take(pool, 0, &a_published);
        egb_shared_release(pool, a_published.block);
    });
}

TEST(SharedKillSteps, of_open_of_a_stale_frame_lose_nothing)
{
    kill_in(
        EGB_SHARED_FAIL,
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
    long kills = 0;
    for (bool was = true; was; kills += was ? 1 : 0) {
        egb_shared* const pool = make_shared_pool(shared_options(6, 2));
        const watched     watching(pool);
        void* const       block = egb_shared_alloc(pool);
        was                     = was_killed(start_child([&] {
            act_until(kills, [&] { (void)!egb_shared_publish(pool, block, nullptr, nullptr); });
            return true;
        }));
        (void)egb_shared_recover(pool);
        egb_published published = {};
        const bool    is_there  = egb_shared_latest(pool, &published) == EGB_OK;
        ASSERT_EQ(
            egb_shared_publish(pool, block, nullptr, nullptr), is_there ? EGB_INVALID : EGB_OK
        ) << "killed at "
          << kills;
        egb_shared_close(pool);
    }
    say(kills);
}

// A process that held blocks and died while it published, at another moment each time.
pid_t start_publisher(egb_shared* pool, long at)
{
    return start_child([=] {
        publish_one(pool);
        (void)egb_shared_alloc(pool);
        act_until(at, [&] { publish_one(pool); });
        kill(getpid(), SIGKILL);
        return true;
    });
}

// For each moment of the victim's death, the one that recovers it is killed at each of its events.
TEST(SharedKillSteps, of_a_recovery_lose_nothing)
{
    egb_shared* const pool = make_shared_pool(shared_options(6, 2));
    const watched     watching(pool);
    char* const       held  = static_cast<char*>(egb_shared_alloc(pool));
    const egb_frame   frame = egb_shared_handle(pool, held);
    long              kills = 0;
    strcpy(held, "held");
    for (long death = 1; death < 20; death += 6) {
        bool was = true;
        for (long at = 0; was; at++) {
            int go[2];
            ASSERT_EQ(pipe(go), 0);
            // Forked before the other one dies: a fork makes an attachment, and so recovers one.
            const pid_t recoverer = start_child([&] {
                char       byte     = 0;
                const bool is_ready = read(go[0], &byte, 1) == 1;
                act_until(at, [&] { (void)egb_shared_recover(pool); });
                return is_ready;
            });
            EXPECT_TRUE(was_killed(start_publisher(pool, death)));
            ASSERT_EQ(write(go[1], "x", 1), 1);
            was = was_killed(recoverer);
            close(go[0]);
            close(go[1]);
            ASSERT_NO_FATAL_FAILURE(expect_all_found(pool, 2, frame)) << death << ' ' << at;
            kills += was ? 1 : 0;
        }
    }
    say(kills);
    egb_shared_close(pool);
}

TEST(SharedKillSteps, of_attach_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, nothing, [](egb_shared* pool) {
        egb_shared* again = nullptr;
        (void)!egb_shared_attach_fd(&again, egb_shared_fd(pool), 0);
    });
}

TEST(SharedKillSteps, of_close_lose_nothing)
{
    kill_in(EGB_SHARED_FAIL, take_a_block, egb_shared_close);
}

// A create leaves no file, or one that the next create of the name replaces.
TEST(SharedKillSteps, of_create_leave_the_name_to_the_next_create)
{
    const std::string  name    = unused_name("killed-create");
    egb_shared_options options = shared_options(6, 2);
    options.name               = name.c_str();
    long kills                 = 0;
    long files                 = 0;
    for (bool was = true; was; kills += was ? 1 : 0) {
        was = was_killed(start_child([&] {
            act_until(kills, [&] {
                egb_shared* pool = nullptr;
                (void)!egb_shared_create(&pool, &options);
            });
            return true;
        }));
        files += access(path_of(name).c_str(), F_OK) == 0 ? 1 : 0;
        egb_shared* const pool = make_shared_pool(options);
        ASSERT_NE(pool, nullptr) << "killed at " << kills;
        ASSERT_NO_FATAL_FAILURE(expect_nothing_lost(pool, 0)) << "killed at " << kills;
        egb_shared_close(pool);
        ASSERT_NE(access(path_of(name).c_str(), F_OK), 0) << "killed at " << kills;
    }
    EXPECT_GT(files, 0);
    say(kills);
}

}  // namespace

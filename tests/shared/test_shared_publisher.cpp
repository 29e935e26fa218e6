// SPDX-License-Identifier: MIT
// A shared pool while its process is disturbed: by others that recover, and by signals.
#include "events.hpp"
#include "shared.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/time.h>
#include <thread>
#include <vector>

namespace
{

TEST(SharedPublisher, is_refused_by_no_process_that_recovers)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    const pid_t       child = start_child([&] {
        while (getppid() != 1) {
            (void)egb_shared_recover(pool);
        }
        return false;
    });
    for (int i = 0; i < 300; i++) {
        egb_shared* const one   = attach_again(pool);
        void* const       block = egb_shared_alloc(one);
        ASSERT_EQ(egb_shared_publish(one, block, nullptr, nullptr), EGB_OK) << i;
        egb_shared_close(one);
    }
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(end_of(child), -SIGKILL);
    egb_shared_close(pool);
}

TEST(SharedPublisher, that_is_refused_for_a_repair_stands_in_nobodys_way)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    egb_shared* const other = attach_again(pool);
    void* const       block = egb_shared_alloc(pool);
    const int         file  = lock_byte(pool, EGB_SHARED_ATTACHMENTS_MAX + 1);
    EXPECT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_BUSY);
    close(file);
    EXPECT_EQ(egb_shared_publish(other, egb_shared_alloc(other), nullptr, nullptr), EGB_OK);
    EXPECT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_BUSY);
    egb_shared_close(other);
    EXPECT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_OK);
    egb_shared_close(pool);
}

// The control part as others see it.
struct control_part {
    static constexpr size_t WORDS = 4096 / sizeof(uint64_t);

    explicit control_part(const egb_shared* pool)
        : words(static_cast<uint64_t*>(
              mmap(nullptr, 4096 * 2, PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
          ))
    {
        EXPECT_NE(static_cast<void*>(words), MAP_FAILED);
    }

    control_part(const control_part&)            = delete;
    control_part& operator=(const control_part&) = delete;

    ~control_part()
    {
        munmap(words, 4096 * 2);
    }

    std::vector<uint64_t> copy() const
    {
        return {words, words + 2 * WORDS};
    }

    uint64_t* const words;
};

// A publisher enters the frame in the ring, and then moves the head: killed between the two, it
// leaves a whole frame that the head does not tell of.
TEST(SharedPublisher, that_died_before_the_head_moved_leaves_a_frame_that_a_waiter_sees)
{
    egb_shared* const pool      = make_shared_pool(shared_options(4, 3));
    egb_shared* const publisher = attach_again(pool);
    control_part      control(pool);
    const auto        none = control.copy();
    ASSERT_EQ(egb_shared_publish(publisher, egb_shared_alloc(publisher), nullptr, nullptr), EGB_OK);
    const auto one = control.copy();
    ASSERT_EQ(egb_shared_publish(publisher, egb_shared_alloc(publisher), nullptr, nullptr), EGB_OK);
    const auto two = control.copy();
    egb_shared_close(publisher);
    std::vector<size_t> heads;  // the one word that tells how many frames there were
    for (size_t at = 0; at < two.size(); at++) {
        if (none[at] == 0 && one[at] == 1 && two[at] == 2) {
            heads.push_back(at);
        }
    }
    ASSERT_EQ(heads.size(), 1U);
    control.words[heads[0]] = 1;
    egb_published frame     = {};
    EXPECT_EQ(egb_shared_next(pool, 1, 0, &frame), EGB_OK);
    EXPECT_EQ(frame.sequence, 2U);
    EXPECT_EQ(numbers_of(pool).published, 2U);
    egb_shared_close(pool);
}

TEST(SharedCreate, comes_to_its_end_while_a_timer_sends_signals)
{
    struct sigaction       old    = {};
    struct sigaction       action = {};
    const struct itimerval often  = {{0, 1000}, {0, 1000}};
    const struct itimerval never  = {};
    action.sa_handler             = [](int) {
    };
    ASSERT_EQ(sigaction(SIGALRM, &action, &old), 0);
    ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
    egb_shared_options options = shared_options(8, 0);
    options.block_bytes        = 8U << 20U;
    egb_shared*      pool      = nullptr;
    const egb_status status    = egb_shared_create(&pool, &options);
    EXPECT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
    EXPECT_EQ(sigaction(SIGALRM, &old, nullptr), 0);
    EXPECT_EQ(status, EGB_OK);
    egb_shared_close(pool);
}

// ---- looks --------------------------------------------------------------------------------------

struct looked {
    size_t alive = 0;
    size_t dead  = 0;
    size_t held  = 0;
};

void count_one(const egb_shared_attachment* one, void* user)
{
    looked* const seen = static_cast<looked*>(user);
    (one->is_alive ? seen->alive : seen->dead)++;
    seen->held += one->held;
    EXPECT_FALSE(one->is_this);
}

TEST(SharedLook, shows_the_dead_and_leaves_them_as_they_are)
{
    const std::string  name    = unused_name("look");
    egb_shared_options options = shared_options(4, 2);
    options.name               = name.c_str();
    egb_shared* const pool     = make_shared_pool(options);
    int               go[2];
    ASSERT_EQ(pipe(go), 0);
    const pid_t child = start_child([&] {
        char       byte     = 0;
        const bool is_ready = read(go[0], &byte, 1) == 1;  // a fork recovers a child that is dead
        (void)egb_shared_alloc(pool);
        kill(getpid(), SIGKILL);
        return is_ready;
    });
    ASSERT_EQ(write(go[1], "x", 1), 1);
    EXPECT_EQ(end_of(child), -SIGKILL);
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < 2; i++) {
        egb_shared_numbers numbers = {};
        looked             seen;
        ASSERT_EQ(egb_shared_look(name.c_str(), &numbers, count_one, &seen), EGB_OK);
        EXPECT_EQ(seen.alive, 1U);
        EXPECT_EQ(seen.dead, 1U);
        EXPECT_EQ(seen.held, 1U);
        EXPECT_EQ(numbers.count, 4U);
        EXPECT_EQ(numbers.in_use, 1U);
        EXPECT_EQ(numbers.recovered, 0U);
    }
    EXPECT_EQ(egb_shared_recover(pool), 1U);
    EXPECT_EQ(egb_shared_recover(pool), 0U);
    EXPECT_EQ(numbers_of(pool).recovered, 1U);
    EXPECT_EQ(numbers_of(pool).in_use, 0U);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedLook, says_why_there_is_nothing_to_see)
{
    const std::string  name    = unused_name("nothing");
    egb_shared_numbers numbers = {};
    EXPECT_EQ(egb_shared_look(nullptr, &numbers, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_look(name.c_str(), nullptr, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_look("a/b", &numbers, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_look(name.c_str(), &numbers, nullptr, nullptr), EGB_STALE);
    for (const size_t bytes : {0U, 100U, 100000U}) {
        std::ofstream(path_of(name)) << std::string(bytes, 'x');
        EXPECT_EQ(egb_shared_look(name.c_str(), &numbers, nullptr, nullptr), EGB_CORRUPT);
    }
    EXPECT_EQ(unlink(path_of(name).c_str()), 0);
}

// The first block is a frame of the feed, the second one is the dead process's alone.
TEST(SharedFrames, of_the_feed_stay_when_all_attachments_are_dead)
{
    egb_shared* const pool  = make_shared_pool(shared_options(3, 2));
    const int         file  = dup(egb_shared_fd(pool));
    const pid_t       child = start_victim([&] {
        int* const frame = static_cast<int*>(egb_shared_alloc(pool));
        *frame           = 42;
        (void)!egb_shared_publish(pool, frame, nullptr, nullptr);
        (void)egb_shared_alloc(pool);
    });
    egb_shared_close(pool);
    kill_and_reap(child);
    egb_shared* found = nullptr;
    ASSERT_EQ(egb_shared_attach_fd(&found, file, 0), EGB_OK);
    close(file);
    egb_published out;
    ASSERT_EQ(egb_shared_next(found, 0, 0, &out), EGB_OK);
    EXPECT_EQ(*static_cast<const int*>(out.block), 42);
    egb_shared_release(found, out.block);
    egb_shared_recover(found);
    EXPECT_EQ(numbers_of(found).in_use, 1U) << "the frame";
    egb_shared_close(found);
}

// The block is in use, as another attachment's, and this process never had it.
TEST(SharedMisuse, of_retain_is_that_of_release)
{
    events            seen;
    egb_shared* const pool  = make_shared_pool(shared_options(3, 0));
    egb_shared* const other = attach_again(pool);
    char* const       first = static_cast<char*>(egb_shared_alloc(pool));
    (void)egb_shared_alloc(other);
    char* const theirs = first + numbers_of(pool).stride_bytes;
    for (const auto call : {egb_shared_retain, egb_shared_release}) {
        call(pool, theirs);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        call(pool, theirs + 8);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        call(pool, &seen);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
        call(nullptr, first);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    }
    egb_shared_retain(pool, nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(numbers_of(pool).in_use, 2U);
    egb_shared_close(other);
    egb_shared_close(pool);
    egb_shared_retain(pool, first);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
}

uint64_t waiting_on(const egb_shared* pool)
{
    uint64_t sum = 0;
    egb_shared_each(
        pool,
        [](const egb_shared_attachment* one, void* user) {
            *static_cast<uint64_t*>(user) += one->waiting;
        },
        &sum
    );
    return sum;
}

void wait_for_waiting(const egb_shared* pool, uint64_t wanted)
{
    while (waiting_on(pool) != wanted) {
        std::this_thread::yield();
    }
}

TEST(SharedLook, tells_who_waits_and_counts_no_dead_one)
{
    egb_shared* const pool = make_shared_pool(shared_options(1, 1));
    std::thread       reader([&] {
        egb_published out;
        EXPECT_EQ(egb_shared_next(pool, 0, EGB_SHARED_FOREVER, &out), EGB_BUSY);
    });
    wait_for_waiting(pool, 1);
    egb_shared_cancel(pool);
    reader.join();
    EXPECT_EQ(waiting_on(pool), 0U);

    const pid_t other = start_child([&] {
        egb_published out;
        return egb_shared_next(pool, 0, EGB_SHARED_FOREVER, &out) == EGB_OK;
    });
    wait_for_waiting(pool, 1);
    kill_and_reap(other);
    EXPECT_EQ(waiting_on(pool), 0U);
    egb_published none;
    EXPECT_EQ(egb_shared_next(pool, 0, 1, &none), EGB_BUSY);
    EXPECT_EQ(waiting_on(pool), 0U);
    egb_shared_close(pool);
}

}  // namespace

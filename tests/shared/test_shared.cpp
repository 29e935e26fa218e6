// SPDX-License-Identifier: MIT
// The promises of eggbox/shared.h, within one process: two attachments are two processes to it.
#include "events.hpp"
#include "shared.hpp"

#include <atomic>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace
{

constexpr uint64_t MOMENT = 2000000;  // nanoseconds

TEST(SharedBlocks, are_aligned_apart_and_the_lowest_free_ones)
{
    egb_shared_options options = shared_options(70, 0);
    options.block_align        = 256;
    egb_shared* const  pool    = make_shared_pool(options);
    std::vector<char*> blocks;
    for (size_t i = 0; i < 70; i++) {
        char* const block = static_cast<char*>(egb_shared_alloc(pool));
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 256, 0U);
        ASSERT_EQ(egb_shared_handle(pool, block).index, i);
        memset(block, 1, 100);
        blocks.push_back(block);
    }
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    const egb_shared_numbers numbers = numbers_of(pool);
    struct stat              file    = {};
    EXPECT_EQ(fstat(egb_shared_fd(pool), &file), 0);
    EXPECT_EQ(numbers.bytes, static_cast<size_t>(file.st_size));
    EXPECT_EQ(numbers.block_bytes, 100U);
    EXPECT_EQ(numbers.stride_bytes, 256U);
    EXPECT_EQ(numbers.count, 70U);
    EXPECT_EQ(numbers.in_use, 70U);
    EXPECT_EQ(numbers.failures, 1U);
    egb_shared_release(pool, blocks[65]);
    egb_shared_release(pool, blocks[3]);
    EXPECT_EQ(egb_shared_alloc(pool), blocks[3]);
    EXPECT_EQ(egb_shared_alloc(pool), blocks[65]);
    egb_shared_close(pool);
}

TEST(SharedHandle, opens_its_frame_elsewhere_and_no_other_one)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 0));
    egb_shared* const other = attach_again(pool);
    void*             mine  = egb_shared_alloc(pool);
    strcpy(static_cast<char*>(mine), "hello");
    const egb_frame frame  = egb_shared_handle(pool, mine);
    void*           theirs = nullptr;
    ASSERT_EQ(egb_shared_open(other, frame, &theirs), EGB_OK);
    EXPECT_STREQ(static_cast<char*>(theirs), "hello");
    EXPECT_NE(mine, theirs);
    EXPECT_EQ(egb_shared_holders(pool, frame.index), 3U);

    egb_shared_release(pool, mine);
    EXPECT_EQ(numbers_of(pool).in_use, 1U);  // the other one still has it
    egb_shared_release(other, theirs);
    EXPECT_EQ(numbers_of(pool).in_use, 0U);
    theirs = nullptr;
    EXPECT_EQ(egb_shared_open(other, frame, &theirs), EGB_STALE);
    void* const next = egb_shared_alloc(pool);
    EXPECT_EQ(egb_shared_handle(pool, next).index, frame.index);
    EXPECT_EQ(egb_shared_open(other, frame, &theirs), EGB_STALE);
    egb_frame far = egb_shared_handle(pool, next);
    far.generation += uint64_t{1} << 32;
    EXPECT_EQ(egb_shared_open(other, far, &theirs), EGB_STALE);
    EXPECT_EQ(theirs, nullptr);
    EXPECT_EQ(egb_shared_holders(pool, frame.index), 1U);  // a refusal leaves no hold
    egb_shared_close(other);
    egb_shared_close(pool);
}

TEST(SharedHandle, of_another_pool_or_out_of_range_is_invalid)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 0));
    void* const       block = egb_shared_alloc(pool);
    void*             out   = nullptr;
    egb_frame         frame = egb_shared_handle(pool, block);
    frame.pool ^= 2;
    EXPECT_EQ(egb_shared_open(pool, frame, &out), EGB_INVALID);
    frame.pool ^= 2;
    frame.index = 2;
    EXPECT_EQ(egb_shared_open(pool, frame, &out), EGB_INVALID);
    frame.index = UINT32_MAX;
    EXPECT_EQ(egb_shared_open(pool, frame, &out), EGB_INVALID);
    EXPECT_EQ(egb_shared_open(pool, egb_frame{}, &out), EGB_INVALID);
    EXPECT_EQ(egb_shared_open(nullptr, frame, &out), EGB_INVALID);
    EXPECT_EQ(egb_shared_handle(pool, &out).pool, 0U);
    EXPECT_EQ(egb_shared_handle(pool, static_cast<char*>(block) + 1).pool, 0U);
    egb_shared_close(pool);
}

TEST(SharedHold, is_counted_in_a_process)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 0));
    void* const       block = egb_shared_alloc(pool);
    const egb_frame   frame = egb_shared_handle(pool, block);
    void*             again = nullptr;
    ASSERT_EQ(egb_shared_open(pool, frame, &again), EGB_OK);
    egb_shared_retain(pool, block);
    egb_shared_release(pool, block);
    egb_shared_release(pool, block);
    EXPECT_EQ(numbers_of(pool).in_use, 1U);
    egb_shared_release(pool, block);
    EXPECT_EQ(numbers_of(pool).in_use, 0U);
    egb_shared_close(pool);
}

TEST(SharedMisuse, is_reported_and_changes_nothing)
{
    events            seen;
    egb_shared* const pool   = make_shared_pool(shared_options(3, 0));
    egb_shared* const other  = attach_again(pool);
    void* const       block  = egb_shared_alloc(pool);
    void* const       theirs = egb_shared_alloc(other);
    int               mine   = 0;
    egb_shared_release(pool, nullptr);
    EXPECT_EQ(seen.count(), 0U);
    egb_shared_release(pool, static_cast<char*>(block) + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    egb_shared_release(pool, &mine);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_shared_release(pool, theirs);  // an address of another mapping
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_shared_release(nullptr, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(numbers_of(pool).in_use, 2U);
    egb_shared_release(pool, block);
    egb_shared_release(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_shared_retain(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(numbers_of(pool).in_use, 1U);
    egb_shared_close(pool);
    egb_shared_release(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_shared_close(other);
}

TEST(SharedMisuse, names_the_block_and_the_pool)
{
    events            seen;
    egb_shared* const pool   = make_shared_pool(shared_options(3, 0));
    void* const       first  = egb_shared_alloc(pool);
    void* const       second = egb_shared_alloc(pool);
    egb_shared_release(pool, second);
    egb_shared_release(pool, second);
    const egb_misuse_event again = seen.take();
    EXPECT_EQ(again.kind, EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(again.block_index, 1U);
    EXPECT_EQ(again.address, second);
    EXPECT_EQ(again.pool, pool);
    egb_shared_retain(pool, static_cast<char*>(second) + 8);
    const egb_misuse_event inside = seen.take();
    EXPECT_EQ(inside.kind, EGB_MISUSE_INTERIOR);
    EXPECT_EQ(inside.block_index, 1U);
    egb_shared_release(pool, static_cast<char*>(first) - 1);
    const egb_misuse_event before = seen.take();
    EXPECT_EQ(before.kind, EGB_MISUSE_FOREIGN);
    EXPECT_EQ(before.block_index, EGB_NO_INDEX);
    egb_shared_close(pool);
}

TEST(SharedClosed, answers_stale)
{
    egb_shared* const  pool  = make_shared_pool(shared_options(2, 1));
    void* const        block = egb_shared_alloc(pool);
    void*              out   = nullptr;
    const egb_frame    frame = egb_shared_handle(pool, block);
    egb_published      published;
    egb_shared_numbers numbers;
    egb_shared_close(pool);
    egb_shared_close(pool);
    egb_shared_close(nullptr);
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    EXPECT_EQ(egb_shared_alloc_wait(pool, &out, EGB_SHARED_FOREVER), EGB_STALE);
    EXPECT_EQ(egb_shared_open(pool, frame, &out), EGB_STALE);
    EXPECT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_STALE);
    EXPECT_EQ(egb_shared_next(pool, 0, 0, &published), EGB_STALE);
    EXPECT_EQ(egb_shared_stats(pool, &numbers), EGB_STALE);
    EXPECT_EQ(egb_shared_recover(pool), 0U);
    EXPECT_EQ(egb_shared_fd(pool), -1);
    EXPECT_EQ(egb_shared_holders(pool, 0), 0U);
    egb_shared_cancel(pool);
}

// The next pools of the process are never taken for one that was closed.
TEST(SharedClosed, is_never_another_pool)
{
    enum { POOLS = 4200 };  // more than share the record of one pool
    events                   seen;
    egb_shared* const        keeper = make_shared_pool(shared_options(2, 1));
    egb_shared* const        closed = attach_again(keeper);
    std::set<egb_shared*>    used   = {keeper, closed};
    egb_published            published;
    egb_shared_numbers       numbers;
    const egb_shared_options bare = shared_options(2, 0);
    egb_shared_close(closed);
    for (int i = 0; i < POOLS; i++) {
        egb_shared* const pool = attach_again(keeper);
        ASSERT_TRUE(used.insert(pool).second) << i;
        egb_shared_close(pool);
    }
    egb_shared* const pool  = make_shared_pool(bare);
    void* const       block = egb_shared_alloc(pool);
    void*             out   = nullptr;
    egb_shared_close(closed);
    EXPECT_EQ(egb_shared_alloc(closed), nullptr);
    EXPECT_EQ(egb_shared_alloc_wait(closed, &out, EGB_SHARED_FOREVER), EGB_STALE);
    EXPECT_EQ(egb_shared_handle(closed, block).pool, 0U);
    EXPECT_EQ(egb_shared_open(closed, egb_shared_handle(pool, block), &out), EGB_STALE);
    EXPECT_EQ(egb_shared_publish(closed, block, nullptr, nullptr), EGB_STALE);
    EXPECT_EQ(egb_shared_next(closed, 0, 0, &published), EGB_STALE);
    EXPECT_EQ(egb_shared_stats(closed, &numbers), EGB_STALE);
    EXPECT_EQ(egb_shared_recover(closed), 0U);
    EXPECT_EQ(egb_shared_fd(closed), -1);
    EXPECT_EQ(egb_shared_about(closed, nullptr), nullptr);
    EXPECT_EQ(egb_shared_holders(closed, 0), 0U);
    egb_shared_each(closed, [](const egb_shared_attachment*, void*) { ADD_FAILURE(); }, nullptr);
    egb_shared_release(closed, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(numbers_of(pool).in_use, 1U);
    egb_shared_close(pool);
    egb_shared_close(keeper);
}

TEST(SharedClose, gives_back_all_that_the_process_held)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 0));
    egb_shared* const other = attach_again(pool);
    (void)egb_shared_alloc(other);
    (void)egb_shared_alloc(other);
    EXPECT_EQ(numbers_of(pool).in_use, 2U);
    EXPECT_EQ(numbers_of(pool).attachments, 2U);
    egb_shared_close(other);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedAttachments, are_62_and_no_more)
{
    egb_shared* const        pool = make_shared_pool(shared_options(2, 0));
    std::vector<egb_shared*> others;
    for (unsigned i = 1; i < EGB_SHARED_ATTACHMENTS_MAX; i++) {
        others.push_back(attach_again(pool));
    }
    egb_shared* more = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&more, egb_shared_fd(pool), 0), EGB_LIMIT);
    EXPECT_EQ(more, nullptr);
    void* const last = egb_shared_alloc(others.back());
    EXPECT_EQ(
        egb_shared_holders(pool, egb_shared_handle(others.back(), last).index), uint64_t{1} << 61
    );
    egb_shared_close(others[7]);
    others[7] = attach_again(pool);
    for (egb_shared* const other : others) {
        egb_shared_close(other);
    }
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFull, waits_until_a_block_is_free_or_the_time_is_over)
{
    egb_shared* const pool  = make_shared_pool(shared_options(1, 0));
    egb_shared* const other = attach_again(pool);
    void* const       block = egb_shared_alloc(other);
    void*             out   = nullptr;
    EXPECT_EQ(egb_shared_alloc_wait(pool, &out, MOMENT), EGB_BUSY);
    EXPECT_EQ(out, nullptr);
    std::thread releaser([&] { egb_shared_release(other, block); });
    EXPECT_EQ(egb_shared_alloc_wait(pool, &out, EGB_SHARED_FOREVER), EGB_OK);
    releaser.join();
    const uint64_t before = numbers_of(pool).failures;
    std::thread    canceller([&] {
        while (numbers_of(pool).failures == before) {  // a cancel ends a wait that has begun
            std::this_thread::yield();
        }
        egb_shared_cancel(pool);
    });
    EXPECT_EQ(egb_shared_alloc_wait(pool, &out, EGB_SHARED_FOREVER), EGB_BUSY);
    canceller.join();
    egb_shared_close(other);
    egb_shared_close(pool);
}

TEST(SharedFull, alloc_waits_if_the_pool_says_so_and_as_long)
{
    egb_shared_options options = shared_options(1, 0);
    options.on_full            = EGB_SHARED_WAIT;
    options.wait_ns            = MOMENT;
    egb_shared* const pool     = make_shared_pool(options);
    void* const       block    = egb_shared_alloc(pool);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(egb_shared_alloc(pool), nullptr) << "after a moment";
    egb_shared_close(pool);

    options.wait_ns          = EGB_SHARED_FOREVER;
    egb_shared* const longer = make_shared_pool(options);
    egb_shared* const other  = attach_again(longer);
    void* const       held   = egb_shared_alloc(other);
    std::thread       releaser([&] { egb_shared_release(other, held); });
    EXPECT_NE(egb_shared_alloc(longer), nullptr);
    releaser.join();
    const uint64_t before = numbers_of(longer).failures;
    std::thread    canceller([&] {
        while (numbers_of(longer).failures == before) {
            std::this_thread::yield();
        }
        egb_shared_cancel(longer);
    });
    EXPECT_EQ(egb_shared_alloc(longer), nullptr) << "it was told not to wait any longer";
    canceller.join();
    egb_shared_close(other);
    egb_shared_close(longer);
}

TEST(SharedFull, drops_the_oldest_frame_that_only_the_feed_holds)
{
    egb_shared_options options = shared_options(3, 3);
    options.on_full            = EGB_SHARED_DROP_OLDEST;
    egb_shared* const pool     = make_shared_pool(options);
    egb_shared* const reader   = attach_again(pool, EGB_SHARED_READ_ONLY);
    for (int i = 0; i < 3; i++) {
        void* const block = egb_shared_alloc(pool);
        ASSERT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_OK);
        egb_shared_release(pool, block);
    }
    egb_published first;
    ASSERT_EQ(egb_shared_next(reader, 0, 0, &first), EGB_OK);
    EXPECT_EQ(first.sequence, 1U);
    EXPECT_NE(egb_shared_alloc(pool), nullptr);  // the second
    egb_published third;
    ASSERT_EQ(egb_shared_next(reader, 1, 0, &third), EGB_OK);
    EXPECT_EQ(third.sequence, 3U);
    EXPECT_EQ(third.missed, 1U);
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);  // readers hold the others
    EXPECT_EQ(numbers_of(pool).dropped, 1U);
    egb_shared_close(reader);
    egb_shared_close(pool);
}

// ---- the feed -----------------------------------------------------------------------------------

uint64_t publish_one(egb_shared* pool, uint64_t value)
{
    uint64_t    sequence = 0;
    void* const block    = egb_shared_alloc(pool);
    EXPECT_NE(block, nullptr);
    memcpy(block, &value, sizeof value);
    EXPECT_EQ(egb_shared_publish(pool, block, &value, &sequence), EGB_OK);
    egb_shared_release(pool, block);
    return sequence;
}

uint64_t value_in(const egb_published& published)
{
    uint64_t note = 0;
    uint64_t data = 0;
    memcpy(&note, published.note, sizeof note);
    memcpy(&data, published.block, sizeof data);
    EXPECT_EQ(note, data);
    return note;
}

TEST(SharedFeed, shows_each_frame_to_every_reader_and_tells_how_many_one_missed)
{
    egb_shared* const pool = make_shared_pool(shared_options(8, 4));
    egb_shared* const fast = attach_again(pool, EGB_SHARED_READ_ONLY);
    egb_shared* const slow = attach_again(pool, EGB_SHARED_READ_ONLY);
    egb_published     out;
    EXPECT_EQ(egb_shared_next(fast, 0, 0, &out), EGB_BUSY);
    EXPECT_EQ(egb_shared_latest(fast, &out), EGB_BUSY);
    for (uint64_t i = 1; i <= 10; i++) {
        EXPECT_EQ(publish_one(pool, i * 11), i);
        ASSERT_EQ(egb_shared_next(fast, i - 1, 0, &out), EGB_OK);
        EXPECT_EQ(out.sequence, i);
        EXPECT_EQ(out.missed, 0U);
        EXPECT_EQ(value_in(out), i * 11);
        egb_shared_release(fast, out.block);
        EXPECT_EQ(egb_shared_next(fast, i, 0, &out), EGB_BUSY);
    }
    ASSERT_EQ(egb_shared_next(slow, 2, MOMENT, &out), EGB_OK);
    EXPECT_EQ(out.sequence, 7U);
    EXPECT_EQ(out.missed, 4U);
    EXPECT_EQ(value_in(out), 77U);
    egb_published newest;
    ASSERT_EQ(egb_shared_latest(slow, &newest), EGB_OK);
    EXPECT_EQ(newest.sequence, 10U);
    // A frame that a reader holds stays whole when it falls out of the feed.
    for (uint64_t i = 11; i <= 30; i++) {
        (void)publish_one(pool, i * 11);
    }
    EXPECT_EQ(value_in(out), 77U);
    EXPECT_EQ(value_in(newest), 110U);
    EXPECT_EQ(numbers_of(pool).in_use, 6U);
    egb_shared_close(slow);
    egb_shared_close(fast);
    expect_nothing_lost(pool, 4);
    egb_shared_close(pool);
}

TEST(SharedFeed, gives_each_frame_to_one_that_takes)
{
    egb_shared* const pool  = make_shared_pool(shared_options(8, 6));
    egb_shared* const one   = attach_again(pool);
    egb_shared* const other = attach_again(pool);
    for (uint64_t i = 1; i <= 6; i++) {
        (void)publish_one(pool, i);
    }
    std::set<uint64_t> seen;
    egb_published      out;
    for (int i = 0; i < 6; i++) {
        egb_shared* const worker = i % 2 == 0 ? one : other;
        ASSERT_EQ(egb_shared_take(worker, 0, &out), EGB_OK);
        EXPECT_TRUE(seen.insert(value_in(out)).second);
        egb_shared_release(worker, out.block);
    }
    EXPECT_EQ(egb_shared_take(one, 0, &out), EGB_BUSY);
    EXPECT_EQ(egb_shared_next(one, 0, 0, &out), EGB_BUSY);
    (void)publish_one(pool, 7);
    ASSERT_EQ(egb_shared_take(one, EGB_SHARED_FOREVER, &out), EGB_OK);
    EXPECT_EQ(value_in(out), 7U);
    egb_shared_close(one);
    egb_shared_close(other);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFeed, has_one_publisher_at_a_time)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    egb_shared* const other = attach_again(pool);
    (void)publish_one(pool, 1);
    void* const block = egb_shared_alloc(other);
    EXPECT_EQ(egb_shared_publish(other, block, nullptr, nullptr), EGB_BUSY);
    egb_shared_close(pool);
    EXPECT_EQ(egb_shared_publish(other, block, nullptr, nullptr), EGB_OK);
    EXPECT_EQ(egb_shared_publish(other, block, nullptr, nullptr), EGB_INVALID);  // once is enough
    egb_published out;
    ASSERT_EQ(egb_shared_next(other, 0, 0, &out), EGB_OK);  // frames outlive their publisher
    EXPECT_EQ(value_in(out), 1U);
    egb_shared_close(other);
}

TEST(SharedFeed, refuses_what_cannot_be_published)
{
    egb_shared* const pool   = make_shared_pool(shared_options(4, 2));
    egb_shared* const reader = attach_again(pool, EGB_SHARED_READ_ONLY);
    egb_shared* const bare   = make_shared_pool(shared_options(4, 0));
    void* const       block  = egb_shared_alloc(pool);
    void*             out    = nullptr;
    egb_published     frame;
    EXPECT_EQ(egb_shared_alloc(reader), nullptr);
    EXPECT_EQ(egb_shared_alloc_wait(reader, &out, 0), EGB_INVALID);
    ASSERT_EQ(egb_shared_open(reader, egb_shared_handle(pool, block), &out), EGB_OK);
    EXPECT_EQ(egb_shared_publish(reader, out, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(
        egb_shared_publish(pool, static_cast<char*>(block) + 1, nullptr, nullptr), EGB_INVALID
    );
    EXPECT_EQ(egb_shared_publish(pool, nullptr, nullptr, nullptr), EGB_INVALID);
    egb_shared_release(pool, block);
    EXPECT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_publish(bare, egb_shared_alloc(bare), nullptr, nullptr), EGB_UNSUPPORTED);
    EXPECT_EQ(egb_shared_next(bare, 0, 0, &frame), EGB_UNSUPPORTED);
    EXPECT_EQ(egb_shared_take(bare, 0, &frame), EGB_UNSUPPORTED);
    EXPECT_EQ(egb_shared_next(pool, UINT64_MAX, 0, &frame), EGB_BUSY);
    egb_shared_close(bare);
    egb_shared_close(reader);
    egb_shared_close(pool);
}

TEST(SharedFeed, without_a_note_there_are_zeros_and_the_feed_is_a_holder)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 1));
    void* const       block = egb_shared_alloc(pool);
    const uint32_t    index = egb_shared_handle(pool, block).index;
    EXPECT_EQ(egb_shared_holders(pool, index) & EGB_SHARED_HELD_BY_FEED, 0U);
    ASSERT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_OK);
    EXPECT_NE(egb_shared_holders(pool, index) & EGB_SHARED_HELD_BY_FEED, 0U);
    EXPECT_EQ(numbers_of(pool).published, 1U);
    EXPECT_EQ(numbers_of(pool).only_feed, 0U);
    egb_shared_release(pool, block);
    EXPECT_EQ(numbers_of(pool).only_feed, 1U);
    EXPECT_EQ(numbers_of(pool).in_use, 1U);
    EXPECT_EQ(egb_shared_holders(pool, 1 - index), 0U);
    EXPECT_EQ(egb_shared_holders(pool, 2), 0U);
    egb_published out;
    memset(&out, 0x5A, sizeof out);
    ASSERT_EQ(egb_shared_take(pool, 0, &out), EGB_OK);
    uint64_t note = 1;
    memcpy(&note, out.note, sizeof note);
    EXPECT_EQ(note, 0U);
    EXPECT_EQ(out.missed, 0U);
    EXPECT_EQ(egb_shared_holders(pool, index) & EGB_SHARED_HELD_BY_FEED, 0U);
    egb_shared_close(pool);
}

TEST(SharedNull, is_invalid_and_what_is_not_told_stays)
{
    egb_shared* const  pool  = make_shared_pool(shared_options(2, 1));
    const egb_frame    frame = egb_shared_handle(pool, egb_shared_alloc(pool));
    egb_shared_numbers numbers;
    egb_published      out;
    egb_published      before;
    void*              block = &out;
    memset(&out, 0x5A, sizeof out);
    before = out;
    EXPECT_EQ(egb_shared_open(pool, frame, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_alloc_wait(pool, nullptr, 0), EGB_INVALID);
    EXPECT_EQ(egb_shared_alloc_wait(nullptr, &block, 0), EGB_INVALID);
    EXPECT_EQ(egb_shared_publish(nullptr, &out, nullptr, nullptr), EGB_INVALID);
    for (egb_shared* const one : {pool, static_cast<egb_shared*>(nullptr)}) {
        egb_published* const to = one == pool ? nullptr : &out;
        EXPECT_EQ(egb_shared_next(one, 0, 0, to), EGB_INVALID);
        EXPECT_EQ(egb_shared_take(one, 0, to), EGB_INVALID);
        EXPECT_EQ(egb_shared_latest(one, to), EGB_INVALID);
    }
    EXPECT_EQ(egb_shared_next(pool, 0, 0, &out), EGB_BUSY);
    EXPECT_EQ(egb_shared_take(pool, 0, &out), EGB_BUSY);
    EXPECT_EQ(egb_shared_latest(pool, &out), EGB_BUSY);
    EXPECT_EQ(memcmp(&before, &out, sizeof out), 0);
    EXPECT_EQ(block, &out);
    EXPECT_EQ(egb_shared_stats(pool, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_stats(nullptr, &numbers), EGB_INVALID);
    size_t bytes = 7;
    EXPECT_EQ(egb_shared_about(pool, &bytes), nullptr);
    EXPECT_EQ(bytes, 0U);
    egb_shared_close(pool);
}

TEST(SharedNext, ends_when_it_is_told_not_to_wait)
{
    egb_shared* const pool = make_shared_pool(shared_options(2, 1));
    std::atomic<bool> done{false};
    std::thread       canceller([&] {
        while (!done) {  // a cancel ends a wait that has begun
            egb_shared_cancel(pool);
            std::this_thread::yield();
        }
    });
    egb_published     out;
    EXPECT_EQ(egb_shared_next(pool, 0, EGB_SHARED_FOREVER, &out), EGB_BUSY);
    EXPECT_EQ(egb_shared_take(pool, EGB_SHARED_FOREVER, &out), EGB_BUSY);
    done = true;
    canceller.join();
    egb_shared_close(pool);
}

TEST(SharedEach, shows_the_attachments)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    egb_shared* const other = attach_again(pool);
    (void)egb_shared_alloc(other);
    std::vector<egb_shared_attachment> all;
    egb_shared_each(
        pool,
        [](const egb_shared_attachment* one, void* user) {
            static_cast<std::vector<egb_shared_attachment>*>(user)->push_back(*one);
        },
        &all
    );
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].is_this && all[0].is_alive);
    EXPECT_TRUE(!all[1].is_this && all[1].is_alive);
    EXPECT_EQ(all[1].held, 1U);
    EXPECT_EQ(all[1].pid, static_cast<uint64_t>(getpid()));
    EXPECT_STREQ(all[1].program, "test_shared");
    egb_shared_close(other);
    egb_shared_close(pool);
}

}  // namespace

// SPDX-License-Identifier: MIT
// Frees that are cut in two, behind the store that puts the block into the magazine, with calls of
// other threads in between. And the room of magazines after their threads have ended.
#include "cuts.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace
{

using cuts::full;
using cuts::in_another_thread;
using cuts::make;

// Each turn is one thread's, whatever the system does.
class turns
{
  public:
    template <class Work>
    void at(int turn, Work work)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        is_next_.wait(lock, [&] { return next_ == turn; });
        work();
        next_++;
        is_next_.notify_all();
    }

  private:
    std::mutex              mutex_;
    std::condition_variable is_next_;
    int                     next_ = 0;
};

// Takes so many blocks and frees them.
void use(egb_pool pool, std::size_t count)
{
    std::vector<void*> blocks(count);
    MUST(egb_pool_alloc_many(pool, blocks.data(), count) == count);
    egb_pool_free_many(pool, blocks.data(), count);
}

// Uses pools until this thread may not claim so many bytes for one more.
void claim_all_but(std::size_t bytes, std::size_t block_bytes, std::vector<egb_pool>* pools)
{
    while (may_claim(bytes)) {
        pools->push_back(make(block_bytes, 0));
        use(pools->back(), 1);
    }
}

}  // namespace

TEST(cuts, a_block_taken_out_meanwhile_leaves_nothing_behind_the_room)
{
    const full one;
    begin_free(one.pool, one.block);
    EXPECT_EQ(room_left(one.pool), -1);
    in_another_thread([&] {  // the walk takes the free blocks of all threads
        egb_pool_each_block(one.pool, [](void*, void*) { ADD_FAILURE(); }, nullptr);
    });
    EXPECT_EQ(behind_room(one.pool), one.block);
    end_free(one.pool, one.block);
    EXPECT_NE(behind_room(one.pool), one.block);
    EXPECT_EQ(stress::stats_of(one.pool).in_use, 0u);

    std::vector<void*> blocks(full::blocks_max);
    ASSERT_EQ(egb_pool_alloc_many(one.pool, blocks.data(), blocks.size()), blocks.size());
    for (void* const block : blocks) {
        egb_pool_free(one.pool, block);
        EXPECT_GE(room_left(one.pool), 0);
    }
    EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(cuts, a_trim_leaves_no_block_of_a_chunk_that_goes_behind_the_room)
{
    const full one;
    begin_free(one.pool, one.block);
    in_another_thread([&] { EXPECT_GT(egb_pool_trim(one.pool, 0), 0u); });
    EXPECT_NE(behind_room(one.pool), one.block);
    end_free(one.pool, one.block);
    EXPECT_EQ(stress::stats_of(one.pool).in_use, 0u);
    EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(cuts, nor_does_the_end_of_the_pool)
{
    const stress::only_stale stale(true);
    const full               one;
    begin_free(one.pool, one.block);
    in_another_thread([&] { EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_FORCE), EGB_OK); });
    EXPECT_NE(behind_room(one.pool), one.block);
    end_free(one.pool, one.block);
}

// A is in a free while its block is taken out. B, which remembers a block, is still to be looked
// at.
TEST(cuts, an_undo_is_seen_after_the_block_of_another_thread_was_taken_out)
{
    const egb_pool pool = make(64, 4);
    turns          order;
    std::thread    a([&] {
        void* blocks[2];
        order.at(0, [&] {
            MUST(egb_pool_alloc_many(pool, blocks, 2) == 2);
            egb_pool_free_many(pool, blocks, 2);
            MUST(egb_pool_alloc_many(pool, blocks, 2) == 2);
        });
        order.at(3, [&] { EXPECT_EQ(egb_pool_alloc(pool), nullptr); });
        order.at(4, [&] { begin_free(pool, blocks[1]); });
        order.at(6, [&] { end_free(pool, blocks[1]); });
        order.at(10, [&] { egb_pool_free(pool, blocks[0]); });
    });
    std::thread    b([&] {
        void* block = nullptr;
        order.at(1, [&] {
            use(pool, 1);
            block = egb_pool_alloc(pool);
        });
        order.at(8, [&] { egb_pool_free(pool, block); });
        order.at(11, [] {});  // it does not end before
    });
    void*          blocks[3]{};
    order.at(2, [&] {
        blocks[0] = egb_pool_alloc(pool);
        EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    });
    order.at(5, [&] { egb_pool_trim(pool, 0); });
    order.at(7, [&] { blocks[1] = egb_pool_alloc(pool); });
    order.at(9, [&] { blocks[2] = egb_pool_alloc(pool); });
    a.join();
    b.join();
    for (void* const block : blocks) {
        EXPECT_NE(block, nullptr);
        egb_pool_free(pool, block);
    }
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

// A thread has a batch for 14 blocks, and may have no longer one. The depot takes no more batches.
// Then other pools claim most of the rest. From 1 KiB on it would have a part of the pool.
TEST(cuts, what_a_thread_had_room_for_ends_with_it)
{
    enum : std::size_t { BYTES = 1020, ROOM = 14, ROOM_SHORT = 4, DEPOT_BATCHES = 64 };
    const std::size_t     before = claimed_bytes();
    std::vector<egb_pool> pools;
    in_another_thread([&] {
        claim_all_but(2 * ROOM * BYTES, 65536, &pools);
        const egb_pool pool = make(BYTES, 0);
        pools.push_back(pool);
        std::vector<void*> blocks(DEPOT_BATCHES * ROOM + 3 * ROOM);
        MUST(egb_pool_alloc_many(pool, blocks.data(), blocks.size()) == blocks.size());
        const auto free_until = [&](auto is_enough) {
            while (!blocks.empty() && !is_enough()) {
                egb_pool_free(pool, blocks.back());
                blocks.pop_back();
            }
        };
        free_until([&] {
            return blocks.size() <= 3 * ROOM &&
                   room_left(pool) > static_cast<std::ptrdiff_t>(ROOM_SHORT);
        });
        EXPECT_GT(blocks.size(), static_cast<std::size_t>(ROOM));
        claim_all_but(ROOM_SHORT * BYTES, 1024, &pools);
        free_until([] { return false; });
        EXPECT_LT(room_left(pool), static_cast<std::ptrdiff_t>(ROOM_SHORT));
        EXPECT_EQ(remembered_behind_room(pool), 0u);
    });
    EXPECT_EQ(claimed_bytes(), before);
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// Others may claim more between the decision that a batch is made longer and the moment when it is.
TEST(cuts, a_batch_that_is_shortened_keeps_what_it_holds)
{
    enum : std::size_t { BYTES = 1024, HELD = 20 };
    std::vector<egb_pool> pools{make(BYTES, 0)};
    in_another_thread([&] {
        use(pools.front(), 1);
        claim_all_but(HELD / 2 * BYTES, 65536, &pools);
        EXPECT_LT(room_when_shortened(pools.front(), 0), static_cast<std::size_t>(HELD));
        EXPECT_GE(room_when_shortened(pools.front(), HELD), static_cast<std::size_t>(HELD));
    });
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// Large blocks have used up what ten threads may have, and short ones have room all the same: with
// room for three, every third call would take the lock of their pool.
TEST(cuts, short_blocks_have_room_where_long_ones_used_up_all)
{
    enum : std::size_t { THREADS = 10 };
    std::vector<egb_pool> pools{make(16, 0)};
    stress::barrier       step(THREADS);
    const auto            stay = [&] {
        use(pools.front(), 1);
        step.wait();
        step.wait();
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < THREADS; i++) {
        others.emplace_back(stay);
    }
    in_another_thread([&] {
        use(pools.front(), 1);
        step.wait();
        claim_all_but(1, 16384, &pools);
        for (const std::size_t bytes : {16u, 64u, 128u}) {
            const egb_pool pool = make(bytes, 0);
            pools.push_back(pool);
            use(pool, 300);
            EXPECT_GE(room_of(pool), 31u) << bytes;
        }
        step.wait();
    });
    for (std::thread& other : others) {
        other.join();
    }
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

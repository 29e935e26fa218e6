// SPDX-License-Identifier: MIT
// Handles at the end of the generations, and a whole range of 32 bits away.
#include "inside.h"
#include "shared.hpp"

namespace
{

bool opens(egb_shared* pool, egb_frame frame)
{
    void*            block  = nullptr;
    const egb_status status = egb_shared_open(pool, frame, &block);
    EXPECT_TRUE(status == EGB_OK || status == EGB_STALE);
    if (status == EGB_OK) {
        egb_shared_release(pool, block);
    }
    return status == EGB_OK;
}

// A pool of one block, whose generation is about to be `generation`.
egb_shared* pool_at(uint64_t generation)
{
    egb_shared* const pool = make_shared_pool(shared_options(1, 1));
    set_generation(pool, 0, generation);
    return pool;
}

// The handle of the block, which is allocated and released.
egb_frame pass(egb_shared* pool)
{
    void* const     block = egb_shared_alloc(pool);
    const egb_frame frame = egb_shared_handle(pool, block);
    EXPECT_TRUE(opens(pool, frame));
    egb_shared_release(pool, block);
    EXPECT_FALSE(opens(pool, frame));
    return frame;
}

TEST(SharedGenerations, go_on_from_zero_behind_the_last)
{
    egb_shared* const pool   = pool_at(UINT64_MAX - 1);
    egb_frame         old[3] = {};
    for (egb_frame& one : old) {
        one = pass(pool);
    }
    EXPECT_EQ(old[0].generation, UINT64_MAX - 1);
    EXPECT_EQ(old[1].generation, UINT64_MAX);
    EXPECT_EQ(old[2].generation, 0U);
    void* const block = egb_shared_alloc(pool);
    for (const egb_frame one : old) {
        EXPECT_FALSE(opens(pool, one));
    }
    EXPECT_TRUE(opens(pool, egb_shared_handle(pool, block)));
    egb_shared_close(pool);
}

TEST(SharedGenerations, carry_the_feed_over_the_end)
{
    egb_shared* const pool = pool_at(UINT64_MAX);
    uint64_t          last = 0;
    for (uint64_t i = 0; i < 3; i++) {
        void* const   block = egb_shared_alloc(pool);
        egb_published out   = {};
        ASSERT_EQ(egb_shared_publish(pool, block, &i, nullptr), EGB_OK);
        egb_shared_release(pool, block);
        ASSERT_EQ(egb_shared_take(pool, 0, &out), EGB_OK);
        EXPECT_EQ(out.frame.generation, UINT64_MAX + i);
        EXPECT_GT(out.sequence, last);
        last = out.sequence;
        egb_shared_release(pool, out.block);
        EXPECT_FALSE(opens(pool, out.frame));
    }
    egb_shared_close(pool);
}

TEST(SharedGenerations, are_all_compared)
{
    for (const unsigned bit : {0U, 15U, 31U, 32U, 33U, 63U}) {
        egb_shared* const pool  = pool_at(5 ^ uint64_t{1} << bit);
        void* const       block = egb_shared_alloc(pool);
        egb_frame         frame = egb_shared_handle(pool, block);
        EXPECT_TRUE(opens(pool, frame));
        frame.generation = 5;
        EXPECT_FALSE(opens(pool, frame)) << bit;
        egb_shared_release(pool, block);
        EXPECT_FALSE(opens(pool, frame)) << bit;
        egb_shared_close(pool);
    }
}

}  // namespace

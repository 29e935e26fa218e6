// SPDX-License-Identifier: MIT
// The faults of the algorithm as it was printed (Kenwright 2012, listing 2) were reproduced there,
// and must not exist here: sizes that wrap in 32 bits; create, use, destroy, create; every page
// touched.
#include "any_pool.hpp"
#include "events.hpp"

TEST(fixed_originals, a_size_that_wraps_in_32_bits_is_computed_in_full_or_refused)
{
    // There 65,536 blocks of 65,536 bytes are a buffer of 0 bytes, and the first alloc writes
    // beyond it.
    const uint64_t product = uint64_t{65536} * 65536;
    if (sizeof(std::size_t) == 8) {
        EXPECT_EQ(egb_fixed_bytes(65536, 65536), product);
        char* const far = reinterpret_cast<char*>(uintptr_t(uint64_t{1} << 44));  // never touched
        egb_fixed   pool;
        ASSERT_EQ(egb_fixed_init(&pool, far, size_t(product), 65536), EGB_OK);
        EXPECT_EQ(egb_fixed_capacity(&pool), 65536u);
        EXPECT_TRUE(egb_fixed_owns(&pool, far + 65535 * uint64_t{65536}));
        EXPECT_FALSE(egb_fixed_owns(&pool, far + product));
    } else {
        EXPECT_EQ(egb_fixed_bytes(65536, 65536), 0u);
    }
}

TEST(fixed_originals, create_use_destroy_create_begins_anew)
{
    // There the second create keeps the first one's count of initialised blocks, reads memory that
    // nobody wrote as a link, and crashes.
    for (const way made : all_ways) {
        events   unexpected;
        any_pool all(made, 32, 20);
        for (int life = 0; life < 4; life++) {
            for (std::size_t i = 0; i < 20; i++) {
                ASSERT_EQ(all.alloc(), all.at(i));
                std::memset(all.at(i), 0xEE, all.block_bytes);
            }
            all.free(all.at(3));
            all.free(all.at(17));
            ASSERT_EQ(all.init(20 * all.block_bytes), EGB_OK);
            ASSERT_EQ(egb_fixed_in_use(&all.pool), 0u);
            ASSERT_TRUE(all.whole());
        }
    }
}

TEST(fixed_originals, a_ping_pong_of_one_block_touches_one_block)
{
    // There every alloc initialises one more block even when a freed one is at hand.
    for (const way made : all_ways) {
        any_pool all(made, 64, 1000);
        for (int i = 0; i < 5000; i++) {
            void* const block = all.alloc();
            ASSERT_EQ(block, all.at(0));
            all.free(block);
        }
        EXPECT_EQ(egb_fixed_touched(&all.pool), 1u);
        for (std::size_t i = all.block_bytes / 4; i < all.block_bytes * 1000 / 4; i++) {
            ASSERT_EQ(all.region[i], EGB_FIXED_MARK_) << "a byte of an unused block was written";
        }
    }
}

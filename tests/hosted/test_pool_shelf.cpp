// SPDX-License-Identifier: MIT
// What the library keeps of pools that were destroyed, for pools to come.
#include "events.hpp"
#include "pools.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace
{

const egb_pool none{0, 0};

egb_pool make_prefaulted()
{
    egb_pool_options options = options_for(64);
    options.flags            = EGB_PREFAULT;
    return make(options);
}

// Takes every block that the pool's chunk still has, and fills it.
std::vector<void*> fill(egb_pool pool, std::size_t bytes)
{
    std::vector<void*> blocks;
    do {
        void* const block = egb_pool_alloc(pool);
        EXPECT_NE(block, nullptr);
        std::memset(block, 0xFF, bytes);
        blocks.push_back(block);
    } while (stats_of(pool).in_use < stats_of(pool).capacity);
    return blocks;
}

}  // namespace

TEST(pool_shelf, a_pool_after_another_maps_nothing_new)
{
    egb_pool_trim(none, 0);
    const egb_pool first = make(64);
    void* const    block = egb_pool_alloc(first);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(egb_pool_destroy(first, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool second = make(48);
    void* const    other  = egb_pool_alloc(second);
    EXPECT_EQ(other, block) << "the region has served again";
    egb_pool_free(second, other);
    EXPECT_EQ(egb_pool_destroy(second, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_trim(none, 0), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
}

TEST(pool_shelf, nothing_of_the_old_pool_is_seen_by_the_new)
{
    for (const std::size_t before : {std::size_t{16}, std::size_t{64}, std::size_t{1000}}) {
        for (const std::size_t after : {std::size_t{16}, std::size_t{24}, std::size_t{4096}}) {
            egb_pool_trim(none, 0);
            const egb_pool           old    = make(before);
            const std::vector<void*> blocks = fill(old, before);
            ASSERT_EQ(egb_pool_destroy(old, EGB_DESTROY_FORCE), EGB_OK);
            const egb_pool pool  = make(after);
            void* const    first = egb_pool_alloc(pool);
            ASSERT_EQ(first, blocks.front());
            const std::size_t capacity = stats_of(pool).capacity;
            events            seen;
            for (std::size_t i = 1; i < capacity; i++) {  // none of them was ever allocated
                egb_pool_free(pool, static_cast<char*>(first) + i * after);
                ASSERT_EQ(seen.take_kind(), EGB_EVENT_NEVER_ALLOCATED) << i;
            }
            EXPECT_EQ(capacity == 1 ? 0 : fill(pool, after).size(), capacity - 1);
            ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        }
    }
}

TEST(pool_shelf, fresh_blocks_are_zero_where_that_was_asked_for)
{
    std::vector<const char*> levels = {"off", "check", "guard"};
#if !defined(_WIN32)  // there "passthrough" is not supported
    levels.push_back("passthrough");
#endif
    for (const char* level : levels) {
        egb_pool_trim(none, 0);
        const egb_pool old = make(256);
        fill(old, 256);
        ASSERT_EQ(egb_pool_destroy(old, EGB_DESTROY_FORCE), EGB_OK);
        egb_pool_options options              = options_for(200);
        options.flags                         = EGB_FRESH_ZERO;
        options.check                         = level;
        const egb_pool                   pool = make(options);
        const std::vector<unsigned char> zero(200, 0);
        for (int i = 0; i < 500; i++) {  // of the region that has served, and of new ones
            void* const block = egb_pool_alloc(pool);
            ASSERT_NE(block, nullptr);
            ASSERT_EQ(std::memcmp(block, zero.data(), zero.size()), 0) << level << ' ' << i;
        }
        ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}

TEST(pool_shelf, holds_no_more_than_it_says)
{
    std::vector<egb_pool> pools;
    egb_pool_trim(none, 0);
    for (std::size_t i = 0; i < EGB_SHELF_BYTES_MAX / unit_bytes + 50; i++) {
        pools.push_back(make(64));
        ASSERT_NE(egb_pool_alloc(pools.back()), nullptr);
    }
    for (const egb_pool pool : pools) {
        ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
    EXPECT_EQ(egb_pool_trim(none, EGB_SHELF_BYTES_MAX), 0u);
    EXPECT_EQ(egb_pool_trim(none, EGB_SHELF_BYTES_MAX - unit_bytes), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), EGB_SHELF_BYTES_MAX - unit_bytes);
}

TEST(pool_shelf, what_a_living_pool_gives_back_goes_to_the_system)
{
    egb_pool_trim(none, 0);
    const egb_pool pool = make(64);
    egb_pool_free(pool, egb_pool_alloc(pool));
    EXPECT_EQ(egb_pool_trim(pool, 0), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

// Its pages would not all be there.
TEST(pool_shelf, is_not_for_pools_that_asked_for_their_pages)
{
    egb_pool_trim(none, 0);
    const egb_pool plain = make(64);
    ASSERT_NE(egb_pool_alloc(plain), nullptr);
    ASSERT_EQ(egb_pool_destroy(plain, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool there = make_prefaulted();
    ASSERT_NE(egb_pool_alloc(there), nullptr);
    EXPECT_EQ(egb_pool_trim(none, 0), unit_bytes) << "the plain one's was not used";
    ASSERT_EQ(egb_pool_destroy(there, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
}

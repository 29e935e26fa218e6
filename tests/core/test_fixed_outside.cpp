// SPDX-License-Identifier: MIT
// egb_fixed_init_outside(): the list and the truth about the blocks are both outside of them. The
// behaviour that all modes share is tested in tests/support/any_pool.hpp.
#include "any_pool.hpp"
#include "events.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace
{

constexpr std::size_t count = 8;

// A pool of `count` blocks whose memory outside is as given.
egb_status init(egb_fixed* pool, void* region, std::size_t blocks, void* outside, std::size_t bytes)
{
    return egb_fixed_init_outside(pool, region, blocks * 8, 8, outside, bytes);
}

}  // namespace

TEST(fixed_outside, takes_a_word_and_a_bit_a_block_and_four_words)
{
    EXPECT_EQ(EGB_FIXED_OUTSIDE_BYTES(1), 4u * (4 + 1 + 1));
    EXPECT_EQ(EGB_FIXED_OUTSIDE_BYTES(32), 4u * (4 + 1 + 32));
    EXPECT_EQ(EGB_FIXED_OUTSIDE_BYTES(33), 4u * (4 + 2 + 33));
    EXPECT_EQ(EGB_FIXED_OUTSIDE_BYTES(1000000), 4u * (4 + 31250 + 1000000));
}

TEST(fixed_outside, is_enough_for_as_many_blocks_as_it_says_and_for_no_more)
{
    std::vector<uint32_t> region(2 * 201);
    for (std::size_t blocks = 1; blocks <= 200; blocks++) {
        const std::size_t bytes = EGB_FIXED_OUTSIDE_BYTES(blocks);

        std::vector<uint32_t> outside(bytes / 4 + 1, 0xFFFFFFFFu);
        egb_fixed             pool{};
        ASSERT_EQ(init(&pool, region.data(), blocks, outside.data(), bytes - 4), EGB_INVALID);
        ASSERT_EQ(init(&pool, region.data(), blocks, outside.data(), bytes), EGB_OK) << blocks;
        for (std::size_t i = 0; i < blocks; i++) {
            ASSERT_NE(egb_fixed_alloc(&pool), nullptr);
        }
        for (std::size_t i = blocks; i-- > 0;) {
            egb_fixed_free(&pool, &region[2 * i]);
        }
        ASSERT_TRUE(egb_fixed_whole(&pool)) << blocks;
        ASSERT_EQ(outside.back(), 0xFFFFFFFFu) << "what is behind it stays, " << blocks;
        ASSERT_EQ(egb_fixed_resize(&pool, (blocks + 1) * 8), EGB_LIMIT);
    }
}

TEST(fixed_outside, refuses_memory_that_does_not_serve)
{
    uint32_t              region[200] = {};
    std::vector<uint32_t> outside(EGB_FIXED_OUTSIDE_BYTES(100) / 4);
    egb_fixed             pool{};
    const std::size_t     bytes = outside.size() * 4;
    const auto            with  = [&](void* start, std::size_t size) {
        return init(&pool, region, 100, start, size);
    };
    EXPECT_EQ(with(nullptr, bytes), EGB_INVALID);
    EXPECT_EQ(with(reinterpret_cast<char*>(outside.data()) + 1, bytes), EGB_INVALID);
    EXPECT_EQ(with(outside.data(), bytes - 1), EGB_INVALID);
    EXPECT_EQ(with(outside.data(), 16), EGB_INVALID);
    EXPECT_EQ(with(outside.data(), 0), EGB_INVALID);
    EXPECT_EQ(with(region + 100, bytes), EGB_INVALID) << "in the region";
    EXPECT_EQ(with(&pool, bytes), EGB_INVALID) << "on the pool";
    EXPECT_EQ(with(reinterpret_cast<void*>(UINTPTR_MAX - 15), 64), EGB_INVALID) << "wraps";
    EXPECT_EQ(init(nullptr, region, 100, outside.data(), bytes), EGB_INVALID);
    EXPECT_EQ(init(&pool, region, 0, outside.data(), bytes), EGB_INVALID);
    EXPECT_EQ(pool.first, nullptr) << "the pool is as it was";
    EXPECT_EQ(with(outside.data(), bytes), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&pool), 100u);
}

TEST(fixed_outside, resize_needs_room_there_for_every_block)
{
    any_pool all(way::outside, 8, 20, 32);
    half_full(all);
    EXPECT_EQ(egb_fixed_resize(&all.pool, 8 * 32), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&all.pool, 8 * 33), EGB_LIMIT);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 32u);
    EXPECT_EQ(all.alloc(), all.at(3)) << "links are where they were";
    EXPECT_TRUE(all.whole());
}

TEST(fixed_outside, resize_never_reaches_it)
{
    uint32_t  memory[4 + EGB_FIXED_OUTSIDE_BYTES(128) / 4];
    egb_fixed pool;
    ASSERT_EQ(egb_fixed_init_outside(&pool, memory, 16, 4, memory + 4, sizeof memory - 16), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&pool, 24), EGB_INVALID);
    EXPECT_EQ(egb_fixed_capacity(&pool), 4u);
}

TEST(fixed_outside, a_write_to_free_blocks_does_no_harm)
{
    std::mt19937 random(1);
    for (int round = 0; round < 200; round++) {
        events   unexpected;
        any_pool all(way::outside, 16, count);
        half_full(all);
        for (const std::size_t free_block : {1u, 4u, 3u, 6u, 7u}) {
            std::memset(all.at(free_block), int(random() & 0xFF), 16);
        }
        ASSERT_TRUE(all.whole());
        for (const std::size_t next : {3u, 4u, 1u, 6u, 7u}) {
            ASSERT_EQ(all.alloc(), all.at(next));
        }
        ASSERT_EQ(all.alloc(), nullptr);
    }
}

TEST(fixed_outside, nothing_is_written_to_a_block)
{
    any_pool          all(way::outside, 16, count);
    const std::size_t bytes = 16 * count;
    std::vector<char> before(bytes);
    std::memset(all.at(0), 0xA5, bytes);
    std::memcpy(before.data(), all.at(0), bytes);
    half_full(all);
    while (all.alloc() != nullptr) {
    }
    for (std::size_t i = 0; i < count; i++) {
        all.free(all.at(i));
    }
    egb_fixed_clear(&all.pool);
    EXPECT_EQ(std::memcmp(before.data(), all.at(0), bytes), 0);
}

TEST(fixed_outside, links_that_were_overwritten_lose_no_block_and_give_none_twice)
{
    std::mt19937 random(2);
    for (int round = 0; round < 2000; round++) {
        any_pool all(way::outside, 16, count);
        half_full(all);
        for (const std::size_t free_block : {1u, 4u, 3u}) {
            *static_cast<uint32_t*>(all.link(free_block)) =
                random() % 2 == 0 ? uint32_t(random() % 40) : uint32_t(random());
        }
        events             seen;
        std::vector<void*> got;
        for (void* block = all.alloc(); block != nullptr; block = all.alloc()) {
            ASSERT_TRUE(egb_fixed_owns(&all.pool, block));
            got.push_back(block);
        }
        std::sort(got.begin(), got.end());
        const std::vector<void*> wanted = {all.at(1), all.at(3), all.at(4), all.at(6), all.at(7)};
        ASSERT_EQ(got, wanted);
        ASSERT_EQ(egb_fixed_in_use(&all.pool), count);
        ASSERT_TRUE(all.whole());
        (void)seen.take_kind();  // by chance a list may lead through all of them
    }
}

// Found in review: links were behind all bits, where the capacity said that these end.
TEST(fixed_outside, a_changed_capacity_leads_nowhere_wrong)
{
    for (std::size_t bit = 0; bit < 32; bit++) {
        const events unexpected;
        any_pool     all(way::outside, 16, count);
        half_full(all);
        all.pool.side.live[EGB_FIXED_LIVE_CAPACITY_] ^= 1u << bit;
        EXPECT_TRUE(all.whole()) << "only resize asks for it";
        all.free(all.at(5));
        for (const std::size_t next : {5u, 3u, 4u, 1u, 6u, 7u}) {
            ASSERT_EQ(all.alloc(), all.at(next)) << bit;
        }
    }
}

TEST(fixed_outside, a_changed_number_of_touched_blocks_is_mended)
{
    for (std::size_t bit = 3; bit < 32; bit++) {
        events   seen;
        any_pool all(way::outside, 16, count);
        half_full(all);
        all.pool.side.live[EGB_FIXED_LIVE_TOUCHED_] ^= 1u << bit;
        all.pool.side.live[EGB_FIXED_LIVE_HEAD_] = 0;  // no block's distance: the list is made anew
        for (const std::size_t next : {1u, 3u, 4u, 6u, 7u}) {
            ASSERT_EQ(all.alloc(), all.at(next)) << bit;
        }
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_TRUE(all.whole());
    }
}

TEST(fixed_outside, every_changed_bit_of_it_but_the_capacitys_is_noticed)  // catalogue 40
{
    const auto is_noticed = [](std::ptrdiff_t word, std::size_t bit) {
        any_pool all(way::outside, 16, count);
        half_full(all);
        all.pool.side.live[word] ^= 1u << bit;
        return !all.whole();
    };
    for (std::size_t bit = 0; bit < count - 1; bit++) {  // touched blocks, and the first fresh one
        EXPECT_TRUE(is_noticed(EGB_FIXED_LIVE_BITS_, bit)) << bit;
    }
    const auto link_of = [](std::ptrdiff_t block) {
        return -1 - block;
    };
    for (const std::ptrdiff_t word :
         {std::ptrdiff_t(EGB_FIXED_LIVE_HEAD_),
          std::ptrdiff_t(EGB_FIXED_LIVE_FREE_),
          std::ptrdiff_t(EGB_FIXED_LIVE_TOUCHED_),
          link_of(1),
          link_of(4),
          link_of(3)}) {
        for (std::size_t bit = 0; bit < 32; bit++) {
            EXPECT_TRUE(is_noticed(word, bit)) << word << ", " << bit;
        }
    }
}

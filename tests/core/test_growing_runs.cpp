// SPDX-License-Identifier: MIT
// The interface that pools with batches use of the growing pool: several blocks at a time. And the
// small arithmetic and the tree that both stand on.
#include "backing.hpp"
#include "events.hpp"

#include <algorithm>

extern "C" {
#include "../../src/core/growing_private.h"
}

namespace
{

enum : std::size_t { most = 64 };

struct runs {
    explicit runs(bool with_states, std::size_t max_blocks = 0)
    {
        egb_growing_options wanted = small_chunks(32);
        wanted.with_states         = with_states;
        wanted.max_blocks          = max_blocks;
        wanted.backing             = backing.get();
        EXPECT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    }

    ~runs()
    {
        egb_growing_destroy(&pool);
    }

    runs(const runs&)            = delete;
    runs& operator=(const runs&) = delete;

    std::vector<void*> take(std::size_t count)
    {
        void*             blocks[most] = {};
        const std::size_t taken        = egb_growing_take_run_(&pool, &chunk, blocks, count);
        EXPECT_LE(taken, count);
        EXPECT_TRUE(egb_growing_whole(&pool));
        return std::vector<void*>(blocks, blocks + taken);
    }

    void give(const std::vector<void*>& blocks)
    {
        egb_growing_put_run_(chunk, blocks.data(), blocks.size());
        EXPECT_TRUE(egb_growing_whole(&pool));
    }

    counting_backing backing;
    egb_growing      pool{};
    egb_chunk_*      chunk = nullptr;
};

std::vector<void*> sorted(std::vector<void*> blocks)
{
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

}  // namespace

TEST(growing_runs, are_of_one_chunk_fresh_or_recycled_and_come_back)
{
    for (const bool with_states : {false, true}) {
        runs all(with_states);
        EXPECT_TRUE(all.take(5).empty()) << "no chunk is made for a run";
        ASSERT_EQ(egb_growing_reserve(&all.pool, 1), EGB_OK);
        const std::size_t capacity = egb_growing_capacity(&all.pool);
        ASSERT_LT(capacity, std::size_t{most});
        EXPECT_TRUE(all.take(0).empty());
        const auto fresh = all.take(4);
        EXPECT_EQ(fresh.size(), 4u);
        EXPECT_EQ(egb_growing_in_use(&all.pool), 4u);
        all.give({fresh[1], fresh[3], &all});  // an address of no block is left alone
        EXPECT_EQ(egb_growing_in_use(&all.pool), 2u);
        EXPECT_EQ(sorted(all.take(most)), sorted({fresh[1], fresh[3]})) << "recycled ones alone";
        EXPECT_EQ(all.take(most).size(), capacity - 4);
        EXPECT_TRUE(all.take(1).empty());
        EXPECT_FALSE(egb_growing_has_free_(&all.pool));
        all.give({fresh[0]});
        EXPECT_TRUE(egb_growing_has_free_(&all.pool));
        EXPECT_EQ(all.take(1), std::vector<void*>{fresh[0]});
        all.give({});
    }
}

TEST(growing_runs, are_within_the_limit)
{
    for (const bool with_states : {false, true}) {
        runs all(with_states, 3);
        ASSERT_EQ(egb_growing_reserve(&all.pool, 1), EGB_OK);
        EXPECT_TRUE(all.take(4).empty());
        EXPECT_EQ(all.take(2).size(), 2u);
        EXPECT_TRUE(all.take(2).empty());
        EXPECT_TRUE(egb_growing_has_free_(&all.pool));
        EXPECT_EQ(all.take(1).size(), 1u);
        EXPECT_FALSE(egb_growing_has_free_(&all.pool));
    }
}

TEST(growing_runs, end_where_a_free_block_was_written_to)
{
    runs all(false);
    ASSERT_EQ(egb_growing_reserve(&all.pool, 1), EGB_OK);
    const auto blocks = all.take(6);
    all.give({blocks[0], blocks[1], blocks[2]});
    std::memset(blocks[1], 0xEE, 32);
    void* again[most] = {};
    EXPECT_EQ(egb_growing_take_run_(&all.pool, &all.chunk, again, 6), 1u);
    EXPECT_EQ(again[0], blocks[2]);
    EXPECT_EQ(egb_growing_take_run_(&all.pool, &all.chunk, again, 6), 0u) << "none is fresh now";
    events seen;
    EXPECT_NE(egb_growing_alloc(&all.pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
}

TEST(growing_runs, come_from_a_chunk_with_used_blocks_before_one_with_fresh_ones_alone)
{
    for (const bool with_states : {false, true}) {
        runs         all(with_states);
        egb_growing& pool = all.pool;
        const auto   next = [&] {
            return egb_growing_prefer_recycled_(&pool), pool.available;
        };
        EXPECT_EQ(next(), nullptr);
        ASSERT_EQ(egb_growing_reserve(&pool, 1), EGB_OK);
        egb_chunk_* const used = pool.available;
        EXPECT_EQ(next(), used) << "there is no other";
        ASSERT_EQ(egb_growing_reserve(&pool, egb_growing_capacity(&pool) + 1), EGB_OK);
        egb_chunk_* const fresh = used->next;
        ASSERT_NE(fresh, nullptr);
        EXPECT_EQ(next(), used) << "both have fresh blocks alone";
        const auto blocks = all.take(2);
        ASSERT_EQ(all.chunk, used);
        all.give(blocks);
        EXPECT_EQ(next(), used);
        egb_growing_prefer_(&pool, fresh);
        EXPECT_EQ(next(), with_states ? used : fresh);
        EXPECT_EQ(next(), with_states ? used : fresh) << "it stays so";
        EXPECT_TRUE(egb_growing_whole(&pool));
    }
}

TEST(growing_runs, short_blocks_are_marked_and_long_ones_left_alone)
{
    egb_growing_options wanted = small_chunks(EGB_UNMARKED_BYTES - 4);
    EXPECT_TRUE(egb_touches_free_(&wanted));
    wanted.with_states = true;
    EXPECT_TRUE(egb_touches_free_(&wanted));
    wanted.block_bytes = EGB_UNMARKED_BYTES;
    EXPECT_FALSE(egb_touches_free_(&wanted));
    wanted.with_states = false;
    EXPECT_TRUE(egb_touches_free_(&wanted)) << "a list has a link in each";
}

TEST(util, a_power_of_two_has_one_bit)
{
    EXPECT_FALSE(egb_is_power_of_two_(0));
    for (std::size_t number = 1; number < 300; number++) {
        std::size_t power = 1;
        while (power < number) {
            power *= 2;
        }
        EXPECT_EQ(egb_is_power_of_two_(number), power == number) << number;
    }
}

TEST(util, a_count_that_seems_to_shrink_grew_by_nothing)
{
    EXPECT_EQ(egb_since_(7, 3), 4u);
    EXPECT_EQ(egb_since_(3, 3), 0u);
    EXPECT_EQ(egb_since_(3, 7), 0u);
}

TEST(util, the_upper_bits_of_mixed_keys_differ)
{
    std::vector<std::uint64_t> seen;
    for (std::uint64_t key = 0; key < 256; key++) {
        seen.push_back(egb_mix_(key) >> 56);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_GT(seen.size(), 200u);
}

// A signal handler may meet a tree in the middle of a change.
TEST(range, a_search_in_a_circle_ends)
{
    char      memory[8] = {};
    egb_range one       = {memory + 4, 2, nullptr, nullptr};
    one.left            = &one;
    one.right           = &one;
    EXPECT_EQ(egb_range_find_(&one, memory), nullptr);
    EXPECT_EQ(egb_range_find_(&one, memory + 7), nullptr);
    EXPECT_EQ(egb_range_find_(&one, memory + 5), &one);
}

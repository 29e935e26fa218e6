// SPDX-License-Identifier: MIT
// The promises of pool.h, one thread at a time.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

TEST(pool, blocks_are_apart_aligned_and_come_back)
{
    for (const std::size_t bytes : {1u, 3u, 4u, 8u, 16u, 24u, 64u, 100u, 4096u, 100000u}) {
        events             unexpected;
        const guard        pool(make(bytes));
        std::vector<char*> blocks;
        std::set<char*>    different;
        for (int i = 0; i < 300; i++) {
            char* const block = static_cast<char*>(egb_pool_alloc(pool));
            ASSERT_NE(block, nullptr);
            std::size_t align = 16;
            while (bytes % align != 0) {
                align /= 2;
            }
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % align, 0u);
            std::memset(block, i, bytes);
            blocks.push_back(block);
            different.insert(block);
        }
        ASSERT_EQ(different.size(), 300u);
        EXPECT_EQ(stats_of(pool).in_use, 300u);
        for (int i = 0; i < 300; i++) {
            for (std::size_t j = 0; j < bytes; j++) {
                ASSERT_EQ(blocks[static_cast<std::size_t>(i)][j], static_cast<char>(i));
            }
            egb_pool_free(pool, blocks[static_cast<std::size_t>(i)]);
        }
        const egb_pool_stats after = stats_of(pool);
        EXPECT_EQ(after.in_use, 0u);
        EXPECT_EQ(after.allocations, 300u);
        EXPECT_EQ(after.frees, 300u);
    }
}

TEST(pool, a_limited_pool_gives_exactly_as_many)
{
    for (std::size_t limit = 1; limit < 200; limit += 7) {
        egb_pool_options options{};
        options.block_bytes = 32;
        options.max_blocks  = limit;
        const guard        pool(make(options));
        std::vector<void*> blocks;
        while (void* const block = egb_pool_alloc(pool)) {
            blocks.push_back(block);
        }
        EXPECT_EQ(blocks.size(), limit);
        EXPECT_EQ(stats_of(pool).failures, 1u);
        egb_pool_free_many(pool, blocks.data(), blocks.size());
    }
}

TEST(pool, every_misuse_is_refused_and_named)
{
    events      seen;
    const guard pool(make(48));
    const guard other(make(48));
    char*       block    = static_cast<char*>(egb_pool_alloc(pool));
    char* const stranger = static_cast<char*>(egb_pool_alloc(other));
    char        outside  = 0;

    egb_pool_free(pool, nullptr);
    ASSERT_TRUE(seen.none());
    egb_pool_free(pool, &outside);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_pool_free(pool, reinterpret_cast<void*>(~std::uintptr_t{15}));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_pool_free(pool, reinterpret_cast<void*>(std::uintptr_t{64}));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_pool_free(pool, stranger);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    for (int offset : {1, 2, 4, 8, 16, 47}) {
        egb_pool_free(pool, block + offset);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    }
    egb_pool_free(pool, block + 48 * 100);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    egb_pool_free(pool, block);
    std::memset(block, 0xE9, 48);
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_free(&outside);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    egb_free(stranger);
}

TEST(pool, a_stale_handle_is_noticed_by_every_call)
{
    events         seen;
    const egb_pool pool = make(64);
    void* const    out  = egb_pool_alloc(pool);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_BUSY);
    EXPECT_TRUE(egb_pool_alive(pool));
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);

    const guard next(make(64));  // in the same slot
    EXPECT_EQ(next.pool.slot, pool.slot);
    EXPECT_FALSE(egb_pool_alive(pool));
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_pool_free(pool, out);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_pool_stats stats;
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_STALE);
    EXPECT_EQ(egb_pool_get_subtree_stats(pool, &stats), EGB_STALE);
    EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_STALE);
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_STALE);
    egb_magazine cache;
    EXPECT_EQ(egb_magazine_open(&cache, pool), EGB_STALE);
    egb_pool_options child{};
    child.block_bytes = 8;
    child.parent      = pool;
    egb_pool none{};
    EXPECT_EQ(egb_pool_create(&none, &child), EGB_STALE);
    EXPECT_EQ(egb_pool_of(out).generation, 0u);
    EXPECT_EQ(egb_block_bytes(out), 0u);
}

TEST(pool, the_null_pool_has_no_blocks)
{
    events         seen;
    const egb_pool null{};
    EXPECT_FALSE(egb_pool_alive(null));
    EXPECT_EQ(egb_pool_alloc(null), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    int value = 0;
    egb_pool_free(null, &value);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_pool_destroy(null, EGB_DESTROY_FORCE), EGB_INVALID);
    EXPECT_EQ(egb_pool_reserve(null, 1), EGB_INVALID);
}

TEST(pool, budgets_hold_for_a_subtree_and_roll_up)
{
    egb_pool_options options{};
    options.block_bytes      = 1024;
    options.budget_bytes     = 1 << 20;
    const egb_pool top       = make(options);
    options.parent           = top;
    options.budget_bytes     = 0;
    const egb_pool     left  = make(options);
    const egb_pool     right = make(options);
    std::vector<void*> blocks;
    while (void* const block = egb_pool_alloc(left)) {
        blocks.push_back(block);
    }
    egb_pool_stats all{};
    ASSERT_EQ(egb_pool_get_subtree_stats(top, &all), EGB_OK);
    EXPECT_EQ(all.pools, 3u);
    EXPECT_LE(all.bytes_held, options.budget_bytes = 1 << 20);
    EXPECT_GT(all.bytes_held, (1u << 20) - 2 * 65536u);
    EXPECT_EQ(all.in_use, blocks.size());
    EXPECT_EQ(egb_pool_alloc(right), nullptr);
    EXPECT_EQ(egb_pool_reserve(right, 1), EGB_LIMIT);
    egb_pool_free_many(left, blocks.data(), blocks.size());
    EXPECT_GT(egb_pool_trim(left, 0), 0u);
    EXPECT_EQ(stats_of(left).bytes_held, 0u);
    void* const block = egb_pool_alloc(right);
    EXPECT_NE(block, nullptr);
    EXPECT_TRUE(egb_pool_is_ancestor(top, right));
    EXPECT_FALSE(egb_pool_is_ancestor(left, right));
    EXPECT_TRUE(egb_pool_is_ancestor(egb_pool{}, right));
    EXPECT_FALSE(egb_pool_is_ancestor(top, top));
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_BUSY);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_FALSE(egb_pool_alive(left));
    EXPECT_FALSE(egb_pool_alive(right));
}

TEST(pool, static_memory_is_all_there_is)
{
    alignas(64) static char memory[10000];
    for (std::size_t shift : {0u, 1u, 4u, 7u}) {
        egb_pool_options options{};
        options.block_bytes  = 64;
        options.memory       = memory + shift;
        options.memory_bytes = sizeof memory - shift;
        const guard        pool(make(options));
        std::vector<void*> blocks;
        while (void* const block = egb_pool_alloc(pool)) {
            ASSERT_GE(static_cast<char*>(block), memory);
            ASSERT_LE(static_cast<char*>(block) + 64, memory + sizeof memory);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
            blocks.push_back(block);
        }
        EXPECT_GT(blocks.size(), 145u);
        EXPECT_EQ(egb_pool_of(blocks[5]).slot, pool.pool.slot);
        EXPECT_EQ(egb_block_bytes(blocks[5]), 64u);
        for (void* block : blocks) {
            egb_free(block);
        }
    }
}

TEST(pool, an_owned_magazine_serves_and_gives_back)
{
    for (const char* level : {"check", "off"}) {
        egb_pool_options options{};
        options.block_bytes = 40;
        options.level       = level_named(level);
        const guard  pool(make(options));
        egb_magazine cache;
        ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
        std::vector<void*> blocks;
        for (int i = 0; i < 1000; i++) {
            blocks.push_back(egb_magazine_alloc(&cache));
            ASSERT_NE(blocks.back(), nullptr);
        }
        EXPECT_EQ(stats_of(pool).in_use, 1000u);
        for (void* block : blocks) {
            egb_magazine_free(&cache, block);
        }
        EXPECT_EQ(stats_of(pool).in_use, 0u);
        egb_magazine_close(&cache);
        EXPECT_EQ(stats_of(pool).in_use, 0u);
        EXPECT_EQ(stats_of(pool).allocations, 1000u);
        events seen;
        EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    }
}

TEST(pool, reserve_knows_the_free_blocks_in_magazines)
{
    events           unexpected;
    egb_pool_options options{};
    options.block_bytes = 64;
    options.max_blocks  = 100;
    const guard        pool(make(options));
    std::vector<void*> blocks(100);
    ASSERT_EQ(egb_pool_alloc_many(pool, blocks.data(), 100), 100u);
    EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_LIMIT);
    egb_pool_free_many(pool, blocks.data(), 100);
    EXPECT_EQ(egb_pool_reserve(pool, 100), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(pool, 101), EGB_LIMIT);
}

TEST(pool, a_budget_too_small_for_the_reserve_is_invalid_an_ancestors_a_limit)
{
    egb_pool         pool{};
    egb_pool_options options{};
    options.block_bytes    = 1024;
    options.reserve_blocks = 1000;
    options.budget_bytes   = 1000;
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_INVALID);
    egb_pool_options above{};
    above.block_bytes  = 8;
    above.budget_bytes = 1000;
    const guard parent(make(above));
    options.budget_bytes = 0;
    options.parent       = parent;
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_LIMIT);
    EXPECT_EQ(egb_pool_reserve(parent, 1), EGB_LIMIT);
}

TEST(pool, blocks_lost_to_a_write_after_free_are_not_in_use)
{
    events             seen;
    const guard        pool(make(64));
    std::vector<void*> blocks(20);
    ASSERT_EQ(egb_pool_alloc_many(pool, blocks.data(), 20), 20u);
    egb_pool_free_many(pool, blocks.data(), 19);
    EXPECT_EQ(egb_pool_trim(pool, SIZE_MAX / 2), 0u);  // out of the magazine, into the chunk
    std::memset(blocks[18], 0x11, 64);
    std::memset(blocks[10], 0x11, 64);
    std::vector<void*> held{blocks[19]};
    for (int i = 0; i < 18; i++) {
        held.push_back(egb_pool_alloc(pool));
    }
    EXPECT_EQ(seen.take_two(), std::make_pair(EGB_MISUSE_OVERWRITTEN, EGB_MISUSE_OVERWRITTEN));
    EXPECT_EQ(std::count(held.begin(), held.end(), blocks[18]), 0);
    EXPECT_EQ(std::count(held.begin(), held.end(), blocks[10]), 0);
    EXPECT_EQ(stats_of(pool).in_use, held.size());
    std::vector<void*> visited;
    egb_pool_each_block(
        pool,
        [](void* block, void* user) { static_cast<std::vector<void*>*>(user)->push_back(block); },
        &visited
    );
    std::sort(held.begin(), held.end());
    EXPECT_EQ(visited, held);
    give_all(pool, held);
}

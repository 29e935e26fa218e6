// SPDX-License-Identifier: MIT
// Reserve and trim, and the numbers at every step.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>

namespace
{

// The numbers of a pool without the free blocks in magazines, which a refused call may give back.
void expect_same(const egb_pool_stats& one, const egb_pool_stats& other)
{
    EXPECT_EQ(one.capacity, other.capacity);
    EXPECT_EQ(one.in_use, other.in_use);
    EXPECT_EQ(one.allocations, other.allocations);
    EXPECT_EQ(one.frees, other.frees);
    EXPECT_EQ(one.failures, other.failures);
    EXPECT_EQ(one.chunks, other.chunks);
    EXPECT_EQ(one.bytes_held, other.bytes_held);
}

}  // namespace

TEST(pool_memory, reserve_gets_what_is_missing_and_no_more_is_asked_for)
{
    for (const char* level : {"check", "off"}) {
        egb_pool_options options = options_for(100);
        options.level            = level_named(level);
        const guard pool(make(options));
        EXPECT_EQ(egb_pool_reserve(pool, 0), EGB_OK);
        EXPECT_EQ(stats_of(pool).chunks, 0u);
        for (const std::size_t blocks : {1u, 600u, 601u, 5000u}) {
            EXPECT_EQ(egb_pool_reserve(pool, blocks), EGB_OK);
            const egb_pool_stats before = stats_of(pool);
            EXPECT_GE(before.capacity - before.in_use, blocks);
            const std::vector<void*> taken = take_all(pool, blocks);
            EXPECT_EQ(taken.size(), blocks);
            EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
            give_all(pool, taken);
        }
        const egb_pool_stats before = stats_of(pool);
        EXPECT_EQ(egb_pool_reserve(pool, 5000), EGB_OK);  // they are there
        EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
    }
}

TEST(pool_memory, reserve_at_create)
{
    egb_pool_options options = options_for(100);
    options.reserve_blocks   = 3000;
    const guard          pool(make(options));
    const egb_pool_stats before = stats_of(pool);
    EXPECT_GE(before.capacity, 3000u);
    EXPECT_EQ(before.in_use + before.in_magazines + before.peak, 0u);
    EXPECT_GE(before.bytes_held, 300000u);
    // Up to the last block, although a magazine would like more.
    const std::vector<void*> blocks = take_all(pool, before.capacity);
    EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
    give_all(pool, blocks);
}

TEST(pool_memory, reserve_over_the_limit_changes_nothing)
{
    egb_pool_options options = options_for(100);
    options.max_blocks       = 1000;
    const guard              pool(make(options));
    const std::vector<void*> some   = take_all(pool, 300);
    const egb_pool_stats     before = stats_of(pool);
    for (const std::size_t blocks : {std::size_t{701}, SIZE_MAX, SIZE_MAX / 100}) {
        EXPECT_EQ(egb_pool_reserve(pool, blocks), EGB_LIMIT);
        expect_same(stats_of(pool), before);
    }
    EXPECT_EQ(egb_pool_reserve(pool, 700), EGB_OK);
    give_all(pool, some);
}

// Free blocks in magazines are free: the limit counts those in use.
TEST(pool_memory, reserve_counts_free_blocks_in_magazines_as_free)
{
    egb_pool_options options = options_for(100);
    options.max_blocks       = 1000;
    const guard pool(make(options));
    give_all(pool, take_all(pool));
    EXPECT_EQ(stats_of(pool).in_magazines > 0, has_magazines());
    EXPECT_EQ(egb_pool_reserve(pool, 1000), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(pool, 1001), EGB_LIMIT);

    egb_pool_options tight = options_for(100);
    tight.budget_bytes     = unit_bytes;
    const guard       small(make(tight));
    const std::size_t all = take_all(small).size();
    EXPECT_EQ(egb_pool_reserve(small, 1), EGB_LIMIT);
    std::vector<void*> held;
    egb_pool_each_block(
        small,
        [](void* block, void* to) { static_cast<std::vector<void*>*>(to)->push_back(block); },
        &held
    );
    EXPECT_EQ(held.size(), all);
    give_all(small, held);
    EXPECT_EQ(stats_of(small).in_magazines > 0, has_magazines());
    EXPECT_EQ(egb_pool_reserve(small, all), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(small, all + 1), EGB_LIMIT);
    EXPECT_EQ(stats_of(small).bytes_held, unit_bytes);
}

TEST(pool_memory, reserve_over_a_budget_is_all_or_nothing)
{
    egb_pool_options options = options_for(1000);
    options.budget_bytes     = 10 * unit_bytes;
    const guard              pool(make(options));
    const std::vector<void*> some   = take_all(pool, 10);
    const egb_pool_stats     before = stats_of(pool);
    EXPECT_EQ(egb_pool_reserve(pool, 1000), EGB_LIMIT);
    expect_same(stats_of(pool), before);
    EXPECT_EQ(egb_pool_reserve(pool, 550), EGB_OK);
    EXPECT_LE(stats_of(pool).bytes_held, options.budget_bytes);
    give_all(pool, some);
}

TEST(pool_memory, trim_gives_back_what_is_wholly_free)
{
    const guard pool(make(100));
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
    std::vector<void*> blocks = take_all(pool, 10000);
    const std::size_t  held   = stats_of(pool).bytes_held;
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);  // all chunks but the last have no free block
    give_all(pool, blocks);
    EXPECT_EQ(egb_pool_trim(pool, held), 0u);
    EXPECT_EQ(egb_pool_trim(pool, SIZE_MAX), 0u);
    EXPECT_EQ(stats_of(pool).in_magazines, 0u);
    for (std::size_t keep = held; keep > 0; keep = keep > unit_bytes ? keep - unit_bytes : 0) {
        const std::size_t before = stats_of(pool).bytes_held;
        const std::size_t given  = egb_pool_trim(pool, keep);
        EXPECT_EQ(stats_of(pool).bytes_held, before - given);
        EXPECT_GE(stats_of(pool).bytes_held, keep);
    }
    const std::size_t last = stats_of(pool).bytes_held;
    EXPECT_LT(last, held);
    EXPECT_EQ(egb_pool_trim(pool, 0), last);
    const egb_pool_stats after = stats_of(pool);
    EXPECT_EQ(
        after.bytes_held + after.capacity + after.chunks + after.in_magazines + after.in_use, 0u
    );
    EXPECT_EQ(after.allocations, 10000u);
    EXPECT_EQ(after.frees, 10000u);
    blocks = take_all(pool, 100);
    EXPECT_EQ(blocks.size(), 100u);
    give_all(pool, blocks);
}

TEST(pool_memory, live_blocks_survive_trim)
{
    for (const char* level : {"check", "off"}) {
        events           unexpected;
        egb_pool_options options = options_for(40);
        options.level            = level_named(level);
        const guard              pool(make(options));
        const std::vector<void*> blocks = take_all(pool, 30000);
        std::vector<void*>       kept;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (i % 5000 == 77) {
                fill(blocks[i], 40, i);
                kept.push_back(blocks[i]);
            } else {
                egb_pool_free(pool, blocks[i]);
            }
        }
        (void)egb_pool_trim(pool, 0);
        EXPECT_EQ(stats_of(pool).in_use, kept.size());
        EXPECT_EQ(stats_of(pool).in_magazines, 0u);
        give_all(pool, take_all(pool, 30000));
        for (std::size_t i = 0; i < kept.size(); i++) {
            EXPECT_TRUE(is_filled(kept[i], 40, 5000 * i + 77));
            EXPECT_TRUE(egb_pool_of(kept[i]) == pool.pool);
        }
        give_all(pool, kept);
        EXPECT_GT(egb_pool_trim(pool, 0), 0u);
        EXPECT_EQ(stats_of(pool).bytes_held, 0u);
    }
}

// A chunk that went and one that came at the same address know nothing of each other.
TEST(pool_memory, a_block_freed_after_its_chunk_went_is_foreign)
{
    events      seen;
    const guard pool(make(64));
    void* const block = egb_pool_alloc(pool);
    egb_pool_free(pool, block);
    EXPECT_EQ(egb_pool_trim(pool, 0), unit_bytes);
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_TRUE(egb_pool_of(block) == egb_pool{});
}

TEST(pool_memory, null_and_stale_pools)
{
    const egb_pool gone = make(8);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(gone, 0), EGB_STALE);
    EXPECT_EQ(egb_pool_reserve(egb_pool{}, 0), EGB_INVALID);
    EXPECT_EQ(egb_pool_trim(gone, 0), 0u);
    (void)egb_pool_trim(egb_pool{}, 0);  // left over from the pools of other tests
    EXPECT_EQ(egb_pool_trim(egb_pool{}, 0), 0u);
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_stats(egb_pool{}, &stats), EGB_INVALID);
    EXPECT_EQ(egb_pool_get_stats(gone, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_pool_get_stats(gone, &stats), EGB_STALE);
    EXPECT_EQ(egb_pool_get_subtree_stats(gone, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_pool{}, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_pool_get_subtree_stats(gone, &stats), EGB_STALE);
}

// After every alloc and every free, for blocks of all kinds: with full and short magazines, one per
// magazine, and none.
TEST(pool_memory, the_numbers_are_exact_after_every_step)
{
    for (const std::size_t bytes : {16u, 2000u, 30000u, 65536u, 65537u, 200000u}) {
        for (const char* level : {"check", "off"}) {
            egb_pool_options options = options_for(bytes);
            options.level            = level_named(level);
            options.max_blocks       = 300;
            const guard        pool(make(options));
            std::vector<void*> held;
            randoms            random(bytes);
            std::size_t        most = 0, taken = 0, refused = 0;
            for (int step = 0; step < 3000; step++) {
                const std::size_t percent = step / 1000 % 2 == 0 ? 80 : 20;
                if (random.below(100) < percent) {
                    void* const block = egb_pool_alloc(pool);
                    ASSERT_EQ(block == nullptr, held.size() == 300);
                    refused += block == nullptr;
                    taken += block != nullptr;
                    if (block != nullptr) {
                        held.push_back(block);
                    }
                } else if (!held.empty()) {
                    std::swap(held[random.below(held.size())], held.back());
                    egb_pool_free(pool, held.back());
                    held.pop_back();
                }
                most                       = std::max(most, held.size());
                const egb_pool_stats stats = stats_of(pool);
                ASSERT_EQ(stats.in_use, held.size());
                ASSERT_EQ(stats.allocations, taken);
                ASSERT_EQ(stats.frees, taken - held.size());
                ASSERT_EQ(stats.failures, refused);
                ASSERT_LE(stats.in_use + stats.in_magazines, stats.capacity);
                ASSERT_GE(stats.peak, most);
                const std::size_t per_batch =
                    std::min<std::size_t>(EGB_MAGAZINE_BLOCKS_MAX, EGB_MAGAZINE_BYTES_MAX / bytes);
                const bool is_exact = options.level == EGB_LEVEL_CHECK;
                ASSERT_LE(stats.peak, most + (is_exact ? 0 : per_batch));
                ASSERT_LE(stats.peak, 300u);
            }
            ASSERT_GT(refused, 0u);
            give_all(pool, held);
        }
    }
}

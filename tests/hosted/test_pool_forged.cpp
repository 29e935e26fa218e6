// SPDX-License-Identifier: MIT
// Handles that are no pool's, but lead to the place of a pool's magazine: the hot paths refuse them
// as every other call does.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <thread>

namespace
{

void expect_refused(egb_pool pool, void* block)
{
    SCOPED_TRACE(testing::Message() << "slot " << pool.slot << ", " << pool.generation);
    events         seen;
    egb_pool_stats stats;
    void*          out = nullptr;
    EXPECT_FALSE(egb_pool_alive(pool));
    EXPECT_FALSE(egb_pool_is_live(pool, block));
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(egb_pool_alloc_many(pool, &out, 1), 0u);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_pool_free_many(pool, &block, 1);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_STALE);
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_STALE);
    EXPECT_EQ(egb_pool_get_subtree_stats(pool, &stats), EGB_STALE);
    EXPECT_TRUE(egb_pool_parent(pool) == egb_pool{});
    EXPECT_FALSE(egb_pool_is_ancestor(egb_pool{}, pool));
    EXPECT_FALSE(egb_pool_is_ancestor(pool, egb_pool_of(block)));
    int visits = 0;
    egb_pool_each(pool, [](egb_pool, void* user) { ++*static_cast<int*>(user); }, &visits);
    egb_pool_each_block(pool, [](void*, void* user) { ++*static_cast<int*>(user); }, &visits);
    EXPECT_EQ(visits, 0);
    egb_magazine cache{};
    EXPECT_EQ(egb_magazine_open(&cache, pool), EGB_STALE);
    EXPECT_EQ(status_of(options_for(64, pool)), EGB_STALE);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_STALE);
}

std::vector<egb_pool> forged(egb_pool pool)
{
    std::vector<egb_pool> all;
    for (std::uint32_t bits = 1; bits <= EGB_SLOT_STEP_; bits++) {
        all.push_back({pool.slot ^ bits, pool.generation});
    }
    const std::uint32_t round = std::uint32_t{EGB_THREAD_MAGAZINES_} * EGB_SLOT_STEP_;
    for (const std::uint32_t slot :
         {pool.slot + round, pool.slot - round, pool.slot ^ 0x80000000u, UINT32_MAX}) {
        all.push_back({slot, pool.generation});
        all.push_back({slot, 0});
    }
    for (const std::uint32_t generation :
         {0u, pool.generation + 1, pool.generation ^ 0x80000000u}) {
        all.push_back({pool.slot, generation});
        all.push_back({pool.slot ^ EGB_SLOT_CHECKED_, generation});
    }
    return all;
}

}  // namespace

// Each time with a block that was taken last, so that the magazine would undo it.
TEST(pool_forged, handles_that_differ_in_any_bit_are_refused_by_every_call)
{
    for (const char* const level : {"check", "off"}) {
        egb_pool_options options = options_for(64);
        options.level            = level_named(level);
        const guard              pool(make(options));
        const std::vector<void*> blocks = take_all(pool, 3);
        for (const egb_pool wrong : forged(pool)) {
            expect_refused(wrong, blocks.back());
        }
        EXPECT_EQ(stats_of(pool).in_use, 3u);
        EXPECT_EQ(stats_of(pool).allocations, 3u);
        give_all(pool, blocks);
    }
}

namespace
{

// More pools than a thread has places for magazines: the first and the last share one.
std::vector<egb_pool> one_more_than_there_are_places()
{
    std::vector<egb_pool> pools;
    for (int i = 0; i <= EGB_THREAD_MAGAZINES_; i++) {
        pools.push_back(make(64));
    }
    return pools;
}

void destroy_all(const std::vector<egb_pool>& pools)
{
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

}  // namespace

TEST(pool_forged, pools_that_share_a_place_do_not_share_blocks)
{
    events                      seen;
    const std::vector<egb_pool> pools = one_more_than_there_are_places();
    const egb_pool              first = pools.front();
    const egb_pool              last  = pools.back();
    for (int i = 0; i < 70; i++) {
        void* const one   = egb_pool_alloc(first);
        void* const other = egb_pool_alloc(last);
        egb_pool_free(first, other);
        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
        egb_pool_free(last, one);
        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
        egb_pool_free(last, other);
        egb_pool_free(last, other);
        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        egb_pool_free(first, one);
        egb_pool_free(first, one);
        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    }
    destroy_all(pools);
}

// The handle whose two halves are what a magazine without a pool has, at the only place where it
// looks for one: while a pool is there, when it was destroyed by another thread, and when by this
// one.
TEST(pool_forged, no_handle_leads_to_a_magazine_that_is_no_pools)
{
    std::vector<egb_pool> pools = one_more_than_there_are_places();
    const auto            last  = std::find_if(pools.begin(), pools.end(), [](egb_pool pool) {
        return (pool.slot / EGB_SLOT_STEP_ + 1) % EGB_THREAD_MAGAZINES_ == 0;
    });
    ASSERT_NE(last, pools.end());
    void* const left = egb_pool_alloc(*last);
    expect_refused({UINT32_MAX, 0}, left);
    EXPECT_EQ(stats_of(*last).in_use, 1u);
    std::thread([&] { EXPECT_EQ(egb_pool_destroy(*last, EGB_DESTROY_FORCE), EGB_OK); }).join();
    expect_refused({UINT32_MAX, 0}, left);
    egb_pool_free(pools.front(), egb_pool_alloc(pools.front()));  // lets go of the magazine
    expect_refused({UINT32_MAX, 0}, left);
    pools.erase(last);
    destroy_all(pools);
}

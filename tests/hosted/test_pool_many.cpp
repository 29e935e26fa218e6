// SPDX-License-Identifier: MIT
// Many blocks in one call, each as if it had been alone.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <set>

TEST(pool_many, null_and_nothing_have_no_effect)
{
    events      unexpected;
    const guard pool(make(16));
    void*       out[4] = {};
    EXPECT_EQ(egb_pool_alloc_many(pool, nullptr, 4), 0u);
    EXPECT_EQ(egb_pool_alloc_many(pool, out, 0), 0u);
    EXPECT_EQ(out[0], nullptr);
    egb_pool_free_many(pool, nullptr, 4);
    egb_pool_free_many(pool, out, 0);
    egb_pool_free_many(pool, out, 4);  // four times NULL
    EXPECT_EQ(stats_of(pool).allocations, 0u);
    EXPECT_EQ(stats_of(pool).frees, 0u);
    EXPECT_EQ(stats_of(pool).failures, 0u);
}

TEST(pool_many, a_limited_pool_gives_a_part)
{
    for (const char* level : {"check", "off"}) {
        egb_pool_options options = options_for(40);
        options.max_blocks       = 100;
        options.level            = level_named(level);
        const guard        pool(make(options));
        std::vector<void*> blocks(150, nullptr);
        EXPECT_EQ(egb_pool_alloc_many(pool, blocks.data(), 60), 60u);
        EXPECT_EQ(egb_pool_alloc_many(pool, blocks.data() + 60, 60), 40u);
        EXPECT_EQ(blocks[100], nullptr);
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.begin() + 100).size(), 100u);
        EXPECT_EQ(stats_of(pool).failures, 1u);
        EXPECT_EQ(egb_pool_alloc_many(pool, blocks.data() + 100, 1), 0u);
        EXPECT_EQ(stats_of(pool).failures, 2u);
        EXPECT_EQ(stats_of(pool).allocations, 100u);
        egb_pool_free_many(pool, blocks.data(), 150);
        EXPECT_EQ(stats_of(pool).frees, 100u);
        EXPECT_EQ(stats_of(pool).in_use, 0u);
    }
}

TEST(pool_many, what_is_wrong_in_a_batch_is_refused_one_by_one)
{
    events      seen;
    const guard pool(make(48));
    const guard other(make(48));
    char* const one      = static_cast<char*>(egb_pool_alloc(pool));
    char* const two      = static_cast<char*>(egb_pool_alloc(pool));
    void* const stranger = egb_pool_alloc(other);
    char        outside  = 0;

    void* const twice[] = {one, one};
    egb_pool_free_many(pool, twice, 2);
    const egb_misuse_event event = seen.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(event.address, one);
    EXPECT_EQ(stats_of(pool).in_use, 1u);
    void* const           wrong[][1] = {{stranger}, {&outside}, {two + 1}, {one}};
    const egb_misuse_kind kinds[]    = {
        EGB_MISUSE_WRONG_POOL, EGB_MISUSE_FOREIGN, EGB_MISUSE_INTERIOR, EGB_MISUSE_DOUBLE_FREE
    };
    for (int i = 0; i < 4; i++) {
        egb_pool_free_many(pool, wrong[i], 1);
        EXPECT_EQ(seen.take_kind(), kinds[i]);
    }
    EXPECT_EQ(stats_of(pool).frees, 1u);
    void* const mixed[] = {nullptr, two, two + 4, nullptr};
    egb_pool_free_many(pool, mixed, 4);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    egb_free(stranger);
}

TEST(pool_many, stale_and_null_pools_are_named_for_each)
{
    events         seen;
    const egb_pool gone = make(16);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    void* out[2] = {};
    EXPECT_EQ(egb_pool_alloc_many(gone, out, 2), 0u);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(egb_pool_alloc_many(egb_pool{}, out, 2), 0u);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    int         value    = 0;
    void* const blocks[] = {&value, nullptr};
    egb_pool_free_many(gone, blocks, 2);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    egb_pool_free_many(egb_pool{}, blocks, 2);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
}

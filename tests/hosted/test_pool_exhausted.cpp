// SPDX-License-Identifier: MIT
// on_exhausted may give up, free blocks, make and end pools, trim, and end its own pool.
#include "events.hpp"
#include "pools.hpp"

#include <functional>

namespace
{

// A function object as on_exhausted, and how often it was called.
struct helper {
    std::function<egb_exhausted(egb_pool)> what;
    int                                    calls = 0;

    static egb_exhausted call(egb_pool pool, void* user)
    {
        auto& self = *static_cast<helper*>(user);
        self.calls++;
        return self.what(pool);
    }
};

egb_pool make_limited(helper& with, std::size_t max_blocks, std::size_t block_bytes = 64)
{
    egb_pool_options options = options_for(block_bytes);
    options.max_blocks       = max_blocks;
    options.on_exhausted     = helper::call;
    options.user             = &with;
    return make(options);
}

}  // namespace

TEST(pool_exhausted, fail_is_null_and_one_failure)
{
    helper with;
    with.what = [](egb_pool) {
        return EGB_EXHAUSTED_FAIL;
    };
    const guard              pool(make_limited(with, 5));
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(blocks.size(), 5u);
    EXPECT_EQ(with.calls, 1);
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    EXPECT_EQ(with.calls, 2);
    EXPECT_EQ(stats_of(pool).failures, 2u);
    EXPECT_EQ(stats_of(pool).allocations, 5u);
    give_all(pool, blocks);
}

TEST(pool_exhausted, retry_after_a_free_gets_the_block_and_counts_no_failure)
{
    for (const std::size_t bytes : {64u, 100000u}) {  // with magazines, and without
        helper             with;
        std::vector<void*> blocks;
        egb_pool           seen{};
        with.what = [&](egb_pool pool) {
            seen = pool;
            egb_pool_free(pool, blocks.back());
            blocks.pop_back();
            return EGB_EXHAUSTED_RETRY;
        };
        const guard pool(make_limited(with, 3, bytes));
        blocks            = take_all(pool, 3);
        void* const there = blocks.back();
        void* const block = egb_pool_alloc(pool);
        EXPECT_EQ(block, there);
        EXPECT_TRUE(seen == pool.pool);
        EXPECT_EQ(with.calls, 1);
        EXPECT_EQ(stats_of(pool).failures, 0u);
        EXPECT_EQ(stats_of(pool).in_use, 3u);
        EXPECT_EQ(stats_of(pool).allocations, 4u);
        blocks.push_back(block);
        give_all(pool, blocks);
    }
}

TEST(pool_exhausted, several_retries_until_it_gives_up)
{
    helper with;
    with.what = [&](egb_pool) {
        return with.calls < 7 ? EGB_EXHAUSTED_RETRY : EGB_EXHAUSTED_FAIL;
    };
    const guard              pool(make_limited(with, 2));
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(with.calls, 7);
    EXPECT_EQ(stats_of(pool).failures, 1u);
    give_all(pool, blocks);
}

// No lock is held, so every call works there.
TEST(pool_exhausted, it_may_use_any_pool)
{
    helper             with;
    std::vector<void*> blocks;
    const guard        other(make(32));
    with.what = [&](egb_pool pool) {
        const egb_pool below = make(24, pool);
        void* const    block = egb_pool_alloc(below);
        EXPECT_NE(block, nullptr);
        EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_FORCE), EGB_OK);
        give_all(other, take_all(other, 100));
        EXPECT_GT(egb_pool_trim(other, 0), 0u);
        EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
        EXPECT_EQ(stats_of(pool).in_use, 4u);
        EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_LIMIT);
        EXPECT_EQ(subtree_of(egb_pool{}).pools, 2u);
        give_all(pool, blocks);
        return EGB_EXHAUSTED_RETRY;
    };
    const guard pool(make_limited(with, 4));
    blocks            = take_all(pool, 4);
    void* const block = egb_pool_alloc(pool);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(with.calls, 1);
    egb_pool_free(pool, block);
}

// The inner alloc of the same pool calls on_exhausted again: the depth is the caller's business.
TEST(pool_exhausted, it_may_allocate_from_the_same_pool)
{
    helper with;
    with.what = [&](egb_pool pool) {
        if (with.calls == 1) {
            EXPECT_EQ(egb_pool_alloc(pool), nullptr);
        }
        return EGB_EXHAUSTED_FAIL;
    };
    const guard pool(make_limited(with, 2));
    give_all(pool, take_all(pool));
    EXPECT_EQ(with.calls, 2);
    EXPECT_EQ(stats_of(pool).failures, 2u);
}

TEST(pool_exhausted, it_may_destroy_the_very_pool)
{
    for (const egb_exhausted answer : {EGB_EXHAUSTED_FAIL, EGB_EXHAUSTED_RETRY}) {
        for (const bool is_replaced : {false, true}) {
            events   seen;
            helper   with;
            egb_pool next{};
            with.what = [&](egb_pool pool) {
                EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
                if (is_replaced) {
                    next = make(64);
                    EXPECT_EQ(next.slot, pool.slot);
                }
                return answer;
            };
            const egb_pool pool = make_limited(with, 3);
            EXPECT_EQ(take_all(pool).size(), 3u);
            EXPECT_EQ(with.calls, 1);
            if (answer == EGB_EXHAUSTED_RETRY) {
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
            }
            if (is_replaced) {
                EXPECT_EQ(stats_of(next).failures, 0u);
                EXPECT_EQ(egb_pool_destroy(next, EGB_DESTROY_REFUSE), EGB_OK);
            }
        }
    }
}

TEST(pool_exhausted, it_is_asked_for_budgets_and_caches_too)
{
    helper           with;
    egb_pool_options options = options_for(1000);
    options.budget_bytes     = unit_bytes;
    options.on_exhausted     = helper::call;
    options.user             = &with;
    with.what                = [](egb_pool) {
        return EGB_EXHAUSTED_FAIL;
    };
    const guard              pool(make(options));
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(blocks.size(), stats_of(pool).capacity);
    EXPECT_EQ(with.calls, 1);
    egb_magazine cache;
    ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
    EXPECT_EQ(with.calls, 2);
    EXPECT_EQ(egb_pool_alloc_many(pool, std::vector<void*>(3).data(), 3), 0u);
    EXPECT_EQ(with.calls, 3);
    EXPECT_EQ(stats_of(pool).failures, 3u);
    egb_magazine_close(&cache);
    give_all(pool, blocks);
}

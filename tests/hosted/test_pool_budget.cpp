// SPDX-License-Identifier: MIT
// Budgets: what a subtree may hold, exact at every level.
#include "events.hpp"
#include "pools.hpp"

namespace
{

egb_pool make_with_budget(std::size_t units, egb_pool parent, std::size_t block_bytes = 1000)
{
    egb_pool_options options = options_for(block_bytes, parent);
    options.budget_bytes     = units * unit_bytes;
    return make(options);
}

}  // namespace

TEST(pool_budget, held_bytes_roll_up_through_three_levels)
{
    const egb_pool top     = make_with_budget(40, {});
    const egb_pool middle  = make_with_budget(30, top);
    const egb_pool low     = make_with_budget(20, middle);
    const egb_pool pools[] = {top, middle, low};
    for (int i = 0; i < 3; i++) {
        std::size_t below = 0;
        for (int j = i; j < 3; j++) {
            below += stats_of(pools[j]).bytes_held;
        }
        EXPECT_EQ(subtree_of(pools[i]).bytes_held, below);
    }
    const std::vector<void*> in_low = take_all(low);
    EXPECT_EQ(subtree_of(low).bytes_held, 20 * unit_bytes);
    const std::vector<void*> in_middle = take_all(middle);
    EXPECT_EQ(stats_of(middle).bytes_held, 10 * unit_bytes);
    const std::vector<void*> in_top = take_all(top);
    EXPECT_EQ(stats_of(top).bytes_held, 10 * unit_bytes);
    EXPECT_EQ(subtree_of(top).bytes_held, 40 * unit_bytes);
    EXPECT_EQ(subtree_of(middle).bytes_held, 30 * unit_bytes);
    EXPECT_EQ(subtree_of(top).in_use, in_low.size() + in_middle.size() + in_top.size());
    EXPECT_EQ(subtree_of(top).pools, 3u);
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_alloc(pool), nullptr);
        EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_LIMIT);
    }
    // Each of the others can use the memory that the lowest pool gives back.
    give_all(low, in_low);
    EXPECT_EQ(egb_pool_trim(low, 0), 20 * unit_bytes);
    EXPECT_EQ(subtree_of(top).bytes_held, 20 * unit_bytes);
    const std::vector<void*> more = take_all(middle);
    EXPECT_EQ(stats_of(middle).bytes_held, 30 * unit_bytes);
    EXPECT_EQ(egb_pool_alloc(low), nullptr);
    EXPECT_EQ(egb_pool_alloc(top), nullptr);
    EXPECT_EQ(egb_pool_destroy(middle, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(subtree_of(top).bytes_held, 10 * unit_bytes);
    const std::vector<void*> last = take_all(top);
    EXPECT_EQ(stats_of(top).bytes_held, 40 * unit_bytes);
    EXPECT_GT(more.size() + last.size(), 40u);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(subtree_of(egb_pool{}).bytes_held, 0u);
}

TEST(pool_budget, siblings_compete_for_it)
{
    const egb_pool     top   = make_with_budget(8, {});
    const egb_pool     left  = make(1000, top);
    const egb_pool     right = make(1000, top);
    std::vector<void*> of_left, of_right;
    bool               is_full = false;
    while (!is_full) {
        is_full = true;
        for (const bool is_left : {true, false}) {
            void* const block = egb_pool_alloc(is_left ? left : right);
            if (block != nullptr) {
                (is_left ? of_left : of_right).push_back(block);
                is_full = false;
            }
        }
    }
    EXPECT_EQ(subtree_of(top).bytes_held, 8 * unit_bytes);
    EXPECT_EQ(stats_of(left).in_use, stats_of(left).capacity);
    EXPECT_EQ(stats_of(right).in_use, stats_of(right).capacity);
    give_all(left, of_left);
    EXPECT_EQ(egb_pool_alloc(right), nullptr);  // the left pool keeps its free memory
    const std::size_t given = egb_pool_trim(left, 0);
    EXPECT_GT(given, 0u);
    const std::size_t before = stats_of(right).bytes_held;
    take_all(right);
    EXPECT_EQ(stats_of(right).bytes_held, before + given);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_FORCE), EGB_OK);
}

// A budget that no chunk fits in, and each size around whole units.
TEST(pool_budget, it_is_never_exceeded_and_used_up_to_the_last_unit)
{
    for (std::size_t bytes = 1; bytes < 6 * unit_bytes; bytes += 8191) {
        egb_pool_options options = options_for(200);
        options.budget_bytes     = bytes;
        const guard              pool(make(options));
        const std::vector<void*> blocks = take_all(pool);
        EXPECT_EQ(stats_of(pool).bytes_held, bytes / unit_bytes * unit_bytes);
        EXPECT_EQ(blocks.empty(), bytes < unit_bytes);
        give_all(pool, blocks);
    }
}

TEST(pool_budget, destroy_and_failed_creates_give_it_back)
{
    const guard top(make_with_budget(4, {}));
    for (int i = 0; i < 100; i++) {
        egb_pool_options options = options_for(1000, top);
        options.reserve_blocks   = 200;
        const egb_pool below     = make(options);
        EXPECT_EQ(subtree_of(top).bytes_held, 4 * unit_bytes);
        EXPECT_EQ(status_of(options_for(1000, top)), EGB_OK);
        options.reserve_blocks = 1;
        EXPECT_EQ(status_of(options), EGB_LIMIT);
        // A thread's magazine may outlive the pool, the charge may not.
        EXPECT_NE(egb_pool_alloc(below), nullptr);
        egb_magazine cache;
        ASSERT_EQ(egb_magazine_open(&cache, below), EGB_OK);
        EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_FORCE), EGB_OK);
        EXPECT_EQ(subtree_of(top).bytes_held, 0u);
        egb_magazine_close(&cache);
        EXPECT_EQ(subtree_of(top).bytes_held, 0u);
    }
    const std::vector<void*> blocks = take_all(top);
    EXPECT_EQ(stats_of(top).bytes_held, 4 * unit_bytes);
    give_all(top, blocks);
}

// A pool that has left the tree charges its former ancestors no more, whenever its memory goes.
TEST(pool_budget, memory_that_goes_late_is_not_given_back_twice)
{
    const guard    top(make_with_budget(4, {}));
    const egb_pool below = make(1000, top);
    egb_magazine   cache;
    ASSERT_EQ(egb_magazine_open(&cache, below), EGB_OK);
    EXPECT_NE(egb_magazine_alloc(&cache), nullptr);
    EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_FORCE), EGB_OK);
    const std::vector<void*> blocks = take_all(top);  // the charge went at once
    EXPECT_EQ(stats_of(top).bytes_held, 4 * unit_bytes);
    egb_magazine_close(&cache);
    EXPECT_EQ(egb_pool_alloc(top), nullptr);
    EXPECT_EQ(egb_pool_reserve(top, 1), EGB_LIMIT);
    give_all(top, blocks);
}

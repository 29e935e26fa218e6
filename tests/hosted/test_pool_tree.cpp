// SPDX-License-Identifier: MIT
// The tree of pools: ancestors, walks, and the end of subtrees.
#include "events.hpp"
#include "pools.hpp"

#include <algorithm>

extern "C" egb_status destroy_somehow(egb_pool pool);  // with an unknown `how`

namespace
{

void collect(egb_pool pool, void* user)
{
    static_cast<std::vector<egb_pool>*>(user)->push_back(pool);
}

std::vector<egb_pool> each(egb_pool root)
{
    std::vector<egb_pool> seen;
    egb_pool_each(root, collect, &seen);
    return seen;
}

bool has(const std::vector<egb_pool>& pools, egb_pool wanted)
{
    return std::count(pools.begin(), pools.end(), wanted) == 1;
}

}  // namespace

TEST(pool_tree, walks_see_each_pool_once_and_parents_first)
{
    std::vector<egb_pool> pools, parents;
    randoms               random(7);
    for (std::size_t i = 0; i < 300; i++) {
        const std::size_t above = random.below(i + 1);
        parents.push_back(above == i ? egb_pool{} : pools[above]);
        pools.push_back(make(8 + i, parents.back()));
    }
    const auto is_above = [&](egb_pool above, egb_pool below) {  // by the model
        while (below != egb_pool{}) {
            const auto at = std::find(pools.begin(), pools.end(), below) - pools.begin();
            below         = parents[static_cast<std::size_t>(at)];
            if (below == above) {
                return true;
            }
        }
        return false;
    };
    const std::vector<egb_pool> all = each(egb_pool{});
    EXPECT_EQ(all.size(), 300u);
    for (std::size_t i = 0; i < pools.size(); i++) {
        ASSERT_TRUE(has(all, pools[i]));
        ASSERT_TRUE(egb_pool_parent(pools[i]) == parents[i]);
        ASSERT_TRUE(egb_pool_is_ancestor(egb_pool{}, pools[i]));
        ASSERT_FALSE(egb_pool_is_ancestor(pools[i], egb_pool{}));
        ASSERT_FALSE(egb_pool_is_ancestor(pools[i], pools[i]));
        const std::vector<egb_pool> below = each(pools[i]);
        ASSERT_TRUE(below.front() == pools[i]);
        ASSERT_EQ(subtree_of(pools[i]).pools, below.size());
        std::size_t count = 1;
        for (const egb_pool other : pools) {
            const bool is_below = is_above(pools[i], other);
            ASSERT_EQ(egb_pool_is_ancestor(pools[i], other), is_below);
            ASSERT_EQ(has(below, other), is_below || other == pools[i]);
            count += is_below;
        }
        ASSERT_EQ(below.size(), count);
        const auto self   = std::find(all.begin(), all.end(), pools[i]);
        const auto parent = std::find(all.begin(), all.end(), parents[i]);
        ASSERT_TRUE(parents[i] == egb_pool{} || parent < self);
    }
    for (const egb_pool pool : all) {
        if (egb_pool_parent(pool) == egb_pool{} && egb_pool_alive(pool)) {
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
        }
    }
    EXPECT_TRUE(each(egb_pool{}).empty());
}

TEST(pool_tree, null_and_stale_handles)
{
    const guard    there(make(8));
    const egb_pool gone = make(8, there);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_TRUE(each(gone).empty());
    EXPECT_EQ(each(there).size(), 1u);
    egb_pool_each(there, nullptr, nullptr);
    EXPECT_TRUE(egb_pool_parent(gone) == egb_pool{});
    EXPECT_TRUE(egb_pool_parent(egb_pool{}) == egb_pool{});
    EXPECT_FALSE(egb_pool_is_ancestor(there, gone));
    EXPECT_FALSE(egb_pool_is_ancestor(gone, there));
    EXPECT_FALSE(egb_pool_is_ancestor(gone, gone));
    EXPECT_FALSE(egb_pool_is_ancestor(egb_pool{}, gone));
    EXPECT_FALSE(egb_pool_is_ancestor(egb_pool{}, egb_pool{}));
    EXPECT_FALSE(egb_pool_is_ancestor(there, egb_pool{}));
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_STALE);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_FORCE), EGB_STALE);
    EXPECT_EQ(egb_pool_destroy(egb_pool{}, EGB_DESTROY_FORCE), EGB_INVALID);
    EXPECT_EQ(egb_pool_destroy(egb_pool{}, EGB_DESTROY_REFUSE), EGB_INVALID);
    EXPECT_EQ(destroy_somehow(there), EGB_INVALID);
    EXPECT_TRUE(egb_pool_alive(there));
    EXPECT_FALSE(egb_pool_alive(gone));
    EXPECT_FALSE(egb_pool_alive(egb_pool{}));
}

// One block anywhere below, with and without magazines in between, and nothing has changed.
TEST(pool_tree, busy_changes_nothing)
{
    for (const std::size_t where : {0u, 1u, 2u, 3u}) {
        for (const std::size_t bytes : {64u, 100000u}) {
            const egb_pool top     = make(bytes);
            const egb_pool left    = make(bytes, top);
            const egb_pool right   = make(bytes, top);
            const egb_pool low     = make(bytes, left);
            const egb_pool pools[] = {top, left, right, low};
            for (const egb_pool pool : pools) {
                give_all(pool, take_all(pool, 10));
            }
            void* const block = egb_pool_alloc(pools[where]);
            fill(block, bytes, 5);
            egb_pool_stats before[4];
            for (int i = 0; i < 4; i++) {
                before[i] = stats_of(pools[i]);
            }
            EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_BUSY);
            for (int i = 0; i < 4; i++) {
                egb_pool_stats after = stats_of(pools[i]);
                after.in_magazines   = before[i].in_magazines;  // magazines may have been emptied
                EXPECT_EQ(std::memcmp(&after, &before[i], sizeof after), 0);
            }
            EXPECT_EQ(each(top).size(), 4u);
            EXPECT_TRUE(is_filled(block, bytes, 5));
            egb_free(block);
            EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_OK);
            for (const egb_pool pool : pools) {
                EXPECT_FALSE(egb_pool_alive(pool));
            }
        }
    }
}

TEST(pool_tree, a_subtree_goes_and_the_rest_stays)
{
    const egb_pool        top = make(16);
    std::vector<egb_pool> children;
    for (int i = 0; i < 5; i++) {
        children.push_back(make(16, top));
        (void)make(16, children.back());
        EXPECT_NE(egb_pool_alloc(each(children.back()).back()), nullptr);
    }
    std::size_t left = 11;
    for (const std::size_t i : {2u, 0u, 4u, 1u, 3u}) {  // from the middle and from both ends
        const std::vector<egb_pool> going = each(children[i]);
        EXPECT_EQ(going.size(), 2u);
        EXPECT_EQ(egb_pool_destroy(children[i], EGB_DESTROY_REFUSE), EGB_BUSY);
        EXPECT_EQ(egb_pool_destroy(children[i], EGB_DESTROY_FORCE), EGB_OK);
        left -= 2;
        EXPECT_EQ(each(top).size(), left);
        EXPECT_EQ(subtree_of(top).pools, left);
        EXPECT_FALSE(egb_pool_alive(going[0]) || egb_pool_alive(going[1]));
    }
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(pool_tree, a_deep_tree)
{
    std::vector<egb_pool> line;
    for (int i = 0; i < 2000; i++) {
        line.push_back(make(8, line.empty() ? egb_pool{} : line.back()));
    }
    EXPECT_TRUE(egb_pool_is_ancestor(line.front(), line.back()));
    EXPECT_FALSE(egb_pool_is_ancestor(line.back(), line.front()));
    EXPECT_EQ(each(line.front()).size(), 2000u);
    void* const block = egb_pool_alloc(line.back());
    EXPECT_EQ(subtree_of(line.front()).in_use, 1u);
    EXPECT_EQ(egb_pool_destroy(line.front(), EGB_DESTROY_REFUSE), EGB_BUSY);
    egb_pool_free(line.back(), block);
    EXPECT_EQ(egb_pool_destroy(line.front(), EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_FALSE(egb_pool_alive(line.back()));
}

// All pools, or a subtree: every number is the sum, and a number without a sum is the root's.
TEST(pool_tree, numbers_of_a_subtree_are_sums)
{
    egb_pool_options options  = options_for(24);
    options.name              = "top";
    options.max_blocks        = 500;
    options.budget_bytes      = 1 << 24;
    const egb_pool        top = make(options);
    std::vector<egb_pool> pools{top};
    for (std::size_t i = 1; i < 6; i++) {
        pools.push_back(make(100 * i, pools[i / 2]));
        EXPECT_EQ(take_all(pools.back(), 30 * i).size(), 30 * i);
    }
    EXPECT_EQ(take_all(top).size(), 500u);
    egb_pool_stats sum = stats_of(top);
    for (std::size_t i = 1; i < 6; i++) {
        const egb_pool_stats one = stats_of(pools[i]);
        sum.pools += one.pools;
        sum.capacity += one.capacity;
        sum.in_use += one.in_use;
        sum.in_magazines += one.in_magazines;
        sum.peak += one.peak;
        sum.allocations += one.allocations;
        sum.frees += one.frees;
        sum.failures += one.failures;
        sum.chunks += one.chunks;
        sum.bytes_held += one.bytes_held;
    }
    const egb_pool_stats below = subtree_of(top);
    EXPECT_EQ(std::memcmp(&below, &sum, sizeof sum), 0);
    const egb_pool_stats all = subtree_of(egb_pool{});
    EXPECT_EQ(all.pools, 6u);
    EXPECT_EQ(all.in_use, below.in_use);
    EXPECT_EQ(all.block_bytes + all.stride_bytes + all.max_blocks + all.budget_bytes, 0u);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_FORCE), EGB_OK);
}

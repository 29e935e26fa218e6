// SPDX-License-Identifier: MIT
// Level "passthrough": each block is one of the C library's malloc, and handles, trees, budgets and
// numbers are as at other levels.
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "environment.hpp"
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <cstdlib>
#include <random>
#include <set>
#include <thread>

namespace
{

egb_pool_options passed(std::size_t block_bytes, egb_pool parent = {})
{
    egb_pool_options options = options_for(block_bytes, parent);
    options.level            = EGB_LEVEL_PASSTHROUGH;
    return options;
}

class passthrough : public testing::Test
{
  protected:
    void SetUp() override
    {
        egb_pool         pool    = {};
        egb_pool_options options = passed(8);
        if (egb_pool_create(&pool, &options) == EGB_UNSUPPORTED) {
            GTEST_SKIP() << "there is no malloc to pass requests on to";
        }
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
};

}  // namespace

TEST_F(passthrough, blocks_are_known_by_their_address_alone)
{
    const events unexpected;
    const guard  pool(make(passed(100)));
    const guard  other(make(passed(50)));
    void* const  block = egb_pool_alloc(pool);
    void* const  small = egb_pool_alloc(other);
    EXPECT_EQ(egb_pool_of(block), pool);
    EXPECT_EQ(egb_pool_of(small), other);
    EXPECT_EQ(egb_block_bytes(block), 100u);
    EXPECT_TRUE(egb_pool_is_live(pool, block));
    EXPECT_FALSE(egb_pool_is_live(other, block));
    EXPECT_FALSE(egb_pool_is_live(pool, static_cast<char*>(block) + 1));
    EXPECT_EQ(egb_block_check(block), EGB_OK);
    egb_free(block);
    egb_free(small);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    EXPECT_EQ(stats_of(other).in_use, 0u);
}

TEST_F(passthrough, a_block_of_another_pool_is_refused)
{
    events      seen;
    const guard pool(make(passed(100)));
    const guard other(make(passed(100)));
    const guard plain(make(100));
    void* const block = egb_pool_alloc(pool);
    void* const usual = egb_pool_alloc(plain);
    egb_pool_free(other, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    egb_pool_free(other, usual);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    egb_pool_free(plain, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    EXPECT_EQ(stats_of(pool).in_use, 1u);
    egb_free(block);
    egb_free(usual);
}

TEST_F(passthrough, limits_budgets_and_numbers_are_exact)
{
    const events     unexpected;
    egb_pool_options above = options_for(16);
    above.budget_bytes     = 100000;
    const guard      parent(make(above));
    egb_pool_options options = passed(1000, parent);
    options.max_blocks       = 50;
    const guard              own(make(options));
    const guard              rest(make(passed(1000, parent)));
    const std::vector<void*> blocks = take_all(own);
    EXPECT_EQ(blocks.size(), 50u);
    EXPECT_EQ(stats_of(own).in_use, 50u);
    EXPECT_EQ(stats_of(own).bytes_held, 50u * stats_of(own).stride_bytes);
    const std::vector<void*> others = take_all(rest);
    EXPECT_EQ(others.size(), 100000 / stats_of(own).stride_bytes - 50);
    give_all(rest, others);
    give_all(own, blocks);
    EXPECT_EQ(stats_of(own).bytes_held, 0u);
    EXPECT_EQ(stats_of(own).peak, 50u);
    EXPECT_EQ(stats_of(own).allocations, 50u);
    EXPECT_EQ(stats_of(own).frees, 50u);
    EXPECT_GE(stats_of(own).failures, 1u);
    EXPECT_EQ(egb_pool_reserve(own, 10), EGB_OK);
    EXPECT_EQ(egb_pool_trim(own, 0), 0u);
}

TEST_F(passthrough, blocks_go_with_their_pool)
{
    const events unexpected;
    egb_pool     parent = make(16);
    egb_pool     child  = make(passed(64, parent));
    for (int i = 0; i < 5000; i++) {
        ASSERT_NE(egb_pool_alloc(child), nullptr);
    }
    EXPECT_EQ(egb_pool_destroy(parent, EGB_DESTROY_REFUSE), EGB_BUSY);
    std::set<void*> seen;
    egb_pool_each_block(
        child,
        [](void* block, void* user) { static_cast<std::set<void*>*>(user)->insert(block); },
        &seen
    );
    EXPECT_EQ(seen.size(), 5000u);
    EXPECT_EQ(egb_pool_destroy(parent, EGB_DESTROY_FORCE), EGB_OK);  // or a sanitizer says: leak
    EXPECT_EQ(egb_pool_of(*seen.begin()), egb_pool{});
}

TEST_F(passthrough, random_histories_keep_the_register_right)
{
    const events       unexpected;
    const guard        pools[2] = {guard(make(passed(24))), guard(make(passed(200)))};
    std::mt19937       random(1);
    std::vector<void*> blocks[2];
    for (int step = 0; step < 30000; step++) {
        const std::size_t which = random() % 2;
        if (random() % 5 < 3 || blocks[which].empty()) {
            blocks[which].push_back(egb_pool_alloc(pools[which]));
        } else {
            std::swap(blocks[which][random() % blocks[which].size()], blocks[which].back());
            EXPECT_EQ(egb_pool_of(blocks[which].back()), pools[which]);
            egb_free(blocks[which].back());
            blocks[which].pop_back();
        }
    }
    for (std::size_t which = 0; which < 2; which++) {
        EXPECT_EQ(stats_of(pools[which]).in_use, blocks[which].size());
        give_all(pools[which], blocks[which]);
        EXPECT_EQ(stats_of(pools[which]).in_use, 0u);
    }
}

TEST_F(passthrough, threads_may_do_all_this_at_a_time)
{
    const events             unexpected;
    const guard              pool(make(passed(64)));
    std::vector<std::thread> threads;
    for (int self = 0; self < 4; self++) {
        threads.emplace_back([&] {
            for (int round = 0; round < 50; round++) {
                give_all(pool, take_all(pool, 40));
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    EXPECT_EQ(stats_of(pool).allocations, 4u * 50 * 40);
}

TEST_F(passthrough, static_memory_cannot)
{
    alignas(16) static unsigned char memory[1024];
    egb_pool_options                 options = passed(64);
    options.memory                           = memory;
    options.memory_bytes                     = sizeof memory;
    EXPECT_EQ(status_of(options), EGB_UNSUPPORTED);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(passthrough, the_tool_sees_every_fault)
{
    const guard pool(make(passed(64)));
    const auto  twice = [&] {
        void* const block = egb_pool_alloc(pool);
        egb_pool_free(pool, block);
        egb_pool_free(pool, block);
    };
    const auto overrun = [&] {
        static_cast<volatile char*>(egb_pool_alloc(pool))[64] = 1;
    };
    const auto after_free = [&] {
        auto* const block = static_cast<volatile char*>(egb_pool_alloc(pool));
        egb_pool_free(pool, const_cast<char*>(block));
        block[8] = 1;
    };
    EXPECT_DEATH(twice(), "attempting double-free");
    EXPECT_DEATH(overrun(), "heap-buffer-overflow");
    EXPECT_DEATH(after_free(), "heap-use-after-free");
}
#endif

TEST_F(passthrough, a_block_of_static_memory_is_not_passed_on)
{
    alignas(64) static unsigned char memory[8192];
    events                           seen;
    egb_pool_options                 options = {};
    egb_pool                         pool    = {};
    egb_pool                         passing = {};
    options.block_bytes                      = 64;
    options.level                            = EGB_LEVEL_PASSTHROUGH;
    ASSERT_EQ(egb_pool_create(&passing, &options), EGB_OK);
    options.level        = level_named(nullptr);
    options.memory       = memory;
    options.memory_bytes = sizeof memory;
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    void* const block = egb_pool_alloc(pool);
    egb_pool_free(passing, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    egb_pool_free(pool, block);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(passing, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST_F(passthrough, a_sized_free_knows_the_class_of_its_block)
{
    events seen;
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", "passthrough");
    void* const block   = egb_malloc(40);
    void* const aligned = egb_aligned_alloc(64, 40);
    void* const wrong   = egb_malloc(40);
    set_variable("EGGBOX_CHECK", nullptr);
    egb_free_sized_(block, 40);
    egb_free_aligned_sized_(aligned, 64, 40);
    EXPECT_TRUE(seen.none());
    egb_free_sized_(wrong, 400);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_SIZE);
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
}

// SPDX-License-Identifier: MIT
// elr_mpl as it was first: every row of its interface.
#include "elr_fixture.hpp"

#include "eggbox/compat/elr_mtx.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <type_traits>

TEST(elr_old, E01_init_is_counted)
{
    EXPECT_NE(elr_mpl_init(), 0);
    EXPECT_NE(elr_mpl_init(), 0);
    elr_mpl_finalize();
    elr_mpl_t pool = elr_mpl_create(nullptr, 64);
    EXPECT_EQ(elr_mpl_avail(&pool), 1);
    elr_mpl_finalize();
    EXPECT_EQ(elr_mpl_avail(&pool), 0);
}

TEST(elr_old, E02_create_gives_a_handle_by_value)
{
    const elr_module module;
    elr_mpl_t        pool = ELR_MPL_INITIALIZER;
    EXPECT_TRUE(is_null(pool));
    pool = elr_mpl_create(NULL, 256);
    EXPECT_NE(pool.pool, nullptr);
    elr_mpl_t child = elr_mpl_create(&pool, 128);
    void*     mem   = elr_mpl_alloc(&child);
    ASSERT_NE(mem, nullptr);
    EXPECT_EQ(elr_mpl_size(mem), 128u);
    std::memset(mem, 1, 128);
    elr_mpl_free(mem);
}

TEST(elr_old, E02_a_pool_of_no_bytes_gives_blocks_of_their_own)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 0);
    void* const      one  = elr_mpl_alloc(&pool);
    void* const      two  = elr_mpl_alloc(&pool);
    EXPECT_NE(one, nullptr);
    EXPECT_NE(one, two);
    EXPECT_EQ(elr_mpl_size(one), 0u);
    elr_mpl_free(one);
    elr_mpl_free(two);
}

TEST(elr_old, E03_create_ex_calls_back)
{
    forget_calls();
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create_ex(nullptr, 32, note_alloc, note_free);
    void* const      mem  = elr_mpl_alloc(&pool);
    EXPECT_EQ(allocated(), std::vector<void*>{mem});
    EXPECT_TRUE(freed().empty());
    elr_mpl_free(mem);
    EXPECT_EQ(freed(), std::vector<void*>{mem});
}

TEST(elr_old, E03_on_free_is_called_for_all_that_is_left_at_destroy)
{
    for (const std::size_t count : {std::size_t{5}, std::size_t{1000}}) {
        forget_calls();
        const elr_module module;
        elr_mpl_t        pool = elr_mpl_create_ex(nullptr, 32, note_alloc, note_free);
        for (std::size_t i = 0; i < count; i++) {
            ASSERT_NE(elr_mpl_alloc(&pool), nullptr);
        }
        elr_mpl_free(allocated().back());
        elr_mpl_destroy(&pool);
        std::vector<void*> calls = freed();
        std::vector<void*> all   = allocated();
        std::sort(calls.begin(), calls.end());
        std::sort(all.begin(), all.end());
        EXPECT_EQ(calls, all) << "each once";
    }
}

TEST(elr_old, E04_avail)
{
    const elr_module module;
    elr_mpl_t        none = ELR_MPL_INITIALIZER;
    EXPECT_EQ(elr_mpl_avail(&none), 0);
    EXPECT_EQ(elr_mpl_avail(nullptr), 0);
    elr_mpl_t pool = elr_mpl_create(nullptr, 8);
    elr_mpl_t copy = pool;
    EXPECT_EQ(elr_mpl_avail(&pool), 1);
    elr_mpl_destroy(&pool);
    EXPECT_EQ(elr_mpl_avail(&copy), 0);
}

TEST(elr_old, E05_fresh_blocks_are_zero_and_used_ones_keep_what_they_held)
{
    const elr_module  module;
    const std::string zero(100, '\0');
    for (int round = 0; round < 3; round++) {  // the memory of the pool before is used again
        elr_mpl_t pool = elr_mpl_create(nullptr, 100);
        for (int i = 0; i < 2000; i++) {
            void* const mem = elr_mpl_alloc(&pool);
            ASSERT_NE(mem, nullptr);
            ASSERT_EQ(std::memcmp(mem, zero.data(), 100), 0) << round << ' ' << i;
            std::memset(mem, 0xA5, 100);
        }
        void* const mem = elr_mpl_alloc(&pool);
        std::memset(mem, 0x5A, 100);
        elr_mpl_free(mem);
        const auto* const again = static_cast<unsigned char*>(elr_mpl_alloc(&pool));
        ASSERT_EQ(again, mem) << "the block freed last comes first";
        EXPECT_EQ(again[50], 0x5A);
        elr_mpl_destroy(&pool);
    }
}

TEST(elr_old, E06_size)
{
    const elr_module module;
    for (const std::size_t bytes : {1u, 10u, 32u, 100u, 1000u, 40000u, 1000000u}) {
        elr_mpl_t   pool = elr_mpl_create(nullptr, bytes);
        void* const mem  = elr_mpl_alloc(&pool);
        ASSERT_NE(mem, nullptr);
        EXPECT_EQ(elr_mpl_size(mem), bytes);
    }
}

TEST(elr_old, E07_free_needs_no_pool)
{
    const elr_module module;
    elr_mpl_t        small = elr_mpl_create(nullptr, 16);
    elr_mpl_t        large = elr_mpl_create(nullptr, 160);
    void* const      one   = elr_mpl_alloc(&small);
    void* const      two   = elr_mpl_alloc(&large);
    elr_mpl_free(two);
    elr_mpl_free(one);
    EXPECT_EQ(elr_mpl_alloc(&small), one);
    EXPECT_EQ(elr_mpl_alloc(&large), two);
}

TEST(elr_old, E08_destroy_takes_children_and_clears_the_handle)
{
    forget_calls();
    const elr_module module;
    elr_mpl_t        pool       = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    elr_mpl_t        child      = elr_mpl_create_ex(&pool, 32, nullptr, note_free);
    elr_mpl_t        grandchild = elr_mpl_create(&child, 16);
    void* const      of_pool    = elr_mpl_alloc(&pool);
    void* const      of_child   = elr_mpl_alloc(&child);
    elr_mpl_destroy(&pool);
    EXPECT_TRUE(is_null(pool));
    EXPECT_EQ(elr_mpl_avail(&child), 0);
    EXPECT_EQ(elr_mpl_avail(&grandchild), 0);
    EXPECT_EQ(freed(), (std::vector<void*>{of_child, of_pool})) << "children first";
    elr_mpl_destroy(&child);
    elr_mpl_destroy(&pool);
    elr_mpl_destroy(nullptr);
}

TEST(elr_old, E09_finalize_destroys_everything_and_init_begins_anew)
{
    forget_calls();
    for (int round = 0; round < 3; round++) {
        ASSERT_NE(elr_mpl_init(), 0);
        elr_mpl_t pool = elr_mpl_create_ex(nullptr, 48, nullptr, note_free);
        ASSERT_NE(elr_mpl_alloc(&pool), nullptr);
        elr_mpl_finalize();
        EXPECT_EQ(elr_mpl_avail(&pool), 0);
        EXPECT_EQ(freed().size(), static_cast<std::size_t>(round) + 1);
        elr_mpl_finalize();  // one too many
    }
}

TEST(elr_old, E10_a_block_has_no_header)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64);
    egb_pool_stats   stats;
    ASSERT_EQ(egb_pool_get_stats(egb_pool_of(elr_mpl_alloc(&pool)), &stats), EGB_OK);
    EXPECT_EQ(stats.stride_bytes, 64u) << "it was 96";
}

TEST(elr_old, E11_pools_are_a_tree)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64);
    elr_mpl_t        last = pool;
    for (int depth = 0; depth < 50; depth++) {
        last = elr_mpl_create(&last, 64);
        ASSERT_EQ(elr_mpl_avail(&last), 1);
    }
    elr_mpl_t other = elr_mpl_create(nullptr, 64);
    elr_mpl_destroy(&pool);
    EXPECT_EQ(elr_mpl_avail(&last), 0);
    EXPECT_EQ(elr_mpl_avail(&other), 1);
}

TEST(elr_old, E12_a_stale_handle_never_leads_to_another_pool)
{
    const elr_module       module;
    std::vector<elr_mpl_t> stale;
    for (int i = 0; i < 100; i++) {
        elr_mpl_t pool = elr_mpl_create(nullptr, 64);
        for (elr_mpl_t& old : stale) {
            ASSERT_EQ(elr_mpl_avail(&old), 0);
        }
        stale.push_back(pool);
        elr_mpl_destroy(&pool);
    }
    events seen;
    EXPECT_EQ(elr_mpl_alloc(&stale.front()), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
}

TEST(elr_old, E13_locks_and_counters)
{
    static elr_atomic_t counter = ELR_ATOMIC_ZERO;
    EXPECT_EQ(elr_atomic_inc(&counter), 1);
    EXPECT_EQ(elr_atomic_inc(&counter), 2);
    EXPECT_EQ(elr_atomic_dec(&counter), 1);
    elr_mtx mutex;
    ASSERT_NE(elr_mtx_init(&mutex), 0);
    EXPECT_EQ(elr_mtx_init(nullptr), 0);
    elr_mtx_lock(&mutex);
    elr_mtx_lock(&mutex);  // its own thread may
    elr_mtx_unlock(&mutex);
    elr_mtx_unlock(&mutex);
    int  sum = 0;
    auto add = [&] {
        for (int i = 0; i < 10000; i++) {
            elr_mtx_lock(&mutex);
            sum++;
            elr_mtx_unlock(&mutex);
            (void)elr_atomic_inc(&counter);
        }
    };
    std::thread one(add);
    std::thread two(add);
    one.join();
    two.join();
    EXPECT_EQ(sum, 20000);
    EXPECT_EQ(elr_atomic_inc(&counter), 20002);
    elr_mtx_finalize(&mutex);
}

// The bounds of a node, 64 blocks or 32 KiB, were in the source; no program sees any bound now.
TEST(elr_old, E14_many_blocks_and_large_ones)
{
    const elr_module module;
    for (const std::size_t bytes : {16u, 32768u, 100000u}) {
        elr_mpl_t       pool = elr_mpl_create(nullptr, bytes);
        std::set<char*> blocks;
        for (int i = 0; i < 300; i++) {
            auto* const mem = static_cast<char*>(elr_mpl_alloc(&pool));
            ASSERT_NE(mem, nullptr);
            mem[bytes - 1] = 1;
            EXPECT_TRUE(blocks.insert(mem).second);
        }
        for (char* mem : blocks) {
            elr_mpl_free(mem);
        }
        elr_mpl_destroy(&pool);
    }
}

TEST(elr_old, types_and_macros)
{
    static_assert(std::is_same<elr_mpl_ht, elr_mpl_t*>::value, "a pointer to a handle");
    static_assert(std::is_same<elr_mpl_callback, void (*)(void*)>::value, "a callback");
    elr_mpl_t (*two)(elr_mpl_ht, std::size_t)                                      = elr_mpl_create;
    elr_mpl_t (*four)(elr_mpl_ht, std::size_t, elr_mpl_callback, elr_mpl_callback) = elr_mpl_create;
    const elr_module module;
    elr_mpl_t        one   = two(nullptr, 8);
    elr_mpl_t        other = four(&one, 8, nullptr, nullptr);
    EXPECT_EQ(elr_mpl_avail(&other), 1);
    struct __elr_mpl_t pair[2] = {ELR_MPL_INITIALIZER, ELR_MPL_INITIALIZER};
    EXPECT_TRUE(is_null(pair[0]) && is_null(pair[1]));
}

// SPDX-License-Identifier: MIT
// Faults of elr_mpl, old (EB) and new (NB), that do not happen here.
#include "elr_fixture.hpp"
#include "pools.hpp"

extern "C" {
#include "pool/registry.h"
}

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>

namespace
{

// A model beside the pool: every block has its own pattern, which nobody else may touch.
void fuzz(unsigned seed, elr_mpl_ht pool, std::size_t bytes)
{
    struct piece {
        unsigned char* mem;
        int            pattern;
    };
    std::minstd_rand   random(seed);
    std::vector<piece> live;
    for (int i = 0; i < 4000; i++) {
        if (random() % 100 < 52 || live.empty()) {
            auto* const mem = static_cast<unsigned char*>(elr_mpl_alloc(pool));
            ASSERT_NE(mem, nullptr);
            live.push_back({mem, static_cast<int>(random() % 256)});
            std::memset(mem, live.back().pattern, bytes);
        } else {
            piece& one = live[random() % live.size()];
            ASSERT_EQ(one.mem[0], one.pattern);
            ASSERT_EQ(one.mem[bytes - 1], one.pattern);
            elr_mpl_free(one.mem);
            one = live.back();
            live.pop_back();
        }
    }
    for (const piece& one : live) {
        elr_mpl_free(one.mem);
    }
}

elr_mpl_t common_pool = ELR_MPL_INITIALIZER;

extern "C" void allocate_another(void*)
{
    static thread_local bool is_inside = false;
    if (!is_inside) {
        is_inside = true;
        elr_mpl_free(elr_mpl_alloc(&common_pool));
        is_inside = false;
    }
}

}  // namespace

TEST(elr_bugs, EB1_random_frees_corrupted_memory)
{
    const elr_module module;
    for (unsigned seed = 1; seed <= 10; seed++) {
        elr_mpl_t pool = elr_mpl_create(nullptr, 1024);
        fuzz(seed, &pool, 1024);
        elr_mpl_destroy(&pool);
    }
}

TEST(elr_bugs, EB2_blocks_were_aligned_to_4)
{
    const elr_module module;
    for (const std::size_t bytes : {1u, 7u, 8u, 9u, 10u, 13u, 24u, 40u, 100u, 1001u}) {
        elr_mpl_t pool = elr_mpl_create(nullptr, bytes);
        for (int i = 0; i < 10; i++) {
            EXPECT_EQ(address(elr_mpl_alloc(&pool)) % (bytes <= 8 ? 8 : 16), 0u) << bytes;
        }
    }
}

TEST(elr_bugs, EB3_enormous_sizes_gave_tiny_blocks)
{
    const elr_module module;
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 32, SIZE_MAX - 100, SIZE_MAX / 2 + 1}) {
        EXPECT_TRUE(is_null(elr_mpl_create(nullptr, bytes)));
        EXPECT_EQ(elr_mpl_alloc_multi(nullptr, bytes), nullptr);
    }
}

TEST(elr_bugs, EB4_tags_began_anew_and_freed_memory_was_read)
{
    ASSERT_NE(elr_mpl_init(), 0);
    elr_mpl_t pool = elr_mpl_create(nullptr, 64);
    elr_mpl_finalize();
    egb_pool_trim(egb_pool{0, 0}, 0);  // nothing of it is left
    EXPECT_EQ(elr_mpl_avail(&pool), 0);
    ASSERT_NE(elr_mpl_init(), 0);
    const elr_mpl_t next = elr_mpl_create(nullptr, 64);
    EXPECT_NE(next.tag, pool.tag);
    EXPECT_EQ(elr_mpl_avail(&pool), 0);
    elr_mpl_t garbage = {&pool, 1};
    EXPECT_EQ(elr_mpl_avail(&garbage), 0);
    elr_mpl_finalize();
}

TEST(elr_bugs, EB5_threads_were_for_windows_only)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 32);
    std::thread      other([&pool] { elr_mpl_free(elr_mpl_alloc(&pool)); });
    elr_mpl_free(elr_mpl_alloc(&pool));
    other.join();
}

TEST(elr_bugs, EB6_finalize_and_callbacks_hung)
{
    ASSERT_NE(elr_mpl_init(), 0);
    common_pool = elr_mpl_create_ex(nullptr, 32, allocate_another, allocate_another);
    ASSERT_NE(elr_mpl_alloc(&common_pool), nullptr);
    elr_mpl_free(elr_mpl_alloc(&common_pool));
    for (int i = 0; i < 200; i++) {
        ASSERT_NE(elr_mpl_alloc(&common_pool), nullptr);
    }
    elr_mpl_finalize();
    EXPECT_EQ(elr_mpl_avail(&common_pool), 0);
}

TEST(elr_bugs, EB7_finalize_ended_the_wrong_mutex)
{
    for (int round = 0; round < 20; round++) {
        ASSERT_NE(elr_mpl_init(), 0);
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++) {
            threads.emplace_back([] {
                elr_mpl_t pool = elr_mpl_create_sync(nullptr, 100, nullptr, nullptr);
                std::memset(elr_mpl_alloc(&pool), 1, 100);
            });
        }
        for (std::thread& one : threads) {
            one.join();
        }
        elr_mpl_finalize();
    }
}

TEST(elr_bugs, EB8_null_crashed)
{
    const elr_module module;
    elr_mpl_t        none = ELR_MPL_INITIALIZER;
    EXPECT_EQ(elr_mpl_alloc(nullptr), nullptr);
    EXPECT_EQ(elr_mpl_alloc(&none), nullptr);
    EXPECT_EQ(elr_mpl_size(nullptr), 0u);
    EXPECT_EQ(elr_mpl_avail(nullptr), 0);
    EXPECT_TRUE(is_null(elr_mpl_create(&none, 8)));
    elr_mpl_free(nullptr);
    elr_mpl_destroy(nullptr);
    elr_mpl_destroy(&none);
}

TEST(elr_bugs, EB10_a_large_fresh_block_was_cleared_by_hand)
{
    const elr_module  module;
    const std::size_t bytes = std::size_t{256} << 20;
    elr_mpl_t         pool  = elr_mpl_create(nullptr, bytes);
    auto* const       mem   = static_cast<char*>(elr_mpl_alloc(&pool));
    ASSERT_NE(mem, nullptr);
    EXPECT_EQ(mem[0] + mem[bytes / 2] + mem[bytes - 1], 0);
    elr_mpl_destroy(&pool);
}

TEST(elr_bugs, create_before_init_corrupted_the_heap)
{
    elr_mpl_t pool = elr_mpl_create(nullptr, 64);
    EXPECT_TRUE(is_null(pool));
    EXPECT_EQ(elr_mpl_alloc(&pool), nullptr);
    EXPECT_EQ(elr_mpl_alloc_multi(nullptr, 8), nullptr);
}

TEST(elr_bugs, a_pool_that_was_destroyed_natively_is_stale_as_well)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64);
    ASSERT_EQ(egb_pool_destroy(egb_pool_of(elr_mpl_alloc(&pool)), EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(elr_mpl_avail(&pool), 0);
    events seen;
    EXPECT_EQ(elr_mpl_alloc(&pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_TRUE(is_null(elr_mpl_create(&pool, 64)));
    elr_mpl_destroy(&pool);
    EXPECT_TRUE(is_null(pool));
}

TEST(elr_bugs, a_double_free_gave_one_block_to_two)
{
    forget_calls();
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    void* const      mem  = elr_mpl_alloc(&pool);
    elr_mpl_free(mem);
    events seen;
    elr_mpl_free(mem);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(freed().size(), 1u) << "on_free is not for a free that was refused";
    EXPECT_NE(elr_mpl_alloc(&pool), elr_mpl_alloc(&pool));
}

// The pool's lock is held by this thread: a call that took it would wait for ever.
TEST(elr_bugs, a_pool_with_on_free_made_each_free_take_a_lock)
{
    if (!has_magazines()) {
        GTEST_SKIP() << "each free takes a lock here";
    }
    forget_calls();
    const elr_module module;
    elr_mpl_t        with    = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    elr_mpl_t        without = elr_mpl_create(nullptr, 64);
    for (elr_mpl_t* const pool : {&without, &with}) {
        void* const    mem    = elr_mpl_alloc(pool);
        const egb_pool native = egb_pool_of(mem);
        egb_control*   locked = egb_pool_lock_(native);
        elr_mpl_free(mem);
        egb_pool_unlock_(locked);
        EXPECT_EQ(stats_of(native).in_use, 0u);
    }
    EXPECT_EQ(freed().size(), 1u);
}

TEST(elr_bugs, on_free_is_called_whatever_pools_with_one_have_ended)
{
    forget_calls();
    const elr_module module;
    const auto       frees = [](elr_mpl_t* pool) {
        forget_calls();
        elr_mpl_free(elr_mpl_alloc(pool));
        return freed().size();
    };
    elr_mpl_t   ended   = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    elr_mpl_t   stays   = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    elr_mpl_t   without = elr_mpl_create(nullptr, 64);
    std::size_t sizes[] = {32, 100};
    elr_mpl_t   several = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, note_free);
    EXPECT_EQ(frees(&ended), 1u);
    elr_mpl_destroy(&ended);
    for (int round = 0; round < 3; round++) {  // slots are used again, with and without on_free
        elr_mpl_t native =
            elr_mpl_create_ex(nullptr, 64, nullptr, round == 1 ? nullptr : note_free);
        EXPECT_EQ(frees(&native), round == 1 ? 0u : 1u);
        (void)egb_pool_destroy(egb_pool_of(elr_mpl_alloc(&native)), EGB_DESTROY_FORCE);
        EXPECT_EQ(frees(&stays), 1u);
        EXPECT_EQ(frees(&several), 1u);
        EXPECT_EQ(frees(&without), 0u);
    }
    elr_mpl_destroy(&several);
    EXPECT_EQ(frees(&stays), 1u);
    elr_mpl_destroy(&stays);
    EXPECT_EQ(frees(&without), 0u);
    elr_mpl_t anew = elr_mpl_create_ex(nullptr, 64, nullptr, note_free);
    EXPECT_EQ(frees(&anew), 1u);
}

// A callback may end the pools of others, or free other blocks of its own.
TEST(elr_bugs, on_free_at_the_end_of_a_pool_may_free_other_blocks)
{
    static std::vector<void*> blocks;
    static std::size_t        calls;
    const elr_module          module;
    const auto                free_next = [](void*) {
        calls++;
        if (!blocks.empty()) {
            void* const next = blocks.back();
            blocks.pop_back();
            elr_mpl_free(next);
        }
    };
    elr_mpl_t pool = elr_mpl_create_ex(nullptr, 32, nullptr, free_next);
    for (std::size_t i = 0; i < 5000; i++) {
        void* const block = elr_mpl_alloc(&pool);
        if (i >= 4900) {
            blocks.push_back(block);
        }
    }
    elr_mpl_destroy(&pool);
    EXPECT_EQ(calls, 5000u) << "each once";
    EXPECT_TRUE(blocks.empty());
}

TEST(elr_bugs, a_foreign_pointer_crashed)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64);
    auto* const      mem  = static_cast<char*>(elr_mpl_alloc(&pool));
    int              mine = 0;
    events           seen;
    elr_mpl_free(&mine);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(elr_mpl_size(&mine), 0u);
    elr_mpl_free(mem + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
}

TEST(elr_bugs, a_child_of_a_destroyed_pool_failed_an_assertion)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64);
    elr_mpl_t        copy = pool;
    elr_mpl_destroy(&pool);
    events seen;
    EXPECT_TRUE(is_null(elr_mpl_create(&copy, 8)));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
}

TEST(elr_bugs, NB1_free_of_a_control_block_read_before_a_global)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(nullptr, 64, nullptr, nullptr);
    events           seen;
    elr_mpl_free(pool.pool);  // which is no block
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(elr_mpl_avail(&pool), 1);
}

TEST(elr_bugs, NB2_a_stale_handle_destroyed_an_innocent_pool)
{
    const elr_module module;
    elr_mpl_t        pool  = elr_mpl_create(nullptr, 64, nullptr, nullptr);
    elr_mpl_t        stale = pool;
    elr_mpl_destroy(&pool);
    elr_mpl_t innocent = elr_mpl_create(nullptr, 64, nullptr, nullptr);
    ASSERT_EQ(innocent.pool, stale.pool) << "it has the same place";
    elr_mpl_destroy(&stale);
    EXPECT_EQ(elr_mpl_avail(&innocent), 1);
}

TEST(elr_bugs, NB3_only_the_first_size_had_a_lock)
{
    const elr_module  module;
    std::size_t       sizes[] = {32, 64, 128};
    elr_mpl_t         pool    = elr_mpl_create_multi_sync(nullptr, 3, sizes, nullptr, nullptr);
    std::atomic<bool> was_refused{false};
    auto              work = [&](std::size_t bytes) {
        for (int i = 0; i < 3000; i++) {
            void* const mem = elr_mpl_alloc_multi(&pool, bytes);
            was_refused     = was_refused || mem == nullptr;
            std::memset(mem, 1, bytes);
            elr_mpl_free(mem);
        }
    };
    std::vector<std::thread> threads;
    for (const std::size_t bytes : {100u, 128u, 60u, 3000u}) {
        threads.emplace_back(work, bytes);
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_FALSE(was_refused);
}

TEST(elr_bugs, NB4_alloc_multi_of_no_pool_hung)
{
    const elr_module module;
    void* const      mem = elr_mpl_alloc_multi(nullptr, 64);
    EXPECT_EQ(elr_mpl_size(mem), 64u);
    elr_mpl_free(mem);
}

TEST(elr_bugs, NB5_alignment_header_and_arithmetic)
{
    const elr_module module;
    for (std::size_t bytes = 1; bytes < 5000; bytes += 77) {
        EXPECT_EQ(address(elr_mpl_alloc_multi(nullptr, bytes)) % 16, 0u);
    }
    EXPECT_EQ(elr_mpl_alloc_multi(nullptr, SIZE_MAX), nullptr);
    EXPECT_EQ(elr_mpl_alloc_multi(nullptr, SIZE_MAX - 1023), nullptr);
}

TEST(elr_bugs, NB6_a_mutex_was_destroyed_while_locked)
{
    const elr_module module;
    for (int i = 0; i < 100; i++) {
        elr_mpl_t pool = elr_mpl_create_sync(nullptr, 64, nullptr, nullptr);
        ASSERT_NE(elr_mpl_alloc(&pool), nullptr);
        elr_mpl_destroy(&pool);
    }
}

TEST(elr_bugs, NB7_a_large_request_made_later_ones_large)
{
    const elr_module module;
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 100000)), 100352u);
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 2100)), 3072u);
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 2900)), 3072u);
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 99999)), 100352u);
}

TEST(elr_bugs, NB8_a_class_was_98)
{
    const elr_module module;
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 96)), 96u);
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc_multi(nullptr, 97)), 128u);
}

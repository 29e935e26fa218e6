// SPDX-License-Identifier: MIT
// Owned magazines: open, use, close, and every way in which one can become invalid.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <set>

TEST(pool_cache, what_open_refuses)
{
    events         seen;
    const guard    pool(make(64));
    const egb_pool gone = make(64);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    egb_magazine cache{};
    EXPECT_EQ(egb_magazine_open(nullptr, pool), EGB_INVALID);
    EXPECT_EQ(egb_magazine_open(&cache, egb_pool{}), EGB_INVALID);
    EXPECT_EQ(egb_magazine_open(nullptr, egb_pool{}), EGB_INVALID);
    EXPECT_EQ(egb_magazine_open(&cache, gone), EGB_STALE);
    const guard largest(make(EGB_MAGAZINE_BYTES_MAX));
    const guard larger(make(EGB_MAGAZINE_BYTES_MAX + 1));
    EXPECT_EQ(egb_magazine_open(&cache, larger), EGB_INVALID);
    EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_magazine_open(&cache, largest), EGB_OK);
    void* const block = egb_magazine_alloc(&cache);
    EXPECT_NE(block, nullptr);
    egb_magazine_free(&cache, block);
    egb_magazine_close(&cache);
}

TEST(pool_cache, one_that_is_not_open)
{
    events       seen;
    const guard  pool(make(64));
    void* const  block = egb_pool_alloc(pool);
    egb_magazine cache{};
    for (int i = 0; i < 2; i++) {  // never opened, then closed
        EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
        egb_magazine_free(&cache, block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
        egb_magazine_free(&cache, nullptr);
        egb_magazine_close(&cache);
        egb_magazine_close(nullptr);
        ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
        egb_magazine_close(&cache);
    }
    EXPECT_EQ(stats_of(pool).in_use, 1u);
    egb_pool_free(pool, block);
}

TEST(pool_cache, one_whose_pool_was_destroyed)
{
    for (const bool is_replaced : {false, true}) {
        for (const char* level : {"check", "off"}) {
            events           seen;
            egb_pool_options options = options_for(64);
            options.level            = level_named(level);
            const egb_pool pool      = make(options);
            egb_magazine   cache;
            ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
            void* const block = egb_magazine_alloc(&cache);
            void* const freed = egb_magazine_alloc(&cache);
            egb_magazine_free(&cache, freed);
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
            const egb_pool next = is_replaced ? make(options) : egb_pool{};
            EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
            egb_magazine_free(&cache, block);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
            egb_magazine_free(&cache, nullptr);
            egb_magazine_close(&cache);
            EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
            if (is_replaced) {
                EXPECT_EQ(stats_of(next).allocations, 0u);
                EXPECT_EQ(egb_pool_destroy(next, EGB_DESTROY_REFUSE), EGB_OK);
            }
        }
    }
}

// Two caches and the thread's magazine share the pool's blocks, and none has one twice.
TEST(pool_cache, two_of_one_pool_and_the_threads_own)
{
    for (const char* level : {"check", "off"}) {
        egb_pool_options options = options_for(32);
        options.max_blocks       = 400;
        options.level            = level_named(level);
        const guard  pool(make(options));
        egb_magazine caches[2];
        ASSERT_EQ(egb_magazine_open(&caches[0], pool), EGB_OK);
        ASSERT_EQ(egb_magazine_open(&caches[1], pool), EGB_OK);
        std::vector<void*> held;
        std::set<void*>    different;
        randoms            random(3);
        std::size_t        taken = 0;
        for (int step = 0; step < 50000; step++) {
            const std::size_t which = random.below(3);
            if (random.below(100) < (step / 5000 % 2 == 0 ? 70u : 30u)) {
                void* const block =
                    which == 2 ? egb_pool_alloc(pool) : egb_magazine_alloc(&caches[which]);
                ASSERT_EQ(block == nullptr, held.size() == 400) << "one is free somewhere";
                if (block != nullptr) {
                    held.push_back(block);
                    taken++;
                    ASSERT_TRUE(different.insert(block).second);
                }
            } else if (!held.empty()) {
                std::swap(held[random.below(held.size())], held.back());
                which == 2 ? egb_pool_free(pool, held.back())
                           : egb_magazine_free(&caches[which], held.back());
                different.erase(held.back());
                held.pop_back();
            }
            if (step % 16 == 0) {
                ASSERT_EQ(stats_of(pool).in_use, held.size());
                ASSERT_EQ(stats_of(pool).allocations, taken);
            }
        }
        give_all(pool, held);
        egb_magazine_close(&caches[0]);
        egb_magazine_close(&caches[1]);
        EXPECT_EQ(stats_of(pool).allocations, taken);
        EXPECT_EQ(stats_of(pool).frees, taken);
    }
}

TEST(pool_cache, misuse_is_named_as_for_the_pool)
{
    events       seen;
    const guard  pool(make(64));
    const guard  other(make(64));
    egb_magazine cache;
    ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    char* const block    = static_cast<char*>(egb_magazine_alloc(&cache));
    void* const stranger = egb_pool_alloc(other);
    int         outside  = 0;
    egb_magazine_free(&cache, stranger);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    egb_magazine_free(&cache, &outside);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_magazine_free(&cache, block + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    egb_magazine_free(&cache, block + 64 * 300);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    egb_magazine_free(&cache, block);
    egb_magazine_free(&cache, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_pool_free(other, stranger);
    egb_magazine_close(&cache);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

// Trim, walks and a refused destroy empty it; it goes on afterwards.
TEST(pool_cache, it_survives_being_emptied)
{
    const egb_pool pool = make(64);
    egb_magazine   cache;
    ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    std::vector<void*> held;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 40; i++) {
            held.push_back(egb_magazine_alloc(&cache));
            ASSERT_NE(held.back(), nullptr);
        }
        for (int i = 0; i < 39; i++) {
            egb_magazine_free(&cache, held.back());
            held.pop_back();
        }
        EXPECT_EQ(stats_of(pool).in_magazines > 0, has_magazines());
        switch (round % 3) {
            case 0: (void)egb_pool_trim(pool, 0); break;
            case 1: egb_pool_each_block(pool, [](void*, void*) {}, nullptr); break;
            default: EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_BUSY);
        }
        EXPECT_EQ(stats_of(pool).in_magazines, 0u);
        EXPECT_EQ(stats_of(pool).in_use, held.size());
    }
    for (void* const block : held) {
        egb_magazine_free(&cache, block);
    }
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);  // its blocks are free
    egb_magazine_close(&cache);
}

TEST(pool_cache, many_closed_in_any_order)
{
    const guard               pool(make(64));
    std::vector<egb_magazine> caches(20);
    for (egb_magazine& cache : caches) {
        ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
        egb_magazine_free(&cache, egb_magazine_alloc(&cache));
    }
    randoms random(5);
    for (std::size_t left = caches.size(); left > 0; left--) {
        std::size_t nth = random.below(left);
        for (egb_magazine& cache : caches) {
            if (cache.magazine.depot != nullptr && nth-- == 0) {
                egb_magazine_close(&cache);
                break;
            }
        }
        EXPECT_EQ(stats_of(pool).in_use, 0u);
        EXPECT_EQ(stats_of(pool).allocations, caches.size());
    }
    EXPECT_GT(egb_pool_trim(pool, 0), 0u);
    EXPECT_EQ(stats_of(pool).bytes_held, 0u);
}

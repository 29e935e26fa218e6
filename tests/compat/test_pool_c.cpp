// SPDX-License-Identifier: MIT
// Pool_c: what the paper's class promised, row by row, and what used to happen and does not.
#include "events.hpp"

#include "Pool_c.h"
#include "eggbox/compat/pool_c.h"
#include "eggbox/pool.h"
#include "eggbox/pooled.hpp"
#include "pool_c.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace
{

#if defined(__linux__) && defined(__LP64__)
static_assert(sizeof(Pool_c) == 80, "docs/guide/migrate.md says so");
#endif

unsigned char* bytes_of(void* block)
{
    return static_cast<unsigned char*>(block);
}

std::vector<void*> take_all(Pool_c& pool)
{
    std::vector<void*> blocks;
    while (void* const block = pool.Allocate()) {
        blocks.push_back(block);
    }
    return blocks;
}

}  // namespace

TEST(pool_c, K01_a_pool_that_is_not_created_has_no_blocks)
{
    Pool_c pool;
    EXPECT_EQ(pool.Allocate(), nullptr);
    EXPECT_EQ(pool.AddrFromIndex(3), nullptr);
}

TEST(pool_c, K02_the_end_frees_the_blocks_once_and_a_copy_has_none)
{
    Pool_c pool;
    pool.CreatePool(16, 4);
    Pool_c copy(pool);
    EXPECT_EQ(copy.Allocate(), nullptr);
    void* const         block = pool.Allocate();
    std::vector<Pool_c> pools(1);
    pools[0] = std::move(pool);
    pools.resize(10);
    EXPECT_EQ(pools[0].IndexFromAddr(bytes_of(block)), 0u);
    pools[0].DeAllocate(block);
    EXPECT_EQ(pools[0].Allocate(), block);
}

TEST(pool_c, K03_create_is_one_region_and_throws_when_there_is_none)
{
    Pool_c pool;
    pool.CreatePool(100, 20);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(pool.AddrFromIndex(i), pool.AddrFromIndex(0) + 100 * i);
    }
    EXPECT_THROW(pool.CreatePool(SIZE_MAX, 2), std::bad_alloc);
    EXPECT_THROW(pool.CreatePool(SIZE_MAX / 4, 0xFFFFFFFF), std::bad_alloc);
    EXPECT_EQ(pool.Allocate(), nullptr);
}

TEST(pool_c, K04_destroy_makes_it_as_it_was_before_create)
{
    Pool_c pool;
    pool.CreatePool(32, 8);
    (void)pool.Allocate();
    pool.DestroyPool();
    EXPECT_EQ(pool.Allocate(), nullptr);
    EXPECT_EQ(pool.AddrFromIndex(0), nullptr);
    pool.DestroyPool();
}

TEST(pool_c, K05_K06_addresses_and_indices_are_each_others_inverse)
{
    Pool_c pool;
    pool.CreatePool(24, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        EXPECT_EQ(pool.IndexFromAddr(pool.AddrFromIndex(i)), i);
        EXPECT_EQ(pool.IndexFromAddr(pool.AddrFromIndex(i) + 23), i);
    }
}

TEST(pool_c, K07_fresh_blocks_come_in_order_of_address_then_the_last_freed)
{
    Pool_c pool;
    pool.CreatePool(40, 10);
    const std::vector<void*> blocks = take_all(pool);
    ASSERT_EQ(blocks.size(), 10u);
    for (unsigned i = 0; i < 10; i++) {
        EXPECT_EQ(blocks[i], pool.AddrFromIndex(i));
    }
    pool.DeAllocate(blocks[3]);
    pool.DeAllocate(blocks[7]);
    EXPECT_EQ(pool.Allocate(), blocks[7]);
    EXPECT_EQ(pool.Allocate(), blocks[3]);
    EXPECT_EQ(pool.Allocate(), nullptr);
}

TEST(pool_c, K08_what_is_no_block_in_use_is_refused)
{
    events told;
    Pool_c pool;
    pool.CreatePool(32, 4);
    const std::vector<void*> blocks = take_all(pool);
    int                      other  = 0;
    pool.DeAllocate(nullptr);
    EXPECT_TRUE(told.none());
    pool.DeAllocate(&other);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_FOREIGN);
    pool.DeAllocate(bytes_of(blocks[1]) + 4);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_INTERIOR);
    pool.DeAllocate(blocks[2]);
    pool.DeAllocate(blocks[2]);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(take_all(pool).size(), 1u);
}

TEST(pool_c, K09_a_block_in_use_holds_nothing_but_the_callers)
{
    Pool_c pool;
    pool.CreatePool(8, 100);
    const std::vector<void*> blocks = take_all(pool);
    for (std::size_t i = 0; i < 100; i++) {
        std::memset(blocks[i], static_cast<int>(i), 8);
    }
    for (std::size_t i = 0; i < 100; i++) {
        EXPECT_EQ(bytes_of(blocks[i])[0], i);
        EXPECT_EQ(bytes_of(blocks[i])[7], i);
    }
}

TEST(pool_c, K10_nothing_stands_between_blocks_and_the_object_is_small)
{
    EXPECT_LE(sizeof(Pool_c), 128u);
    Pool_c pool;
    pool.CreatePool(4, 1000);
    EXPECT_EQ(pool.AddrFromIndex(999) - pool.AddrFromIndex(0), 999 * 4);
    EXPECT_EQ(take_all(pool).size(), 1000u);
}

TEST(pool_c, K11_creation_touches_no_block)
{
    Pool_c pool;
    for (int round = 0; round < 2; round++) {
        pool.CreatePool(64, 100000);
        for (unsigned i = 0; i < 100000; i++) {
            const unsigned char* const block = pool.AddrFromIndex(i);
            ASSERT_EQ(std::memcmp(block, block + 1, 63), 0) << i;  // all the same, as it was
        }
        std::memset(pool.AddrFromIndex(0), 0xA5, 64 * 100000);
        pool.DestroyPool();
    }
}

TEST(pool_c, K12_guards_and_leak_reports_are_levels_of_a_pool)
{
    events           told;
    egb_pool         pool{};
    egb_pool_options options{};
    options.block_bytes = 24;
    options.level       = EGB_LEVEL_GUARD;
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    unsigned char* const block = bytes_of(egb_pool_alloc(pool));
    block[24]                  = static_cast<unsigned char>(block[24] + 1);
    egb_pool_free(pool, block);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_OVERRUN);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(pool_c, K13_a_fixed_pool_grows_and_shrinks_in_place)
{
    alignas(16) static unsigned char memory[100 * 16];
    egb_fixed                        pool;
    ASSERT_EQ(egb_fixed_init(&pool, memory, 10 * 16, 16), EGB_OK);
    std::vector<void*> blocks;
    while (void* const block = egb_fixed_alloc(&pool)) {
        blocks.push_back(block);
    }
    EXPECT_EQ(blocks.size(), 10u);
    ASSERT_EQ(egb_fixed_resize(&pool, sizeof memory), EGB_OK);
    EXPECT_EQ(egb_fixed_alloc(&pool), memory + 160);
    EXPECT_EQ(egb_fixed_resize(&pool, 10 * 16), EGB_BUSY);
    EXPECT_EQ(egb_fixed_resize(&pool, egb_fixed_touched(&pool) * 16), EGB_OK);
}

namespace
{
struct small : eggbox::pooled<small> {
    int number = 0;
};
struct large : small {
    char more[200] = {};
};
}  // namespace

TEST(pool_c, K14_new_takes_a_block_if_the_size_fits_and_the_heap_if_not)
{
    small* const one   = new small;
    small* const other = new large;
    EXPECT_TRUE(egb_pool_is_live(small::pool(), one));
    EXPECT_FALSE(egb_pool_is_live(small::pool(), other));
    delete one;
    delete static_cast<large*>(other);
}

TEST(pool_c, K15_a_pool_is_created_again_with_other_numbers)
{
    Pool_c pool;
    for (const unsigned size : {16u, 100u, 8u, 4096u}) {
        pool.CreatePool(size, size);
        const std::vector<void*> blocks = take_all(pool);
        EXPECT_EQ(blocks.size(), size);
        for (void* const block : blocks) {
            std::memset(block, 0xFF, size);
            pool.DeAllocate(block);
        }
        EXPECT_EQ(take_all(pool).size(), size);
        pool.DestroyPool();
    }
}

TEST(pool_c, K16_a_block_can_be_the_region_of_a_smaller_pool)
{
    Pool_c pool;
    pool.CreatePool(1024, 4);
    egb_fixed   small_pool;
    void* const region = pool.Allocate();
    ASSERT_EQ(egb_fixed_init(&small_pool, region, 1024, 64), EGB_OK);
    EXPECT_EQ(egb_fixed_alloc(&small_pool), region);
    EXPECT_EQ(egb_fixed_capacity(&small_pool), 16u);
}

// ---- what used to happen ------------------------------------------------------------------------

TEST(pool_c, KB_1_4_gib_of_blocks_were_a_region_of_0_bytes)
{
    Pool_c pool;
    if (sizeof(void*) < 8) {
        EXPECT_THROW(pool.CreatePool(65536, 65536), std::bad_alloc);
        return;
    }
    pool.CreatePool(65536, 65536);
    unsigned char* const block = bytes_of(pool.Allocate());
    std::memset(block, 1, 65536);
    EXPECT_EQ((pool.AddrFromIndex(65535) - block) / 65536, 65535);
    EXPECT_EQ(pool.IndexFromAddr(pool.AddrFromIndex(65535)), 65535u);
}

TEST(pool_c, KB_2_allocate_after_destroy_wrote_through_null)
{
    Pool_c pool;
    pool.CreatePool(16, 10);
    (void)pool.Allocate();
    pool.DestroyPool();
    EXPECT_EQ(pool.Allocate(), nullptr);
    pool.CreatePool(16, 10);
    EXPECT_EQ(take_all(pool).size(), 10u);
}

TEST(pool_c, KB_3_blocks_of_less_than_4_bytes_overlapped)
{
    Pool_c pool;
    for (const std::size_t size : {0u, 1u, 2u, 3u}) {
        pool.CreatePool(size, 10);
        const std::vector<void*> blocks = take_all(pool);
        ASSERT_EQ(blocks.size(), 10u);
        EXPECT_EQ(bytes_of(blocks[1]) - bytes_of(blocks[0]), 4);
        EXPECT_EQ(pool.IndexFromAddr(bytes_of(blocks[9])), 9u);
    }
}

TEST(pool_c, KB_4_blocks_of_7_bytes_were_misaligned)
{
    Pool_c pool;
    for (const std::size_t size : {7u, 13u, 24u, 48u, 64u}) {
        pool.CreatePool(size, 10);
        const std::size_t stride = (size + 3) / 4 * 4;
        for (void* const block : take_all(pool)) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (stride & (0 - stride)), 0u);
        }
    }
}

TEST(pool_c, KB_5_a_double_free_gave_5_blocks_from_a_pool_of_4)
{
    events told;
    Pool_c pool;
    pool.CreatePool(16, 4);
    const std::vector<void*> blocks = take_all(pool);
    pool.DeAllocate(blocks[0]);
    pool.DeAllocate(blocks[1]);
    pool.DeAllocate(blocks[0]);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    const std::vector<void*> again = take_all(pool);
    EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), again.size());
    EXPECT_EQ(again.size(), 2u);
}

TEST(pool_c, KB_6_two_threads_got_the_same_block)
{
    Pool_c pool;
    pool.CreatePool(16, 100);
    const auto use = [&pool](int mine) {
        for (int i = 0; i < 20000; i++) {
            int* const a = static_cast<int*>(pool.Allocate());
            int* const b = static_cast<int*>(pool.Allocate());
            *a           = mine;
            *b           = mine;
            ASSERT_EQ(*a + *b, 2 * mine);
            pool.DeAllocate(a);
            pool.DeAllocate(b);
        }
    };
    std::thread one(use, 1);
    std::thread two(use, 2);
    one.join();
    two.join();
    EXPECT_EQ(take_all(pool).size(), 100u);
}

TEST(pool_c, KB_7_KB_8_a_copy_was_freed_twice_and_a_second_create_leaked)
{
    egb_heap_stats before{};
    egb_heap_stats after{};
    ASSERT_EQ(egb_heap_get_stats(&before), EGB_OK);
    {
        Pool_c pool;
        for (int i = 0; i < 10; i++) {
            pool.CreatePool(1 << 12, 1000);
            Pool_c copy = pool;
            EXPECT_NE(pool.Allocate(), nullptr);
        }
        ASSERT_EQ(egb_heap_get_stats(&after), EGB_OK);
        EXPECT_EQ(after.large_in_use, before.large_in_use + 1);
    }
    ASSERT_EQ(egb_heap_get_stats(&after), EGB_OK);
    EXPECT_EQ(after.large_in_use, before.large_in_use);
}

TEST(pool_c, KB_9_one_block_freed_and_taken_touched_the_whole_pool)
{
    Pool_c pool;
    pool.CreatePool(4096, 10000);
    void* const block = pool.Allocate();
    for (int i = 0; i < 10000; i++) {
        pool.DeAllocate(block);
        ASSERT_EQ(pool.Allocate(), block);
    }
    EXPECT_EQ(pool.Allocate(), pool.AddrFromIndex(1));
}

// A pool that is assigned before it is created.
TEST(pool_c, an_assignment_is_as_a_copy)
{
    Pool_c pool;
    Pool_c other;
    pool.CreatePool(16, 4);
    EXPECT_NE(pool.Allocate(), nullptr);
    pool = other;
    EXPECT_EQ(pool.Allocate(), nullptr);
    other.CreatePool(16, 4);
    pool = other;
    EXPECT_EQ(pool.Allocate(), nullptr);
    EXPECT_NE(other.Allocate(), nullptr);
}

// The handler of misuse uses the pool that reports, in the thread that reports.
static void use_the_pool(const egb_misuse_event*, void* user)
{
    Pool_c&     pool  = *static_cast<Pool_c*>(user);
    void* const block = pool.Allocate();
    EXPECT_NE(block, nullptr);
    pool.DeAllocate(block);
}

TEST(pool_c, a_handler_of_misuse_may_use_the_pool)
{
    Pool_c pool;
    pool.CreatePool(16, 8);
    egb_misuse_set_handler(use_the_pool, &pool);
    const auto misuse = [&] {
        void* const block = pool.Allocate();
        pool.DeAllocate(block);
        pool.DeAllocate(block);                        // twice
        pool.DeAllocate(&pool);                        // foreign
        std::memset(block, 0x55, 2 * EGB_WORD_BYTES);  // the link of a free block
        EXPECT_NE(pool.Allocate(), nullptr);
    };
    misuse();
    std::thread(misuse).join();  // among threads
    egb_misuse_set_handler(nullptr, nullptr);
}

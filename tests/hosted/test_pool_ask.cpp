// SPDX-License-Identifier: MIT
// Questions by address, and the blocks that are in use.
#include "events.hpp"
#include "pools.hpp"

#include "eggbox/heap.h"

extern "C" {
#include "levels.hpp"
#include "pool/registry.h"
}

#include <algorithm>
#include <future>
#include <set>

namespace
{

void collect(void* block, void* user)
{
    static_cast<std::vector<void*>*>(user)->push_back(block);
}

std::vector<void*> each_block(egb_pool pool)
{
    std::vector<void*> seen;
    egb_pool_each_block(pool, collect, &seen);
    std::sort(seen.begin(), seen.end());
    return seen;
}

std::vector<void*> sorted(std::vector<void*> blocks)
{
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void* at(std::uintptr_t address)
{
    return reinterpret_cast<void*>(address);
}

}  // namespace

TEST(pool_ask, any_part_of_any_block_is_its_pools)
{
    for (const std::size_t bytes : {1u, 24u, 100u, 5000u, 100000u}) {
        const guard              pool(make(bytes));
        const guard              other(make(bytes));
        const std::vector<void*> blocks = take_all(pool, 50);
        void* const              there  = egb_pool_alloc(other);
        for (void* const block : blocks) {
            for (const std::size_t offset : {std::size_t{0}, bytes / 2, bytes - 1}) {
                char* const inside = static_cast<char*>(block) + offset;
                ASSERT_TRUE(egb_pool_of(inside) == pool.pool);
                ASSERT_EQ(egb_block_bytes(inside), bytes);
            }
        }
        EXPECT_TRUE(egb_pool_of(there) == other.pool);
        give_all(pool, blocks);
        egb_pool_free(other, there);
        EXPECT_TRUE(egb_pool_of(there) == other.pool);  // free or not
    }
}

// Redis asks it of every block that it gets and gives back: with the lock, that took as long as the
// rest of the server.
TEST(pool_ask, the_size_of_a_block_in_use_needs_no_lock)
{
    for (const char* const level : {"check", "off"}) {
        egb_pool_options options{};
        options.block_bytes = 40;
        options.level       = level_named(level);
        const guard        pool(make(options));
        void* const        block   = egb_pool_alloc(pool);
        egb_control* const control = egb_pool_lock_(pool.pool);
        auto               asked   = std::async(std::launch::async, [block, &pool] {
            return egb_pool_is_live(pool, block) ? egb_block_bytes(block) : 0;
        });
        const auto         answer  = asked.wait_for(std::chrono::minutes(10));
        egb_pool_unlock_(control);
        EXPECT_EQ(answer, std::future_status::ready) << "it waited for the lock, at " << level;
        EXPECT_EQ(asked.get(), 40u);
        egb_pool_free(pool, block);
    }
}

// The chunk of one unit: every address in it is a block's or no pool's, and egb_free() agrees.
TEST(pool_ask, what_is_beside_the_blocks_is_in_no_pool)
{
    events               seen;
    const guard          pool(make(1000));
    char* const          block = static_cast<char*>(egb_pool_alloc(pool));
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(block) / unit_bytes * unit_bytes;
    const std::size_t    capacity = stats_of(pool).capacity;
    ASSERT_EQ(stats_of(pool).bytes_held, unit_bytes);
    for (std::size_t offset = 0; offset < unit_bytes; offset++) {
        const bool is_block = offset < capacity * 1000;
        ASSERT_TRUE(egb_pool_of(at(first + offset)) == (is_block ? pool.pool : egb_pool{}));
        ASSERT_EQ(egb_block_bytes(at(first + offset)), is_block ? 1000u : 0u);
    }
    egb_free(at(first + unit_bytes - 8));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_pool_free(pool, at(first + unit_bytes - 8));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_free(at(first + capacity * 1000));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_free(block + 1);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    egb_free(block + 1000 * (capacity - 1));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    egb_free(nullptr);
    egb_free(block);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

TEST(pool_ask, addresses_of_nobody)
{
    events      seen;
    int         on_stack = 0;
    static int  in_data  = 0;
    const guard pool(make(8));
    for (void* const address :
         {at(0),
          at(1),
          at(unit_bytes),
          at(UINTPTR_MAX),
          at(UINTPTR_MAX / 2),
          static_cast<void*>(&on_stack),
          static_cast<void*>(&in_data),
          at(UINTPTR_MAX - unit_bytes)}) {
        EXPECT_TRUE(egb_pool_of(address) == egb_pool{});
        EXPECT_EQ(egb_block_bytes(address), 0u);
        egb_free(address);
        egb_pool_free(pool, address);
        if (address != nullptr) {
            EXPECT_EQ(seen.take_two(), std::make_pair(EGB_MISUSE_FOREIGN, EGB_MISUSE_FOREIGN));
        }
    }
}

TEST(pool_ask, blocks_of_a_destroyed_pool_are_in_no_pool)
{
    const egb_pool pool = make(64);
    egb_magazine   cache;  // keeps the addresses
    ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    void* const block = egb_magazine_alloc(&cache);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    events seen;
    EXPECT_TRUE(egb_pool_of(block) == egb_pool{});
    EXPECT_EQ(egb_block_bytes(block), 0u);
    EXPECT_FALSE(egb_pool_is_live(pool, block));
    EXPECT_EQ(egb_realloc(block, 64), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    egb_magazine_close(&cache);
    EXPECT_TRUE(egb_pool_of(block) == egb_pool{});
}

TEST(pool_ask, an_event_says_what_and_where)
{
    events      seen;
    const guard pool(make(64));
    char* const block = static_cast<char*>(egb_pool_alloc(pool));
    egb_pool_free(pool, block);
    egb_pool_free(pool, block);
    const egb_misuse_event twice = seen.take();
    EXPECT_EQ(twice.address, block);
    EXPECT_EQ(twice.block_index, 0u);
    EXPECT_NE(twice.pool, nullptr);
    EXPECT_NE(twice.site, nullptr);
    egb_pool_free(pool, block + 64 * 5);
    EXPECT_EQ(seen.take().block_index, 5u);
    egb_pool_free(pool, block + 3);
    EXPECT_EQ(seen.take().block_index, EGB_NO_INDEX);
    EXPECT_EQ(egb_pool_alloc(egb_pool{}), nullptr);
    const egb_misuse_event none = seen.take();
    EXPECT_EQ(none.kind, EGB_MISUSE_NO_POOL);
    EXPECT_EQ(none.pool, nullptr);
    EXPECT_EQ(none.pool_name, nullptr);
}

TEST(pool_ask, each_block_sees_exactly_those_in_use)
{
    for (const char* level : {"check", "off"}) {
        for (const std::size_t bytes : {1u, 16u, 700u, 100000u}) {
            egb_pool_options options = options_for(bytes);
            options.level            = level_named(level);
            const guard        pool(make(options));
            std::vector<void*> held;
            randoms            random(bytes);
            EXPECT_TRUE(each_block(pool).empty());
            for (int round = 0; round < 20; round++) {
                const std::size_t more = random.below(bytes < 1000 ? 1500 : 20);
                for (std::size_t i = 0; i < more; i++) {
                    held.push_back(egb_pool_alloc(pool));
                    // Looks like what a free block holds.
                    std::memset(held.back(), i % 3 == 0 ? 0 : 0xFF, bytes);
                }
                for (std::size_t i = random.below(held.size() + 1); i > 0; i--) {
                    std::swap(held[random.below(held.size())], held.back());
                    egb_pool_free(pool, held.back());
                    held.pop_back();
                }
                ASSERT_EQ(each_block(pool), sorted(held));
                ASSERT_EQ(stats_of(pool).in_magazines, 0u);
            }
            give_all(pool, held);
            EXPECT_TRUE(each_block(pool).empty());
        }
    }
}

TEST(pool_ask, each_block_of_a_static_null_and_stale_pool)
{
    static char      memory[4096];
    egb_pool_options options        = options_for(64);
    options.memory                  = memory;
    options.memory_bytes            = sizeof memory;
    const egb_pool           pool   = make(options);
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(each_block(pool), sorted(blocks));
    egb_pool_each_block(pool, nullptr, nullptr);
    give_all(pool, blocks);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_TRUE(each_block(pool).empty());
    EXPECT_TRUE(each_block(egb_pool{}).empty());
}

TEST(pool_ask, touched_are_the_blocks_that_were_handed_out)
{
    const guard              pool(make(48));
    const std::vector<void*> first = take_all(pool, 100);
    EXPECT_EQ(egb_pool_touched(pool), 100u);
    give_all(pool, first);
    EXPECT_EQ(egb_pool_touched(pool), 100u);
    const std::vector<void*> fewer = take_all(pool, 60);
    EXPECT_EQ(egb_pool_touched(pool), 100u);  // recycled, whatever the magazines had ahead
    const std::vector<void*> more = take_all(pool, 45);
    EXPECT_EQ(egb_pool_touched(pool), 105u);
    give_all(pool, fewer);
    give_all(pool, more);
    EXPECT_EQ(egb_pool_touched(egb_pool{}), 0u);
}

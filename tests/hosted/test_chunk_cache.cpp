// SPDX-License-Identifier: MIT
// The region cache: chunks of destroyed pools, kept for later pools.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#if !defined(_WIN32)
  #include <sys/mman.h>
  #include <unistd.h>
#endif

namespace
{

const egb_pool none{0, 0};

constexpr std::size_t short_units = 16;  // up to a megabyte

egb_pool make_prefaulted()
{
    egb_pool_options options = options_for(64);
    options.flags            = EGB_PREFAULT;
    return make(options);
}

// Takes every block that the pool's chunk still has, and fills it.
std::vector<void*> fill(egb_pool pool, std::size_t bytes)
{
    std::vector<void*> blocks;
    do {
        void* const block = egb_pool_alloc(pool);
        EXPECT_NE(block, nullptr);
        std::memset(block, 0xFF, bytes);
        blocks.push_back(block);
    } while (stats_of(pool).in_use < stats_of(pool).capacity);
    return blocks;
}

std::vector<void*> take(egb_pool pool, std::size_t count)
{
    const std::vector<void*> blocks = take_all(pool, count);
    EXPECT_EQ(blocks.size(), count);
    return blocks;
}

std::size_t page_bytes()
{
#if defined(_WIN32)
    return 4096;
#else
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
}

// With a page of blocks and one of states each.
std::size_t small_pools_that_fit()
{
    return std::min(
        EGB_REGION_CACHE_BYTES_MAX / std::min(2 * page_bytes(), unit_bytes),
        EGB_REGION_CACHE_ADDRESSES_MAX / unit_bytes
    );
}

#if defined(__linux__)
std::size_t resident_bytes(const std::set<std::uintptr_t>& units)
{
    std::size_t sum = 0;
    for (const std::uintptr_t unit : units) {
        std::vector<unsigned char> pages(unit_bytes / page_bytes());
        void* const                start = reinterpret_cast<void*>(unit * unit_bytes);
        if (mincore(start, unit_bytes, pages.data()) == 0) {  // else it is not mapped
            for (const unsigned char page : pages) {
                sum += (page & 1u) != 0 ? page_bytes() : 0;
            }
        }
    }
    return sum;
}
#endif

// As many blocks as have so many bytes, all of them ones.
std::vector<void*> take_filled(egb_pool pool, std::size_t bytes, std::size_t block_bytes)
{
    const std::vector<void*> blocks = take(pool, bytes / block_bytes);
    for (void* const block : blocks) {
        std::memset(block, 0xFF, block_bytes);
    }
    return blocks;
}

void end(egb_pool pool)
{
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
}

// A pool with one chunk of so many units, which is then cached.
void leave_region(std::size_t units)
{
    const egb_pool pool = make((units - 1) * unit_bytes + 4096);
    take(pool, 1);
    EXPECT_EQ(stats_of(pool).bytes_held, units * unit_bytes);
    end(pool);
}

bool is_zero(const void* block, std::size_t bytes)
{
    const std::vector<unsigned char> zero(bytes, 0);
    return std::memcmp(block, zero.data(), bytes) == 0;
}

constexpr std::size_t sizes[] = {16, 64, 1000, 4096, 16384, 100000};

}  // namespace

TEST(chunk_cache, a_pool_after_another_maps_nothing_new)
{
    egb_pool_trim(none, 0);
    const egb_pool first = make(64);
    void* const    block = egb_pool_alloc(first);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(egb_pool_destroy(first, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool second = make(48);
    void* const    other  = egb_pool_alloc(second);
    EXPECT_EQ(other, block) << "the region has served again";
    egb_pool_free(second, other);
    EXPECT_EQ(egb_pool_destroy(second, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_trim(none, 0), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
}

TEST(chunk_cache, a_pool_that_grows_as_one_before_maps_nothing_new)
{
    for (const std::size_t bytes : sizes) {
        egb_pool_trim(none, 0);
        const egb_pool     first = make(bytes);
        std::vector<void*> found = take(first, 2000000 / bytes);
        const std::size_t  count = stats_of(first).capacity;
        const std::size_t  held  = stats_of(first).bytes_held;
        for (void* const block : take(first, count - found.size())) {
            found.push_back(block);  // all of all chunks: two may be of the same size
        }
        EXPECT_GT(held, 16 * unit_bytes);
        end(first);
        for (int round = 0; round < 3; round++) {
            const egb_pool           next   = make(bytes);
            const std::vector<void*> blocks = take(next, count);
            EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count);
            EXPECT_EQ(
                std::set<void*>(blocks.begin(), blocks.end()),
                std::set<void*>(found.begin(), found.end())
            ) << bytes;
            EXPECT_EQ(stats_of(next).bytes_held, held);
            end(next);
        }
        EXPECT_EQ(egb_pool_trim(none, 0), held) << bytes;
    }
}

TEST(chunk_cache, no_block_of_an_old_pool_is_live_in_any_chunk_of_the_new)
{
    for (const std::size_t before : sizes) {
        for (const std::size_t after : sizes) {
            egb_pool_trim(none, 0);
            const egb_pool           old    = make(before);
            const std::vector<void*> blocks = take_filled(old, 1500000, before);
            for (void* const block : blocks) {  // as states would say of blocks in use
                std::memset(block, EGB_STATE_LIVE_, before);
            }
            end(old);
            const egb_pool pool = make(after);
            ASSERT_EQ(egb_pool_reserve(pool, 1000000 / after), EGB_OK);
            for (void* const block : blocks) {
                ASSERT_FALSE(egb_pool_is_live(pool, block)) << before << ' ' << after;
            }
            const std::vector<void*> mine = take_filled(pool, 1000000, after);
            EXPECT_EQ(stats_of(pool).in_use, mine.size());
            std::size_t live = 0;
            egb_pool_each_block(
                pool, [](void*, void* user) { ++*static_cast<std::size_t*>(user); }, &live
            );
            EXPECT_EQ(live, mine.size()) << before << ' ' << after;
            end(pool);
        }
    }
}

TEST(chunk_cache, nothing_of_the_old_pool_is_seen_by_the_new)
{
    for (const std::size_t before : {std::size_t{16}, std::size_t{64}, std::size_t{1000}}) {
        for (const std::size_t after : {std::size_t{16}, std::size_t{24}, std::size_t{4096}}) {
            egb_pool_trim(none, 0);
            const egb_pool           old    = make(before);
            const std::vector<void*> blocks = fill(old, before);
            ASSERT_EQ(egb_pool_destroy(old, EGB_DESTROY_FORCE), EGB_OK);
            const egb_pool pool  = make(after);
            void* const    first = egb_pool_alloc(pool);
            ASSERT_EQ(first, blocks.front());
            const std::size_t capacity = stats_of(pool).capacity;
            events            seen;
            for (std::size_t i = 1; i < capacity; i++) {  // none of them was ever allocated
                egb_pool_free(pool, static_cast<char*>(first) + i * after);
                ASSERT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED) << i;
            }
            EXPECT_EQ(capacity == 1 ? 0 : fill(pool, after).size(), capacity - 1);
            ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        }
    }
}

TEST(chunk_cache, fresh_blocks_are_zero_where_that_was_asked_for)
{
    std::vector<const char*> levels = {"off", "check", "guard"};
#if !defined(_WIN32)  // there "passthrough" is not supported
    levels.push_back("passthrough");
#endif
    for (const char* level : levels) {
        egb_pool_trim(none, 0);
        const egb_pool old = make(256);
        fill(old, 256);
        ASSERT_EQ(egb_pool_destroy(old, EGB_DESTROY_FORCE), EGB_OK);
        egb_pool_options options              = options_for(200);
        options.flags                         = EGB_FRESH_ZERO;
        options.level                         = level_named(level);
        const egb_pool                   pool = make(options);
        const std::vector<unsigned char> zero(200, 0);
        for (int i = 0; i < 500; i++) {  // for the used region, and for new ones
            void* const block = egb_pool_alloc(pool);
            ASSERT_NE(block, nullptr);
            ASSERT_EQ(std::memcmp(block, zero.data(), zero.size()), 0) << level << ' ' << i;
        }
        ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}

// Each of them has written to the places where the next pools have blocks, states, headers, or
// nothing.
TEST(chunk_cache, fresh_blocks_are_zero_whatever_pools_there_were)
{
    for (const std::size_t first : sizes) {
        for (const std::size_t second : sizes) {
            egb_pool_trim(none, 0);
            const egb_pool old = make(first);
            take_filled(old, 1500000, first);
            end(old);
            const egb_pool between = make(second);  // has them all, and writes to few
            ASSERT_EQ(egb_pool_reserve(between, 1000000 / second), EGB_OK);
            take_filled(between, 3 * second, second);
            end(between);
            for (const std::size_t bytes : {std::size_t{48}, std::size_t{8192}, second}) {
                egb_pool_options options = options_for(bytes);
                options.flags            = EGB_FRESH_ZERO;
                const egb_pool zero      = make(options);
                for (void* const block : take(zero, 1800000 / bytes)) {
                    ASSERT_TRUE(is_zero(block, bytes)) << first << ' ' << second << ' ' << bytes;
                    std::memset(block, 0xFF, bytes);
                }
                end(zero);
            }
        }
    }
}

TEST(chunk_cache, fresh_blocks_are_zero_after_pools_of_every_level)
{
    for (const char* level : {"off", "check", "guard", "track"}) {
        for (const std::size_t bytes : sizes) {
            egb_pool_trim(none, 0);
            egb_pool_options options = options_for(bytes);
            options.level            = level_named(level);
            const egb_pool old       = make(options);
            take_filled(old, 1500000, bytes);
            end(old);
            options.level       = EGB_LEVEL_OFF;
            options.flags       = EGB_FRESH_ZERO;
            const egb_pool zero = make(options);
            for (void* const block : take(zero, 1800000 / bytes)) {
                ASSERT_TRUE(is_zero(block, bytes)) << level << ' ' << bytes;
            }
            end(zero);
        }
    }
}

// Blocks that a thread had taken ahead went back before any caller had them.
TEST(chunk_cache, fresh_blocks_are_zero_after_a_trim)
{
    for (const std::size_t bytes : std::vector<std::size_t>{4, 8, 24, 256}) {
        egb_pool_options options = options_for(bytes);
        options.flags            = EGB_FRESH_ZERO;
        options.level            = EGB_LEVEL_CHECK;
        const egb_pool  pool     = make(options);
        std::set<void*> known;
        for (int round = 0; round < 8; round++) {
            for (void* const block : take(pool, 21)) {
                ASSERT_TRUE(!known.insert(block).second || is_zero(block, bytes)) << bytes;
                std::memset(block, 0xFF, bytes);
            }
            egb_pool_trim(pool, 1000);
        }
        end(pool);
    }
}

// The pages went when the pool was destroyed, the rest when the cache was closed.
TEST(chunk_cache, fresh_blocks_are_zero_after_a_pool_that_ended_late)
{
    egb_pool_options options = options_for(1000);
    options.flags            = EGB_FRESH_ZERO;
    for (int round = 0; round < 3; round++) {
        const egb_pool pool = make(options);
        egb_magazine   cache{};
        ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
        for (int i = 0; i < 1500; i++) {
            void* const block = egb_magazine_alloc(&cache);
            ASSERT_NE(block, nullptr);
            ASSERT_TRUE(is_zero(block, 1000)) << round << ' ' << i;
            std::memset(block, 0xFF, 1000);
        }
        end(pool);
        egb_magazine_close(&cache);
    }
    EXPECT_GT(egb_pool_trim(none, 0), 16 * unit_bytes);
}

TEST(chunk_cache, the_oldest_makes_room)
{
    egb_pool_trim(none, 0);
    leave_region(1);
    for (int i = 0; i < 7; i++) {
        leave_region(20 + static_cast<std::size_t>(i));  // 162 units in all, where 128 have room
    }
    // 1, 20 and 21 are gone: 22 to 26 are 120, and the next to go is 22.
    EXPECT_EQ(egb_pool_trim(none, 120 * unit_bytes), 0u);
    EXPECT_EQ(egb_pool_trim(none, 119 * unit_bytes), 22 * unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), 98 * unit_bytes);
}

TEST(chunk_cache, sizes_nobody_asks_for_are_in_nobodys_way)
{
    egb_pool_trim(none, 0);
    for (int i = 0; i < 4; i++) {
        leave_region(32 - static_cast<std::size_t>(i));
    }
    std::size_t held = 0;
    for (int round = 0; round < 3; round++) {
        const egb_pool pool = make(4096);
        take(pool, 400);
        held = stats_of(pool).bytes_held;
        end(pool);
    }
    EXPECT_EQ(held, 31 * unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, held), (31 + 30 + 29) * unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), held);
}

#if !defined(_WIN32)  // there a range goes back as it came
TEST(chunk_cache, a_short_region_is_cut_for_who_asks_for_less)
{
    egb_pool_trim(none, 0);
    leave_region(short_units);
    leave_region(short_units + 1);  // is not short
    std::vector<egb_pool> pools;
    for (std::size_t i = 0; i <= short_units; i++) {
        pools.push_back(make(64));
        fill(pools.back(), 64);
        EXPECT_EQ(stats_of(pools.back()).bytes_held, unit_bytes);
    }
    EXPECT_EQ(egb_pool_trim(none, 0), (short_units + 1) * unit_bytes) << "the longer one, whole";
    for (const egb_pool pool : pools) {
        end(pool);
    }
}

TEST(chunk_cache, short_regions_side_by_side_become_one)
{
    egb_pool_trim(none, 0);
    leave_region(short_units);
    std::vector<egb_pool> pools;
    for (std::size_t i = 0; i < short_units; i++) {
        pools.push_back(make(64));
        fill(pools.back(), 64);
    }
    ASSERT_EQ(egb_pool_trim(none, 0), 0u);
    for (std::size_t i = 0; i < short_units; i++) {  // not in order of address
        end(pools[i * 5 % short_units]);
    }
    leave_region(short_units);
    EXPECT_EQ(egb_pool_trim(none, 0), short_units * unit_bytes) << "it was there";
}
#endif

TEST(chunk_cache, of_a_pool_larger_than_it_has_no_more_than_fits)
{
    egb_pool_trim(none, 0);
    const egb_pool large = make(16384);
    take(large, (std::size_t{40} << 20) / 16384);
    end(large);
    const std::size_t kept = egb_pool_trim(none, 0);
    EXPECT_GT(kept, 0u);
    EXPECT_LE(kept, EGB_REGION_CACHE_BYTES_MAX);
    leave_region(EGB_REGION_CACHE_BYTES_MAX / unit_bytes + 1);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u) << "one chunk, which does not fit";
    leave_region(EGB_REGION_CACHE_BYTES_MAX / unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), EGB_REGION_CACHE_BYTES_MAX);
}

TEST(chunk_cache, what_is_on_it_counts_for_no_budget_but_the_new_pools)
{
    egb_pool_trim(none, 0);
    egb_pool_options options = options_for(4096);
    options.budget_bytes     = 3 * unit_bytes;
    for (int round = 0; round < 3; round++) {
        const egb_pool           pool   = make(options);
        const std::vector<void*> blocks = take_all(pool);
        EXPECT_EQ(stats_of(pool).bytes_held, 3 * unit_bytes);
        end(pool);
        EXPECT_EQ(subtree_of(none).bytes_held, 0u);
    }
    EXPECT_EQ(egb_pool_trim(none, 0), 3 * unit_bytes);
}

TEST(chunk_cache, holds_no_more_memory_than_it_says)
{
    std::vector<egb_pool> pools;
    egb_pool_trim(none, 0);
    for (std::size_t i = 0; i < EGB_REGION_CACHE_BYTES_MAX / unit_bytes + 50; i++) {
        pools.push_back(make(64));
        fill(pools.back(), 64);
    }
    for (const egb_pool pool : pools) {
        end(pool);
    }
    EXPECT_EQ(egb_pool_trim(none, EGB_REGION_CACHE_BYTES_MAX), 0u);
    EXPECT_EQ(egb_pool_trim(none, EGB_REGION_CACHE_BYTES_MAX - unit_bytes), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), EGB_REGION_CACHE_BYTES_MAX - unit_bytes);
}

TEST(chunk_cache, small_pools_are_kept_by_the_memory_they_touched)
{
    const std::size_t     fit = small_pools_that_fit();
    std::vector<egb_pool> pools;
    std::set<void*>       blocks;
    egb_pool_trim(none, 0);
    for (std::size_t i = 0; i < fit + 50; i++) {
        pools.push_back(make(64));
        blocks.insert(egb_pool_alloc(pools.back()));
    }
    for (const egb_pool pool : pools) {
        end(pool);
    }
    for (std::size_t i = 0; i < fit; i++) {
        pools[i] = make(64);
        ASSERT_EQ(blocks.count(egb_pool_alloc(pools[i])), 1u) << i;
    }
    EXPECT_EQ(egb_pool_trim(none, 0), 0u) << "all that was kept has served again";
    for (std::size_t i = 0; i < fit; i++) {
        end(pools[i]);
    }
    EXPECT_EQ(egb_pool_trim(none, 0), fit * unit_bytes);
}

// Each of the small ones that had to go would be a system call, with locks held.
TEST(chunk_cache, a_large_pool_does_not_push_out_all_the_small_ones)
{
    std::vector<egb_pool> pools;
    egb_pool_trim(none, 0);
    for (std::size_t i = 0; i < small_pools_that_fit(); i++) {
        pools.push_back(make(64));
        (void)take(pools.back(), 1);
    }
    for (const egb_pool pool : pools) {
        end(pool);
    }
    leave_region(EGB_REGION_CACHE_BYTES_MAX / unit_bytes);
    const std::size_t pushed_out = 32;
    EXPECT_EQ(egb_pool_trim(none, 0), (small_pools_that_fit() - pushed_out) * unit_bytes);
}

#if defined(__linux__)
// Blocks that were cleared for the next pool, and what stood behind the blocks of other pools, are
// no less in memory.
TEST(chunk_cache, has_no_more_memory_than_it_says_whatever_pools_there_were)
{
    struct shape {
        std::size_t bytes, taken, count;
        unsigned    flags;
    };
    const std::vector<std::vector<shape>> histories = {
        {{1024, 56, 1000, EGB_FRESH_ZERO}},
        {{900, 1000, 64, EGB_FRESH_ZERO}},
        {{4, 1, 300, 0}, {64, 1, 1000, 0}},
        {{1024, 56, 128, 0}, {64, 1, 1000, EGB_FRESH_ZERO}, {4, 1, 900, 0}},
    };
    for (const auto& history : histories) {
        std::set<std::uintptr_t> units;
        egb_pool_trim(none, 0);
        for (const shape& each : history) {
            egb_pool_options options = options_for(each.bytes);
            options.flags            = each.flags;
            std::vector<egb_pool> pools;
            for (std::size_t i = 0; i < each.count; i++) {
                pools.push_back(make(options));
                for (void* const block : take(pools.back(), each.taken)) {
                    std::memset(block, 1, each.bytes);
                    units.insert(reinterpret_cast<std::uintptr_t>(block) / unit_bytes);
                }
            }
            for (const egb_pool pool : pools) {
                end(pool);
            }
        }
        const std::size_t resident = resident_bytes(units);
        EXPECT_LE(egb_pool_trim(none, 0), EGB_REGION_CACHE_ADDRESSES_MAX);
        EXPECT_GT(resident, 0u);
        EXPECT_LE(resident - resident_bytes(units), EGB_REGION_CACHE_BYTES_MAX);
    }
}
#endif

TEST(chunk_cache, what_a_living_pool_gives_back_goes_to_the_system)
{
    egb_pool_trim(none, 0);
    const egb_pool pool = make(64);
    egb_pool_free(pool, egb_pool_alloc(pool));
    EXPECT_EQ(egb_pool_trim(pool, 0), unit_bytes);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

// Its pages would not all be there.
TEST(chunk_cache, is_not_for_pools_that_asked_for_their_pages)
{
    egb_pool_trim(none, 0);
    const egb_pool plain = make(64);
    ASSERT_NE(egb_pool_alloc(plain), nullptr);
    ASSERT_EQ(egb_pool_destroy(plain, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool there = make_prefaulted();
    ASSERT_NE(egb_pool_alloc(there), nullptr);
    EXPECT_EQ(egb_pool_trim(none, 0), unit_bytes) << "the plain one's was not used";
    ASSERT_EQ(egb_pool_destroy(there, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(egb_pool_trim(none, 0), 0u);
}

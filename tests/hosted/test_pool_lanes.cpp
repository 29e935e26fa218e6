// SPDX-License-Identifier: MIT
// Blocks that one thread took and another one freed: they wait in the second one's magazine to go
// back to the first one's chunks, and count as free meanwhile.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

namespace
{

// These tests need magazines, and threads whose blocks lie in different chunks.
class pool_lanes : public needs_magazines
{
  protected:
    const guard pool{make(64)};
};

std::uintptr_t chunk_of(const void* block)
{
    return reinterpret_cast<std::uintptr_t>(block) / unit_bytes;
}

egb_pool make_at(const char* level, std::size_t bytes)
{
    egb_pool_options options = options_for(bytes);
    options.level            = level_named(level);
    return make(options);
}

// This number of threads have blocks at the same time.
void take_in_threads(egb_pool pool, int threads)
{
    if (threads > 0) {
        const std::vector<void*> own = take_all(pool, 3);
        std::thread([&] { take_in_threads(pool, threads - 1); }).join();
        give_all(pool, own);
    }
}

bool has(const std::vector<void*>& blocks, void* block)
{
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

// Takes so many blocks. How many batches another thread, which has a block of its own before, fills
// with them.
int batches_to_free(egb_pool pool, std::size_t blocks)
{
    std::promise<void>               begun;
    std::promise<std::vector<void*>> taken;
    int                              count = 0;
    std::thread                      other([&] {
        egb_pool_free(pool, egb_pool_alloc(pool));
        begun.set_value();
        const egb_magazine_* const magazine = egb_magazine_of_key_(egb_pool_key_(pool));
        std::uintptr_t             before = 0;
        for (void* const block : taken.get_future().get()) {
            egb_pool_free(pool, block);
            const std::uintptr_t end = magazine->remote_full;
            count += std::exchange(before, end) != end ? 1 : 0;
        }
    });
    begun.get_future().wait();
    taken.set_value(take_all(pool, blocks));
    other.join();
    return count;
}

}  // namespace

// Each batch that is full is an exchange with the pool.
TEST_F(pool_lanes, a_thread_that_only_frees_for_another_fills_long_batches)
{
    const int batches = batches_to_free(pool, 3000);
    EXPECT_LE(batches, 3000 / 64);
    EXPECT_GE(batches, 3000 / EGB_MAGAZINE_BLOCKS_MAX);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

TEST_F(pool_lanes, a_thread_does_not_hand_out_what_another_one_took)
{
    const std::vector<void*> mine = take_all(pool, 200);
    std::thread([&] {
        const std::vector<void*> own = take_all(pool, 3);
        give_all(pool, mine);
        const std::vector<void*> more = take_all(pool, 100);
        for (void* const block : more) {
            EXPECT_FALSE(has(mine, block));
        }
        give_all(pool, more);
        give_all(pool, own);
    }).join();
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

TEST_F(pool_lanes, what_waits_is_free_and_no_second_free_goes_unseen)
{
    events                   seen;
    const std::vector<void*> mine = take_all(pool, 40);
    std::thread([&] {
        void* const own = egb_pool_alloc(pool);
        give_all(pool, mine);
        EXPECT_EQ(stats_of(pool).in_use, 1u);
        EXPECT_GE(stats_of(pool).in_magazines, 40u);
        for (void* const block : mine) {
            egb_pool_free(pool, block);
            EXPECT_EQ(seen.take().kind, EGB_MISUSE_DOUBLE_FREE);
        }
        EXPECT_EQ(stats_of(pool).in_use, 1u);
        egb_pool_free(pool, own);
    }).join();
}

TEST_F(pool_lanes, a_trim_takes_what_waits_also_while_its_thread_lives)
{
    std::vector<void*> mine = take_all(pool, 3000);
    std::thread([&] {
        void* const own = egb_pool_alloc(pool);
        give_all(pool, mine);
        const std::size_t held = stats_of(pool).bytes_held;
        EXPECT_GT(egb_pool_trim(pool, 0), 0u);
        EXPECT_LE(stats_of(pool).bytes_held, held - 3000 * 64 / 2);
        const std::vector<void*> more = take_all(pool, 100);  // and it can go on
        mine                          = take_all(pool, 100);
        give_all(pool, more);
        egb_pool_free(pool, own);
    }).join();
    give_all(pool, mine);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

// The batch may be loaded later, and then a free looks at its old entries.
TEST_F(pool_lanes, a_trim_makes_it_forget_what_waited)
{
    constexpr std::size_t    shortest = 4;  // blocks of a first batch
    const std::vector<void*> mine     = take_all(pool, shortest);
    std::thread([&] {
        void* const own = egb_pool_alloc(pool);
        give_all(pool, mine);
        const egb_magazine_* const magazine = egb_magazine_of_key_(egb_pool_key_(pool));
        const auto* const          end = reinterpret_cast<const egb_entry_*>(magazine->remote_full);
        const auto                 remembers = [&](void* block) {
            return std::any_of(end - shortest, end, [&](const egb_entry_& entry) {
                return entry.block == block;
            });
        };
        EXPECT_TRUE(std::all_of(mine.begin(), mine.end(), remembers));
        EXPECT_GT(egb_pool_trim(pool, 0), 0u);
        EXPECT_TRUE(std::none_of(mine.begin(), mine.end(), remembers));
        egb_pool_free(pool, own);
    }).join();
}

TEST_F(pool_lanes, a_pool_is_destroyed_while_some_wait)
{
    const egb_pool           other = make(48);
    const std::vector<void*> mine  = take_all(other, 30);
    std::thread([&] {
        void* const own = egb_pool_alloc(other);
        give_all(other, mine);
        EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_REFUSE), EGB_BUSY);
        egb_pool_free(other, own);
        EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_REFUSE), EGB_OK);
        egb_pool_free(pool, egb_pool_alloc(pool));
    }).join();
    EXPECT_FALSE(egb_pool_alive(other));
}

// At "off" they were of one, and two threads with 1,000 blocks each took twice as long as one.
TEST_F(pool_lanes, at_every_level_threads_take_blocks_of_different_chunks)
{
    for (const char* const level : {"check", "off"}) {
        for (const std::size_t bytes : {16u, 64u, 256u, 1024u}) {
            const guard              one(make_at(level, bytes));
            const std::vector<void*> mine = take_all(one, 40);
            std::thread([&] {
                const std::vector<void*> own = take_all(one, 40);
                for (void* const block : own) {
                    EXPECT_NE(chunk_of(block), chunk_of(mine.front())) << level << " " << bytes;
                }
                give_all(one, own);
            }).join();
            give_all(one, mine);
        }
    }
}

// At "off" nothing is sent back: the thread that frees a block keeps it, by handle or by the block
// alone.
TEST_F(pool_lanes, at_off_a_block_of_another_thread_is_the_next_one_of_who_freed_it)
{
    const guard              off(make_at("off", 64));
    const std::vector<void*> mine = take_all(off, 2);
    std::thread([&] {
        void* const own = egb_pool_alloc(off);
        EXPECT_NE(chunk_of(own), chunk_of(mine[0]));
        egb_pool_free(off, mine[0]);
        EXPECT_EQ(egb_pool_alloc(off), mine[0]);
        egb_free(mine[1]);
        EXPECT_EQ(egb_pool_alloc(off), mine[1]);
        egb_free(mine[1]);
        egb_free(mine[0]);
        egb_free(own);
        EXPECT_EQ(stats_of(off).in_use, 0u);
    }).join();
}

// Nothing is sent back at "off". The lane of the thread that takes is therefore always empty in the
// depot.
TEST_F(pool_lanes, at_off_what_one_thread_takes_and_another_frees_does_not_become_much)
{
    constexpr std::size_t rounds = 2000;
    constexpr std::size_t live   = 64;
    for (const std::size_t bytes : {16u, 64u, 1024u}) {
        const guard        off(make_at("off", bytes));
        std::vector<void*> blocks(live);
        std::atomic<bool>  is_full{false};
        std::thread        second([&] {
            for (std::size_t i = 0; i < rounds; i++) {
                while (!is_full) {
                    std::this_thread::yield();
                }
                give_all(off, blocks);
                is_full = false;
            }
        });
        for (std::size_t i = 0; i < rounds; i++) {
            while (is_full) {
                std::this_thread::yield();
            }
            blocks  = take_all(off, live);
            is_full = true;
        }
        second.join();
        const egb_pool_stats stats = stats_of(off);
        EXPECT_EQ(stats.in_use, 0u);
        EXPECT_LE(stats.in_magazines, stats.capacity / 4 + 8 * EGB_MAGAZINE_BLOCKS_MAX) << bytes;
        EXPECT_LE(stats.bytes_held, 8 * unit_bytes) << bytes;
    }
}

// A program that reserves has a reason not to wait for the system. Free blocks in magazines count
// as out.
TEST_F(pool_lanes, while_there_are_reserved_blocks_no_chunk_comes_for_a_lane)
{
    constexpr std::size_t threads  = 6;
    constexpr std::size_t reserved = threads * 2 * EGB_MAGAZINE_BLOCKS_MAX;
    for (const char* const level : {"check", "off"}) {
        for (const bool is_late : {false, true}) {
            egb_pool_options options = options_for(64);
            options.level            = level_named(level);
            options.reserve_blocks   = is_late ? 0 : reserved;
            const guard one(make(options));
            if (is_late) {
                ASSERT_EQ(egb_pool_reserve(one, reserved), EGB_OK);
            }
            const std::size_t held = stats_of(one).bytes_held;
            std::thread([&] { take_in_threads(one, threads - 1); }).join();
            EXPECT_EQ(stats_of(one).bytes_held, held) << level;
        }
    }
}

// Any thread may open it: a program may make one for each of its threads before they start.
TEST_F(pool_lanes, a_cache_takes_blocks_of_the_lane_of_the_thread_that_uses_it)
{
    egb_magazine cache{};
    ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    void* const first = egb_magazine_alloc(&cache);
    void* const mine  = egb_pool_alloc(pool);
    EXPECT_EQ(chunk_of(first), chunk_of(mine));
    std::thread([&] {
        const std::size_t  count = 3 * EGB_MAGAZINE_BLOCKS_MAX;  // main has none left
        std::vector<void*> blocks;
        for (std::size_t i = 0; i < count; i++) {
            blocks.push_back(egb_magazine_alloc(&cache));
        }
        EXPECT_NE(chunk_of(blocks.back()), chunk_of(mine));
        for (void* const block : blocks) {
            egb_magazine_free(&cache, block);
        }
        EXPECT_EQ(stats_of(pool).in_use, 2u);
    }).join();
    egb_magazine_free(&cache, first);
    egb_magazine_close(&cache);
    egb_pool_free(pool, mine);
}

// The free blocks of a limited pool are for whoever asks first.
TEST_F(pool_lanes, a_limited_pool_has_no_lanes)
{
    egb_pool_options options = options_for(64);
    options.max_blocks       = 100;
    const guard              limited(make(options));
    const std::vector<void*> mine = take_all(limited);
    ASSERT_EQ(mine.size(), 100u);
    std::thread([&] {
        give_all(limited, mine);
        const std::vector<void*> all = take_all(limited);
        EXPECT_EQ(all.size(), 100u);
        give_all(limited, all);
    }).join();
}

// It was, and ten threads with next to nothing made a pool of 2 MiB, or 4.
TEST_F(pool_lanes, a_chunk_for_the_sake_of_a_lane_is_no_reason_for_longer_ones)
{
    for (const std::size_t bytes : {16u, 64u, 256u, 512u, 1024u}) {
        const guard few(make(bytes));
        take_in_threads(few, 10);
        const egb_pool_stats stats   = stats_of(few);
        const std::size_t    at_once = std::min(EGB_MAGAZINE_BLOCKS_MAX * bytes, unit_bytes);
        const std::size_t    at_hand = 10 * 2 * at_once;
        EXPECT_EQ(stats.in_use, 0u);
        EXPECT_LE(stats.bytes_held, at_hand + 10 * 2 * unit_bytes) << bytes;
    }
}

// Whoever comes next has them without a walk into the chunks, and without a batch of its own.
TEST_F(pool_lanes, a_thread_that_ends_leaves_its_batch_to_the_next)
{
    for (const std::size_t count : {std::size_t{3}, std::size_t{EGB_MAGAZINE_BLOCKS_MAX} / 2 + 6}) {
        const guard one(make(64));
        std::thread([&] { give_all(one, take_all(one, count)); }).join();
        const std::size_t left = stats_of(one).in_magazines;
        EXPECT_GE(left, count);
        std::thread([&] {
            const std::vector<void*> blocks = take_all(one, count);
            EXPECT_EQ(stats_of(one).in_magazines, left - count);
            give_all(one, blocks);
        }).join();
        EXPECT_EQ(stats_of(one).in_magazines, left);
        EXPECT_GE(stats_of(one).peak, count);
    }
}

// The rest of a line of states, in which another thread has blocks, is not for later threads.
TEST_F(pool_lanes, threads_one_after_the_other_keep_away_from_who_stays)
{
    for (const std::size_t bytes : {8u, 16u}) {
        egb_pool_options options = options_for(bytes);
        options.budget_bytes     = 1u << 20;
        const guard one(make(options));
        char* const mine = static_cast<char*>(egb_pool_alloc(one));
        for (int i = 0; i < 12; i++) {
            std::thread([&] {
                char* const other = static_cast<char*>(egb_pool_alloc(one));
                // The first line of states has those of 4 blocks at least.
                EXPECT_GE(std::abs(other - mine), static_cast<std::ptrdiff_t>(4 * bytes)) << bytes;
                egb_pool_free(one, other);
            }).join();
        }
        egb_pool_free(one, mine);
    }
}

// Many batches of next to nothing would be in the way of others.
TEST_F(pool_lanes, many_threads_that_end_leave_few_batches_of_few_blocks)
{
    constexpr int threads = 200;
    const guard   off(make_at("off", 64));
    std::thread([&] { take_in_threads(off, threads); }).join();
    EXPECT_EQ(stats_of(off).in_use, 0u);
    EXPECT_GE(stats_of(off).in_magazines, 64u);
    EXPECT_LE(stats_of(off).in_magazines, 2u * threads);
}

// An overrun of a block would meet the block that was taken next. They are still near each other,
// so that blocks taken together are in the caches together.
TEST_F(pool_lanes, of_fresh_blocks_the_next_one_is_near_and_not_right_behind)
{
    for (const std::size_t bytes : {16u, 64u, 256u, 1024u, 4096u, 8192u, 9104u, 18128u, 20480u}) {
        const guard              one(make(bytes));
        const std::vector<void*> blocks = take_all(one, 3000);
        std::size_t              behind = 0;
        std::size_t              near   = 0;
        for (std::size_t i = 1; i < blocks.size(); i++) {
            const auto distance = static_cast<char*>(blocks[i]) - static_cast<char*>(blocks[i - 1]);
            behind += distance == static_cast<std::ptrdiff_t>(bytes) ? 1U : 0U;
            near += std::abs(distance) < static_cast<std::ptrdiff_t>(32 * bytes) ? 1U : 0U;
        }
        EXPECT_LE(behind, stats_of(one).chunks) << bytes;  // a line of states may end with one
        EXPECT_GE(near + stats_of(one).chunks, blocks.size()) << bytes;
        give_all(one, blocks);
    }
}

// SPDX-License-Identifier: MIT
// Frees in the order of a stack, which the magazine undoes, and in every other: no block is lost or
// there twice, and nothing that a magazine remembers is taken for a block in use.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <thread>

namespace
{

// One thread's way to a pool: through its own magazine of it, or through a cache.
class way
{
  public:
    way(const egb_pool_options& options, bool has_cache)
        : pool(make(options)), has_cache_(has_cache)
    {
        if (has_cache) {
            EXPECT_EQ(egb_magazine_open(&cache_, pool), EGB_OK);
        }
    }

    ~way()
    {
        egb_magazine_close(&cache_);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }

    way(const way&)            = delete;
    way& operator=(const way&) = delete;

    void* alloc()
    {
        return has_cache_ ? egb_magazine_alloc(&cache_) : egb_pool_alloc(pool);
    }

    void free(void* block)
    {
        has_cache_ ? egb_magazine_free(&cache_, block) : egb_pool_free(pool, block);
    }

    std::vector<void*> take(std::size_t count)
    {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i < count; i++) {
            blocks.push_back(alloc());
            EXPECT_NE(blocks.back(), nullptr);
        }
        return blocks;
    }

    void give(const std::vector<void*>& blocks)
    {
        for (void* const block : blocks) {
            free(block);
        }
    }

    const egb_pool pool;

  private:
    egb_magazine cache_{};
    bool         has_cache_;
};

void in_every_way(
    const egb_pool_options&            wanted,
    std::initializer_list<const char*> levels,
    const std::function<void(way&)>&   use
)
{
    for (const char* const level : levels) {
        for (const bool has_cache : {false, true}) {
            SCOPED_TRACE(std::string(level) + (has_cache ? ", cache" : ", thread"));
            egb_pool_options options = wanted;
            options.level            = level_named(level);
            way one(options, has_cache);
            use(one);
        }
    }
}

enum class order { stack, queue, random, mixed };

constexpr order every_order[] = {order::stack, order::queue, order::random, order::mixed};

// The blocks in the order in which they are to be freed; they came in the order given.
std::vector<void*> in_order(std::vector<void*> blocks, order wanted, randoms* random)
{
    if (wanted == order::stack || wanted == order::mixed) {
        std::reverse(blocks.begin(), blocks.end());
    }
    const std::size_t step = wanted == order::random ? 1 : wanted == order::mixed ? 7 : 0;
    for (std::size_t i = 0; step != 0 && i < blocks.size(); i += step) {
        std::swap(blocks[i], blocks[i + random->below(blocks.size() - i)]);
    }
    return blocks;
}

std::size_t batch_of(std::size_t block_bytes)
{
    return std::min<std::size_t>(EGB_MAGAZINE_BLOCKS_MAX, EGB_MAGAZINE_BYTES_MAX / block_bytes);
}

void expect_all_different(const std::vector<void*>& blocks)
{
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
}

// Rounds of `count` blocks. Free blocks are handed out again before the pool gets more memory.
void go_round(way& one, std::size_t count, std::size_t bytes, order wanted, bool is_trimmed)
{
    randoms     random(count);
    std::size_t capacity = 0;
    for (std::size_t round = 0; round < 3; round++) {
        const std::vector<void*> blocks = one.take(count);
        expect_all_different(blocks);
        for (std::size_t i = 0; i < count; i++) {
            fill(blocks[i], std::min<std::size_t>(bytes, 64), i);
        }
        for (std::size_t i = 0; i < count; i++) {
            EXPECT_TRUE(is_filled(blocks[i], std::min<std::size_t>(bytes, 64), i));
        }
        const egb_pool_stats stats = stats_of(one.pool);
        EXPECT_EQ(stats.in_use, count);
        EXPECT_TRUE(round == 0 || is_trimmed || stats.capacity == capacity);
        capacity = stats.capacity;
        one.give(in_order(blocks, wanted, &random));
        EXPECT_EQ(stats_of(one.pool).in_use, 0u);
        if (is_trimmed) {
            EXPECT_GT(egb_pool_trim(one.pool, 0), 0u);
            EXPECT_EQ(stats_of(one.pool).bytes_held, 0u);
        }
    }
}

}  // namespace

TEST(pool_undo, no_order_of_frees_loses_a_block_at_any_boundary_of_batches)
{
    for (const std::size_t bytes : {8u, 1000u, 5000u, 20000u, 32768u, 65536u}) {
        const std::size_t batch = batch_of(bytes);
        for (const std::size_t batches : {1u, 2u, 3u}) {
            for (std::size_t count = batches * batch - 1; count <= batches * batch + 2; count++) {
                for (const order wanted : every_order) {
                    const bool is_trimmed = (batches + count) % 2 == 0;
                    in_every_way(options_for(bytes), {"check", "off"}, [&](way& one) {
                        go_round(one, count, bytes, wanted, is_trimmed && count != 0);
                    });
                }
            }
        }
        ASSERT_FALSE(testing::Test::HasFailure()) << "blocks of " << bytes;
    }
}

// A pool with just as many blocks would miss the one that is lost, or have one too many.
TEST(pool_undo, a_limited_pool_has_every_block_again)
{
    for (const std::size_t count : {1u, 2u, 61u, 62u, 63u, 64u, 123u, 124u, 125u, 126u, 187u}) {
        for (const order wanted : every_order) {
            egb_pool_options options = options_for(64);
            options.max_blocks       = count;
            in_every_way(options, {"check", "off"}, [&](way& one) {
                randoms random(count);
                for (int round = 0; round < 3; round++) {
                    const std::vector<void*> blocks = one.take(count);
                    expect_all_different(blocks);
                    EXPECT_EQ(one.alloc(), nullptr);
                    one.give(in_order(blocks, wanted, &random));
                }
            });
        }
    }
}

// Bursts that go down a stack for a while, and then free the oldest or any.
TEST(pool_undo, frees_of_the_newest_the_oldest_and_any_may_follow_each_other)
{
    in_every_way(options_for(48), {"check", "off"}, [](way& one) {
        std::vector<std::pair<void*, std::uint64_t>> held;
        std::set<void*>                              different;
        randoms                                      random(7);
        for (std::uint64_t step = 0; step < 60000; step++) {
            const std::size_t burst = step / 40 % 4;
            if (held.empty() || random.below(100) < (step / 3000 % 2 == 0 ? 60u : 40u)) {
                void* const block = one.alloc();
                ASSERT_NE(block, nullptr);
                ASSERT_TRUE(different.insert(block).second);
                fill(block, 48, step);
                held.emplace_back(block, step);
                continue;
            }
            const std::size_t which = burst < 2    ? held.size() - 1
                                      : burst == 2 ? 0
                                                   : random.below(held.size());
            ASSERT_TRUE(is_filled(held[which].first, 48, held[which].second));
            one.free(held[which].first);
            different.erase(held[which].first);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
        EXPECT_EQ(stats_of(one.pool).in_use, held.size());
        for (const auto& [block, number] : held) {
            one.free(block);
        }
    });
}

// ---- misuse -------------------------------------------------------------------------------------

TEST(pool_undo, a_second_free_directly_after_the_first_is_reported)
{
    in_every_way(options_for(64), {"check"}, [](way& one) {
        events seen;
        for (std::size_t held = 0; held < 200; held++) {
            void* const block = one.alloc();
            one.free(block);
            for (int i = 0; i < 2; i++) {
                one.free(block);
                ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE) << held;
            }
            const std::vector<void*> two = one.take(2);
            ASSERT_NE(two[0], two[1]);
            one.give({two[1], two[0]});
            (void)one.alloc();  // one more lies below
        }
        std::vector<void*> all;
        egb_pool_each_block(
            one.pool,
            [](void* block, void* user) {
                static_cast<std::vector<void*>*>(user)->push_back(block);
            },
            &all
        );
        EXPECT_EQ(all.size(), 200u);
        one.give(all);
    });
}

// After each free every block that is free by then is freed again, wherever the magazine remembers
// it: at its top, below or above it, in the other batch, or not at all.
TEST(pool_undo, a_second_free_of_any_block_is_reported)
{
    for (const std::size_t count : {5u, 62u, 63u, 130u}) {
        for (const order wanted : every_order) {
            in_every_way(options_for(64), {"check"}, [&](way& one) {
                events                   seen;
                randoms                  random(count);
                const std::vector<void*> blocks = one.take(count);
                const std::vector<void*> frees  = in_order(blocks, wanted, &random);
                for (std::size_t i = 0; i < count; i++) {
                    one.free(frees[i]);
                    for (std::size_t j = 0; j <= i; j++) {
                        one.free(frees[j]);
                        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
                    }
                    ASSERT_EQ(stats_of(one.pool).in_use, count - i - 1);
                }
                const std::vector<void*> again = one.take(count);
                expect_all_different(again);
                one.give(again);
            });
        }
    }
}

TEST(pool_undo, a_block_that_was_taken_last_from_another_pool_is_not_this_ones)
{
    for (const char* const level : {"check", "off"}) {
        egb_pool_options others = options_for(64);
        others.level            = level_named(level);
        in_every_way(options_for(64), {"check"}, [&](way& one) {
            events      seen;
            const guard other(make(others));
            void* const mine = one.alloc();
            for (int i = 0; i < 70; i++) {
                void* const block = egb_pool_alloc(other);
                one.free(block);
                ASSERT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
                egb_pool_free(other, block);
                one.free(block);
                ASSERT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
            }
            one.free(mine);
            EXPECT_EQ(stats_of(one.pool).in_use, 0u);
            EXPECT_EQ(stats_of(other).in_use, 0u);
        });
    }
}

// ---- trim ---------------------------------------------------------------------------------------

namespace
{

// A pool of some chunks, all but the last wholly free, trimmed to that one. Blocks of the chunks
// that are gone, and free blocks of the last chunk, are freed again at every height of the
// magazine.
class trimmed
{
  public:
    trimmed(way& one, order wanted, bool by_others) : one_(one), random_(3)
    {
        blocks_ = one.take(COUNT);
        kept_   = blocks_.back();
        EXPECT_GE(stats_of(one.pool).chunks, 4u);
        give(std::vector<void*>(blocks_.begin(), blocks_.end() - 1), wanted);
        if (by_others) {
            give_by_others(one.take(COUNT / 2));
        }
        const auto trim = [&] {
            EXPECT_GT(egb_pool_trim(one.pool, 0), 0u);
        };
        by_others ? std::thread(trim).join() : trim();
        EXPECT_EQ(stats_of(one.pool).chunks, 1u);
    }

    // A few blocks, so that the batch is not filled anew, and more than three batches have.
    void use_it_again()
    {
        expect_refused();
        for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, BATCHES}) {
            for (const order wanted : every_order) {
                go_up_and_down(count, wanted);
            }
        }
        EXPECT_EQ(stats_of(one_.pool).chunks, 1u);
        one_.free(kept_);
    }

    static constexpr std::size_t BYTES = 4096;

  private:
    static constexpr std::size_t COUNT   = 400;
    static constexpr std::size_t BATCH   = EGB_MAGAZINE_BYTES_MAX / BYTES;
    static constexpr std::size_t BATCHES = 3 * BATCH + 2;

    void give(const std::vector<void*>& blocks, order wanted)
    {
        one_.give(in_order(blocks, wanted, &random_));
    }

    // Threads with a batch each, so that those this one has used up stay with the pool.
    void give_by_others(const std::vector<void*>& blocks)
    {
        for (std::size_t i = 0; i < blocks.size(); i += BATCH) {
            const std::size_t count = std::min(BATCH, blocks.size() - i);
            std::thread([&] { egb_pool_free_many(one_.pool, &blocks[i], count); }).join();
        }
    }

    void go_up_and_down(std::size_t count, order wanted)
    {
        std::vector<void*> held;
        while (held.size() < count) {
            held.push_back(one_.alloc());
            live_.insert(held.back());
            expect_refused();
        }
        for (void* const block : in_order(held, wanted, &random_)) {
            one_.free(block);
            live_.erase(block);
            expect_refused();
        }
        EXPECT_EQ(stats_of(one_.pool).in_use, 1u);
    }

    void expect_refused()
    {
        for (void* const block : blocks_) {
            if (block != kept_ && live_.count(block) == 0) {
                const bool is_here = egb_pool_of(block) == one_.pool;
                gone_ += is_here ? 0u : 1u;
                one_.free(block);
                ASSERT_EQ(seen_.take_kind(), is_here ? EGB_MISUSE_DOUBLE_FREE : EGB_MISUSE_FOREIGN);
            }
        }
        ASSERT_GT(gone_, 0u);
    }

    way&               one_;
    events             seen_;
    randoms            random_;
    std::vector<void*> blocks_;
    void*              kept_;
    std::set<void*>    live_;
    std::size_t        gone_ = 0;
};

}  // namespace

TEST(pool_undo, what_a_magazine_remembers_of_chunks_that_are_gone_is_not_looked_at)
{
    for (const order wanted : every_order) {
        for (const bool by_others : {false, true}) {
            in_every_way(options_for(trimmed::BYTES), {"check"}, [&](way& one) {
                trimmed(one, wanted, by_others).use_it_again();
            });
        }
    }
}

// A trim in the middle of a descent: blocks that are in use stay where they are, and can be undone.
TEST(pool_undo, a_trim_leaves_blocks_in_use_alone)
{
    in_every_way(options_for(4096), {"check", "off"}, [](way& one) {
        for (std::size_t count = 1; count < 120; count += 3) {
            std::vector<void*> blocks = one.take(count);
            for (std::size_t i = 0; i < count; i++) {
                fill(blocks[i], 4096, i);
            }
            for (std::size_t i = count; i > 0; i--) {
                ASSERT_TRUE(is_filled(blocks[i - 1], 4096, i - 1));
                one.free(blocks[i - 1]);
                if (i % 5 == 0) {
                    (void)egb_pool_trim(one.pool, 0);
                }
            }
            ASSERT_EQ(stats_of(one.pool).in_use, 0u);
        }
    });
}

// ---- caches that are not open -------------------------------------------------------------------

TEST(pool_undo, a_cache_that_is_zero_or_closed_takes_no_block)
{
    in_every_way(options_for(64), {"check", "off"}, [](way& one) {
        events       seen;
        egb_magazine cache{};
        void*        block = one.alloc();
        for (int round = 0; round < 3; round++) {
            egb_magazine_free(&cache, block);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
            egb_magazine_free(&cache, nullptr);
            ASSERT_EQ(egb_magazine_open(&cache, one.pool), EGB_OK);
            egb_magazine_free(&cache, block);
            block = egb_magazine_alloc(&cache);
            egb_magazine_close(&cache);
        }
        EXPECT_EQ(stats_of(one.pool).in_use, 1u);
        one.free(block);
    });
}

// The magazine remembers blocks that it handed out. These entries lead to no pool that is gone.
TEST(pool_undo, a_cache_of_a_destroyed_pool_takes_no_block)
{
    for (const char* const level : {"check", "off"}) {
        for (const std::size_t count : {1u, 2u, 62u, 63u, 100u}) {
            events           seen;
            egb_pool_options options = options_for(64);
            options.level            = level_named(level);
            const egb_pool pool      = make(options);
            egb_magazine   cache;
            ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
            std::vector<void*> blocks;
            for (std::size_t i = 0; i < count; i++) {
                blocks.push_back(egb_magazine_alloc(&cache));
            }
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
            for (std::size_t i = count; i > 0; i--) {
                egb_magazine_free(&cache, blocks[i - 1]);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE) << level << ", " << i;
                EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE) << level << ", " << i;
            }
            egb_magazine_close(&cache);
        }
    }
}

// The memory is the caller's again: not a byte of it is read as a state, or written.
TEST(pool_undo, a_cache_of_a_destroyed_static_pool_leaves_the_memory_alone)
{
    for (const char* const level : {"check", "off"}) {
        for (const char byte : {'\0', '\1', '\2'}) {
            events                  seen;
            alignas(64) static char memory[8192];
            egb_pool_options        options = options_for(64);
            options.memory                  = memory;
            options.memory_bytes            = sizeof memory;
            options.level                   = level_named(level);
            const egb_pool pool             = make(options);
            egb_magazine   cache;
            ASSERT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
            void* const block = egb_magazine_alloc(&cache);
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
            std::memset(memory, byte, sizeof memory);
            egb_magazine_free(&cache, block);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
            EXPECT_EQ(std::count(std::begin(memory), std::end(memory), byte), 8192);
            egb_magazine_close(&cache);
        }
    }
}

// SPDX-License-Identifier: MIT
// The peak of a pool: exact where one thread uses it, never too small where several do.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

namespace
{

egb_pool make_checked(std::size_t bytes, std::size_t max_blocks = 0)
{
    egb_pool_options options = options_for(bytes);
    options.level            = EGB_LEVEL_CHECK;
    options.max_blocks       = max_blocks;
    return make(options);
}

// A random walk that may stay far below its peak for longer than a magazine lasts.
class walk
{
  public:
    walk(egb_pool pool, std::size_t seed) : pool_(pool), random_(seed) {}

    void take()
    {
        held_.push_back(egb_pool_alloc(pool_));
        ASSERT_NE(held_.back(), nullptr);
        freed_.erase(held_.back());
        most_ = std::max(most_, held_.size());
    }

    void give()
    {
        std::swap(held_[random_.below(held_.size())], held_.back());
        egb_pool_free(pool_, held_.back());
        freed_.insert(held_.back());
        held_.pop_back();
    }

    void step(std::size_t percent)
    {
        if (held_.empty() || random_.below(100) < percent) {
            take();
        } else {
            give();
        }
    }

    void end()
    {
        give_all(pool_, held_);
        held_.clear();
    }

    [[nodiscard]] const std::set<void*>& freed() const
    {
        return freed_;
    }

    [[nodiscard]] std::size_t most() const
    {
        return most_;
    }

  private:
    egb_pool           pool_;
    randoms            random_;
    std::vector<void*> held_;
    std::set<void*>    freed_;
    std::size_t        most_ = 0;
};

}  // namespace

TEST(pool_peak, ten_blocks_are_ten)
{
    const guard        pool(make_checked(64));
    std::vector<void*> blocks;
    for (std::size_t count = 1; count <= 300; count++) {
        blocks.push_back(egb_pool_alloc(pool));
        ASSERT_EQ(stats_of(pool).peak, count);
    }
    give_all(pool, blocks);
    EXPECT_EQ(stats_of(pool).peak, 300u);
}

// Nobody asks before the end: what happened within a magazine is still known.
TEST(pool_peak, is_exact_without_a_question_in_between)
{
    for (const std::size_t bytes : {16u, 64u, 2000u, 30000u, 70000u}) {
        for (std::size_t seed = 0; seed < 20; seed++) {
            const guard pool(make_checked(bytes));
            walk        one(pool, seed);
            for (int step = 0; step < 2000; step++) {
                one.step(step / 250 % 2 == 0 ? 70 : 32);
            }
            ASSERT_EQ(stats_of(pool).peak, one.most()) << bytes << " " << seed;
            one.end();
            ASSERT_EQ(stats_of(pool).peak, one.most()) << bytes << " " << seed;
        }
    }
}

TEST(pool_peak, is_exact_after_trims_and_at_a_limit)
{
    for (std::size_t seed = 0; seed < 20; seed++) {
        const guard pool(make_checked(64, 5000));
        walk        one(pool, seed);
        for (int step = 0; step < 2000; step++) {
            one.step(step / 100 % 2 == 0 ? 60 : 45);
            if (step % 170 == 0) {
                egb_pool_trim(pool, 0);
            }
        }
        ASSERT_EQ(stats_of(pool).peak, one.most()) << seed;
        one.end();
    }
}

TEST(pool_peak, is_exact_when_threads_follow_each_other)
{
    const guard pool(make_checked(64));
    std::size_t most = 0;
    for (const std::size_t count : {10u, 700u, 30u, 701u}) {
        std::thread([&] { give_all(pool, take_all(pool, count)); }).join();
        most = std::max(most, count);
        EXPECT_EQ(stats_of(pool).peak, most);
    }
}

// A mark that the peak leaves on a free block does not hide a second free.
TEST(pool_peak, a_block_that_rests_is_not_freed_twice)
{
    events      seen;
    const guard pool(make_checked(64));
    walk        one(pool, 1);
    for (int step = 0; step < 2000; step++) {
        one.step(step / 100 % 2 == 0 ? 60 : 45);
        if (step % 170 == 0) {
            egb_pool_trim(pool, SIZE_MAX);
        }
        if (step % 19 == 0) {
            for (void* const block : one.freed()) {
                egb_pool_free(pool, block);
                ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE) << step;
            }
        }
    }
    one.end();
}

// Each of four threads holds blocks that it took and gave back: in turns, and all at one time.
TEST(pool_peak, of_several_threads_is_a_bound)
{
    const guard              pool(make_checked(64));
    std::atomic<int>         at{0};
    std::vector<std::thread> threads;
    const auto               meet = [&](int count) {
        at++;
        while (at < count) {
            std::this_thread::yield();
        }
    };
    for (std::size_t i = 0; i < 4; i++) {
        threads.emplace_back([&, i] {
            give_all(pool, take_all(pool, 100 * i + 1));
            meet(4);
            const std::vector<void*> blocks = take_all(pool, 100);
            meet(8);
            give_all(pool, blocks);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_GE(stats_of(pool).peak, 400u);
    EXPECT_LE(stats_of(pool).peak, 604u + 4 * 3 * EGB_MAGAZINE_BLOCKS_MAX);
}

TEST(pool_peak, a_block_that_rests_in_a_magazine_is_free)
{
    const guard              pool(make_checked(64));
    const std::vector<void*> blocks = take_all(pool, 200);
    give_all(pool, blocks);
    void* const one = egb_pool_alloc(pool);  // the magazine is full of blocks that were used
    for (void* const block : blocks) {
        EXPECT_EQ(egb_pool_is_live(pool, block), block == one);
    }
    egb_pool_free(pool, one);
}

// SPDX-License-Identifier: MIT
// The cost of a refusal by an exhausted pool, counted in instructions, locked instructions and
// system calls: as high beside 64 threads that had blocks as beside one. The first refusal looks
// for free blocks in the magazines of all threads, and executes a fence in each.
#include "steps.hpp"
#include "stress.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

namespace
{

constexpr std::size_t unit_bytes = 65536;

struct cost {
    std::size_t instructions = 0;
    std::size_t locked       = 0;
    std::size_t calls        = 0;
};

cost the_cost;

void count_next()
{
    const unsigned char* const bytes = steps::next_bytes();
    the_cost.instructions++;
    the_cost.locked += bytes[0] == 0xF0 || bytes[0] == 0x87 ? 1 : 0;  // the prefix, and xchg
    the_cost.calls += bytes[0] == 0x0F && bytes[1] == 0x05 ? 1 : 0;
}

template <class Calls>
cost cost_of(Calls calls)
{
    const steps all(count_next);
    the_cost = cost{};
    all.through(calls);
    return the_cost;
}

cost cost_of_refusal(egb_pool pool)
{
    void*      block = nullptr;
    const cost found = cost_of([&] { block = egb_pool_alloc(pool); });
    EXPECT_EQ(block, nullptr);
    return found;
}

// How a pool comes to its limit.
enum class limit { blocks, memory, budget, parents_budget, grandparents_budget };

struct setting {
    limit       how;
    const char* level;
    bool        holds;  // each thread has a block in use, the last one of its magazine
    const char* name;
};

std::ostream& operator<<(std::ostream& out, const setting& one)
{
    return out << one.name;
}

const setting settings[] = {
    {limit::blocks, "check", false, "blocks"},
    {limit::blocks, "check", true, "blocks_in_use"},
    {limit::blocks, "off", false, "blocks_off"},
    {limit::blocks, "guard", false, "blocks_guard"},
    {limit::memory, "check", false, "memory"},
    {limit::memory, "off", true, "memory_in_use_off"},
    {limit::budget, "check", false, "budget"},
    {limit::parents_budget, "check", true, "parents_budget"},
    {limit::grandparents_budget, "off", false, "grandparents_budget_off"},
};

class refusals : public testing::TestWithParam<setting>
{
  public:
    refusals()
    {
        egb_pool_options options{};
        options.block_bytes = 200;
        options.level       = level_named(GetParam().level);
        switch (GetParam().how) {
            case limit::blocks: options.max_blocks = 300; break;
            case limit::memory:
                options.memory       = memory_;
                options.memory_bytes = sizeof memory_;
                break;
            case limit::budget: options.budget_bytes = unit_bytes; break;
            case limit::parents_budget:
                options.parent = above_ = make_parent({}, unit_bytes);
                break;
            default: options.parent = make_parent(above_ = make_parent({}, unit_bytes), 0); break;
        }
        pool = stress::make(options);
    }

    ~refusals() override
    {
        EXPECT_EQ(
            egb_pool_destroy(above_.generation != 0 ? above_ : pool, EGB_DESTROY_FORCE), EGB_OK
        );
    }

    egb_pool pool{};

  private:
    static egb_pool make_parent(egb_pool parent, std::size_t budget)
    {
        egb_pool_options options{};
        options.block_bytes  = 64;
        options.parent       = parent;
        options.budget_bytes = budget;
        return stress::make(options);
    }

    egb_pool above_{};
    alignas(64) unsigned char memory_[unit_bytes];
};

// Threads that each had a block of the pool, and freed it or not, and wait. One after the other:
// while one of them is inside a call, another's look for the last blocks cannot be sure of it, and
// looks at its magazine again and again.
class others
{
  public:
    others(egb_pool pool, std::size_t count, bool holds) : step_(count + 1)
    {
        for (std::size_t i = 0; i < count; i++) {
            threads_.emplace_back([this, pool, holds] {
                void* const block = take_and_give(pool, holds);
                step_.wait();
                step_.wait();
                if (holds) {
                    egb_pool_free(pool, block);
                }
            });
        }
        step_.wait();
    }

    // Those that have a block free it.
    void end()
    {
        step_.wait();
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

  private:
    void* take_and_give(egb_pool pool, bool holds)
    {
        const std::lock_guard<std::mutex> one_at_a_time(turn_);
        void* const                       block = egb_pool_alloc(pool);
        MUST(block != nullptr);
        if (!holds) {
            egb_pool_free(pool, block);
        }
        return block;
    }

    std::mutex               turn_;
    stress::barrier          step_;
    std::vector<std::thread> threads_;
};

std::vector<void*> take_all_of(egb_pool pool)
{
    std::vector<void*> blocks;
    for (void* block = egb_pool_alloc(pool); block != nullptr; block = egb_pool_alloc(pool)) {
        blocks.push_back(block);
    }
    return blocks;
}

std::string name_of(const testing::TestParamInfo<setting>& info)
{
    return info.param.name;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(all, refusals, testing::ValuesIn(settings), name_of);

TEST_P(refusals, cost_the_same_beside_one_thread_and_beside_64)
{
    cost costs[2];
    for (std::size_t i = 0; i < 2; i++) {
        others                   all(pool, i == 0 ? 1 : 64, GetParam().holds);
        const std::vector<void*> blocks = take_all_of(pool);
        EXPECT_EQ(egb_pool_alloc(pool), nullptr);  // which empties the magazine of this thread
        costs[i] = cost_of_refusal(pool);
        all.end();
        for (void* const block : blocks) {
            egb_pool_free(pool, block);
        }
        const std::vector<void*> again = take_all_of(pool);
        EXPECT_EQ(again.size(), blocks.size() + (GetParam().holds ? (i == 0 ? 1 : 64) : 0));
        for (void* const block : again) {
            egb_pool_free(pool, block);
        }
    }
    EXPECT_GT(costs[0].instructions, 10u);
    EXPECT_LE(costs[1].instructions, costs[0].instructions + 10);
    EXPECT_EQ(costs[1].locked, costs[0].locked);
    EXPECT_EQ(costs[1].calls, 0u);
}

// A thread that has had many blocks remembers the last one. Its magazine is looked at each time,
// which costs some reads, and neither a lock nor a fence.
TEST_P(refusals, execute_no_fence_beside_threads_that_remember_blocks)
{
    stress::barrier step(2);
    std::thread     other([&] {
        void* blocks[5];
        MUST(egb_pool_alloc_many(pool, blocks, 5) == 5);
        step.wait();
        step.wait();
        egb_pool_free(pool, blocks[4]);
        step.wait();
        step.wait();
        egb_pool_free_many(pool, blocks, 4);
    });
    step.wait();
    std::vector<void*> blocks = take_all_of(pool);
    EXPECT_EQ(cost_of_refusal(pool).calls, 0u);
    step.wait();
    step.wait();
    blocks.push_back(egb_pool_alloc(pool));  // an undo, without a lock, has made it free
    EXPECT_NE(blocks.back(), nullptr);
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    EXPECT_EQ(cost_of_refusal(pool).calls, 0u);
    step.wait();
    other.join();
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    EXPECT_EQ(stress::stats_of(pool).in_use, 0u);
}

// A free is known at once, whoever frees, and whatever else the pool's threads do.
TEST_P(refusals, end_with_the_next_free)
{
    others                   all(pool, 8, GetParam().holds);
    const std::vector<void*> blocks = take_all_of(pool);
    for (void* const block : blocks) {
        std::thread([&] { egb_pool_free(pool, block); }).join();
        void* const mine = egb_pool_alloc(pool);
        ASSERT_EQ(mine, block);
        ASSERT_EQ(egb_pool_alloc(pool), nullptr);
        egb_pool_free(pool, mine);
        ASSERT_EQ(egb_pool_alloc(pool), block);
        ASSERT_EQ(egb_pool_alloc(pool), nullptr);
    }
    all.end();
}

// After as many calls as there are magazines the next look is paid for, however few the blocks are.
TEST(refusals_of_few, do_not_make_later_calls_take_the_lock)
{
    constexpr std::size_t limit = 3;
    const egb_pool        pool  = stress::make(64, limit);
    others                one(pool, 1, false);  // a process of one thread has no locked instruction
    egb_magazine          caches[8]{};
    for (egb_magazine& cache : caches) {
        EXPECT_EQ(egb_magazine_open(&cache, pool), EGB_OK);
    }
    const std::vector<void*> blocks = take_all_of(pool);
    EXPECT_EQ(blocks.size(), limit);
    egb_pool_free_many(pool, blocks.data(), limit);
    const auto pair = [&] {
        egb_pool_free(pool, egb_pool_alloc(pool));
    };
    EXPECT_GT(cost_of(pair).locked, 0u);
    for (std::size_t i = 0; i < std::size(caches); i++) {
        pair();
    }
    EXPECT_EQ(cost_of(pair).locked, 0u);
    for (egb_magazine& cache : caches) {
        egb_magazine_close(&cache);
    }
    one.end();
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

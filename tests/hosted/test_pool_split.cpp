// SPDX-License-Identifier: MIT
// Pools that are split: each lane's part of the depot has a lock of its own. The pool must be as
// exact as with one lock, whoever asks it meanwhile.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

extern "C" {
#include "pool/live_numbers.h"
#include "pool/registry.h"
}

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#if !defined(_WIN32)
  #include <sys/wait.h>
  #include <unistd.h>
#endif

namespace
{

using pool_split = needs_magazines;

constexpr std::size_t batch    = EGB_MAGAZINE_BLOCKS_MAX;
constexpr const char* levels[] = {"check", "off"};

egb_pool make_at(const char* level, std::size_t bytes)
{
    egb_pool_options options = options_for(bytes);
    options.level            = level_named(level);
    return make(options);
}

// The state of a depot, read with the pool locked.
struct view {
    bool          is_split;
    std::uint32_t moves;
};

template <class Look>
view look_at(egb_pool pool, const Look& look)
{
    egb_control* const control = egb_pool_lock_(pool);
    look(control->depot);
    const view seen{control->depot.is_split, control->depot.moves};
    egb_pool_unlock_(control);
    return seen;
}

view look_at(egb_pool pool)
{
    return look_at(pool, [](const egb_depot&) {});
}

// A magazine that is alone makes no use of the parts.
class company
{
  public:
    explicit company(egb_pool pool)
    {
        EXPECT_EQ(egb_magazine_open(&cache_, pool), EGB_OK);
    }

    ~company()
    {
        egb_magazine_close(&cache_);
    }

    company(const company&)            = delete;
    company& operator=(const company&) = delete;

  private:
    egb_magazine cache_;
};

void split(egb_pool pool)
{
    EXPECT_TRUE(look_at(pool, [](egb_depot& depot) {
                    EXPECT_TRUE(egb_depot_split_(&depot));
                }).is_split);
}

// The magazine has full batches, and there is an empty one. No malloc: that of a sanitizer hangs in
// the child of a fork if another thread was in it.
void warm(egb_pool pool)
{
    std::array<void*, 8 * batch> blocks;
    for (int round = 0; round < 3; round++) {
        std::size_t count = 0;
        while (count < blocks.size() && (blocks[count] = egb_pool_alloc(pool)) != nullptr) {
            count++;
        }
        egb_pool_free_many(pool, blocks.data(), count);
    }
}

std::uint64_t free_blocks(const egb_pool_stats& stats)
{
    return stats.capacity - stats.in_use;
}

// Blocks go from thread to thread. Each has a mark that nobody else may change.
class exchange
{
  public:
    explicit exchange(egb_pool pool) : pool_(pool) {}

    void run(std::size_t threads, int rounds)
    {
        std::vector<std::thread> running;
        for (std::size_t which = 0; which < threads; which++) {
            running.emplace_back([=] {
                for (int round = 0; round < rounds; round++) {
                    one_round(which);
                }
            });
        }
        for (std::thread& one : running) {
            one.join();
        }
        for (std::atomic<void*>& place : between_) {
            give(place.exchange(nullptr));
        }
    }

    std::uint64_t taken() const
    {
        return taken_;
    }

  private:
    static constexpr std::size_t count = 5 * batch;

    void* take(std::size_t which)
    {
        void* const block = egb_pool_alloc(pool_);
        EXPECT_NE(block, nullptr);
        std::memset(block, static_cast<int>(which + 1), 2 * sizeof(void*));
        taken_++;
        return block;
    }

    void give(void* block)
    {
        if (block != nullptr) {
            const auto* const bytes = static_cast<const unsigned char*>(block);
            EXPECT_EQ(bytes[0], bytes[2 * sizeof(void*) - 1]);
            egb_pool_free(pool_, block);
        }
    }

    void one_round(std::size_t which)
    {
        std::vector<void*> own(count);
        for (void*& block : own) {
            block = take(which);
        }
        for (std::size_t i = 0; i < count; i++) {
            give(between_[(i * 7 + which) % count].exchange(own[i]));
        }
    }

    egb_pool                   pool_;
    std::atomic<void*>         between_[count] = {};
    std::atomic<std::uint64_t> taken_{0};
};

void expect_all_free(egb_pool pool, std::uint64_t taken)
{
    const egb_pool_stats stats = stats_of(pool);
    EXPECT_EQ(stats.in_use, 0u);
    EXPECT_EQ(stats.allocations, taken);
    EXPECT_EQ(stats.frees, taken);
    EXPECT_EQ(egb_pool_trim(pool, 0), stats.bytes_held);
    EXPECT_EQ(stats_of(pool).bytes_held, 0u);
}

}  // namespace

// Otherwise the tests below would look at nothing.
TEST_F(pool_split, exchanges_batches_with_the_part_of_a_lane_alone)
{
    for (const char* const level : levels) {
        const guard   pool(make_at(level, 64));
        const company other(pool);
        warm(pool);
        split(pool);
        warm(pool);
        const std::uint32_t before = look_at(pool).moves;
        warm(pool);
        EXPECT_GE(look_at(pool).moves, before + 3 * 2 * 5) << level;
    }
}

TEST_F(pool_split, counts_as_a_pool_with_one_lock_does)
{
    for (const char* const level : levels) {
        for (const std::size_t bytes : {16u, 64u, 1024u, 4096u}) {
            const guard one(make_at(level, bytes));
            const guard other(make_at(level, bytes));
            auto        company_of_one   = std::make_unique<company>(one);
            auto        company_of_other = std::make_unique<company>(other);
            split(other);
            for (const std::size_t count : {1000u, 10u, 3000u, 129u, 128u, 2000u}) {
                const std::vector<void*> blocks = take_all(one, count);
                const std::vector<void*> same   = take_all(other, count);
                EXPECT_EQ(stats_of(other).in_use, stats_of(one).in_use);
                give_all(one, blocks);
                give_all(other, same);
                const egb_pool_stats stats = stats_of(other);
                EXPECT_EQ(stats.in_use, 0u);
                EXPECT_EQ(stats.allocations, stats_of(one).allocations);
                EXPECT_GE(stats.peak, stats_of(one).peak - (level == levels[0] ? 0 : batch));
                EXPECT_LE(stats.peak, 3000u + 2 * 3 * batch);
                EXPECT_LE(stats.in_magazines, free_blocks(stats));
            }
            company_of_one.reset();
            company_of_other.reset();
            expect_all_free(other, stats_of(one).allocations);
        }
    }
}

TEST_F(pool_split, loses_no_block_between_threads)
{
    for (const char* const level : levels) {
        const guard pool(make_at(level, 64));
        give_all(pool, take_all(pool, 1));
        split(pool);
        exchange blocks(pool);
        blocks.run(5, 20);
        expect_all_free(pool, blocks.taken() + 1);
    }
}

TEST_F(pool_split, is_exact_while_others_ask_and_trim)
{
    for (const char* const level : levels) {
        const guard       pool(make_at(level, 64));
        std::atomic<bool> is_over{false};
        split(pool);
        exchange    blocks(pool);
        std::thread asking([&] {
            while (!is_over) {
                const egb_pool_stats stats = stats_of(pool);
                EXPECT_LE(stats.in_use, 5u * 2 * 5 * batch);
                EXPECT_LE(stats.in_use + stats.in_magazines, stats.capacity);
                (void)egb_pool_trim(pool, 0);
                split(pool);
                std::this_thread::yield();
            }
        });
        blocks.run(4, 10);
        is_over = true;
        asking.join();
        expect_all_free(pool, blocks.taken());
    }
}

// Each step may come between any two of an exchange.
TEST_F(pool_split, is_exact_while_it_is_split_and_in_one_in_turns)
{
    for (const char* const level : levels) {
        const guard       pool(make_at(level, 64));
        std::atomic<bool> is_over{false};
        exchange          blocks(pool);
        std::thread       turning([&] {
            for (bool is_split = true; !is_over; is_split = !is_split) {
                (void)look_at(pool, [=](egb_depot& depot) {
                    if (is_split) {
                        EXPECT_TRUE(egb_depot_split_(&depot));
                    } else {
                        egb_depot_join_(&depot);
                    }
                });
                std::this_thread::yield();
            }
        });
        blocks.run(4, 10);
        is_over = true;
        turning.join();
        expect_all_free(pool, blocks.taken());
    }
}

// A handler of a signal asks, whose thread may have been interrupted in an exchange. It may have
// come for the lock of a part before the depot was in one again.
TEST_F(pool_split, tells_that_the_lock_of_a_part_is_held)
{
    const guard pool(make(64));
    egb_depot&  depot = egb_control_of_(pool)->depot;
    EXPECT_TRUE(egb_depot_is_free_soon_(&depot, 2));
    split(pool);
    EXPECT_TRUE(egb_depot_is_free_soon_(&depot, 2));
    egb_os_lock_(&depot.parts[EGB_LANES - 1].lock);
    EXPECT_FALSE(egb_depot_is_free_soon_(&depot, 2));
    egb_os_unlock_(&depot.parts[EGB_LANES - 1].lock);
    (void)look_at(pool, [](egb_depot& one) { egb_depot_join_(&one); });
    egb_os_lock_(&depot.parts[0].lock);
    EXPECT_FALSE(egb_depot_is_free_soon_(&depot, 2));
    egb_os_unlock_(&depot.parts[0].lock);
    EXPECT_TRUE(egb_depot_is_free_soon_(&depot, 2));
}

TEST_F(pool_split, tells_a_second_free)
{
    events      seen;
    const guard pool(make_at("check", 64));
    split(pool);
    warm(pool);
    const std::vector<void*> blocks = take_all(pool, 5 * batch);
    std::thread([&] { give_all(pool, blocks); }).join();
    for (void* const block : {blocks.front(), blocks[2 * batch], blocks.back()}) {
        egb_pool_free(pool, block);
        EXPECT_EQ(seen.take().kind, EGB_MISUSE_DOUBLE_FREE);
    }
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

// The magazine is full again and again, and then a free looks at its block.
TEST_F(pool_split, tells_some_of_what_cannot_be_freed_at_off)
{
    events        seen;
    const guard   pool(make_at("off", 64));
    const company other(pool);
    split(pool);
    warm(pool);
    std::vector<void*> blocks = take_all(pool, 8 * batch);
    std::size_t        told   = 0;
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    blocks = take_all(pool, 8 * batch);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        egb_pool_free(pool, blocks[i]);
        egb_magazine_* const magazine = egb_magazine_of_key_(egb_pool_key_(pool));
        if (told == 0 && magazine->top == magazine->full) {
            egb_pool_free(pool, static_cast<char*>(blocks[i]) + 1);
            EXPECT_EQ(seen.take().kind, EGB_MISUSE_INTERIOR);
            told++;
        }
    }
    EXPECT_EQ(told, 1u);
}

// The next pool in the slot begins with one lock.
TEST_F(pool_split, ends_while_threads_have_magazines)
{
    for (int round = 0; round < 3; round++) {
        const egb_pool    pool = make(64);
        std::atomic<int>  ready{0};
        std::atomic<bool> is_gone{false};
        split(pool);
        std::vector<std::thread> running;
        for (int i = 0; i < 3; i++) {
            running.emplace_back([&] {
                warm(pool);
                ready++;
                while (!is_gone) {
                    std::this_thread::yield();
                }
                const guard other(make(64));
                EXPECT_FALSE(look_at(other).is_split);
                warm(other);
            });
        }
        while (ready != 3) {
            std::this_thread::yield();
        }
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
        is_gone = true;
        for (std::thread& one : running) {
            one.join();
        }
        const guard next(make(64));
        EXPECT_FALSE(look_at(next).is_split);
    }
}

// One lock in 16 of the last 256 was waited for; then the parts have nothing to do.
TEST_F(pool_split, is_split_and_in_one_again_by_the_counts)
{
    const guard   pool(make(64));
    const company other(pool);
    warm(pool);
    const auto wait_after = [&](std::uint32_t locks, std::uint32_t waits) {
        return look_at(
                   pool,
                   [=](egb_depot& depot) {
                       depot.locks = locks;
                       depot.waits = waits;
                       egb_depot_lock_parts_(&depot, true);
                   }
        ).is_split;
    };
    const auto end_window = [&](std::uint32_t moves) {
        (void)look_at(pool, [=](egb_depot& depot) {
            depot.locks = 255;
            depot.moves = moves;
        });
        return look_at(pool).is_split;
    };
    EXPECT_FALSE(wait_after(256, 14));
    EXPECT_FALSE(wait_after(257, 15)) << "15 waits are long ago";
    EXPECT_TRUE(wait_after(256, 15));
    EXPECT_TRUE(end_window(512));
    EXPECT_FALSE(end_window(500));
    std::uint32_t locks = 0;
    (void)look_at(pool, [&](const egb_depot& depot) { locks = depot.locks; });
    EXPECT_FALSE(wait_after(locks, 1000)) << "it was in parts lately, for nothing";
    EXPECT_FALSE(wait_after(0u - 1, 1000));
    EXPECT_TRUE(wait_after(0, 15));
}

// The last thread that uses the pool pays for nine locks no longer than a while.
TEST_F(pool_split, is_in_one_again_for_a_thread_that_is_alone)
{
    for (const char* const level : levels) {
        const guard pool(make_at(level, 64));
        warm(pool);
        split(pool);
        for (int i = 0; i < 32; i++) {
            warm(pool);
        }
        EXPECT_FALSE(look_at(pool).is_split) << level;
    }
}

// A lock that is free is not looked at.
TEST_F(pool_split, is_not_split_by_a_thread_that_waits_for_nobody)
{
    const guard   pool(make(64));
    const company other(pool);
    for (int i = 0; i < 32; i++) {
        warm(pool);
    }
    EXPECT_FALSE(look_at(pool).is_split);
    (void)look_at(pool, [](const egb_depot& depot) { EXPECT_EQ(depot.waits, 0u); });
}

// The live file has the numbers that a pool had at its last unlock.
TEST_F(pool_split, is_in_one_while_there_is_a_live_file)
{
    const guard   pool(make(64));
    const company other(pool);
    split(pool);
    warm(pool);
    const auto live = std::make_unique<egb_live_slot>();
    egb_live_pools_to_(live.get());
    EXPECT_FALSE(look_at(pool).is_split);
    const std::vector<void*> blocks = take_all(pool, 100 * batch);
    const view               seen   = look_at(pool, [&](const egb_depot& depot) {
        EXPECT_EQ(depot.moves, 0u);
        EXPECT_GE(egb_depot_out_(&depot), blocks.size());
    });
    EXPECT_FALSE(seen.is_split);
    give_all(pool, blocks);
    egb_live_pools_to_(nullptr);
}

// Blocks may be few there, and have to be found wherever they are.
TEST_F(pool_split, is_not_for_pools_with_a_limit)
{
    egb_pool_options options = options_for(64);
    options.max_blocks       = 1000;
    const guard   pool(make(options));
    const company other(pool);
    split(pool);
    for (int round = 0; round < 3; round++) {
        const std::vector<void*> blocks = take_all(pool);
        EXPECT_EQ(blocks.size(), 1000u);
        give_all(pool, blocks);
    }
    EXPECT_EQ(look_at(pool).moves, 0u);
}

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)
TEST_F(pool_split, is_whole_in_the_child_of_a_fork)
{
    const guard       pool(make(64));
    std::atomic<bool> is_over{false};
    split(pool);
    warm(pool);
    std::thread other([&] {
        while (!is_over) {
            warm(pool);
        }
    });
    for (int i = 0; i < 10; i++) {
        const pid_t child = fork();
        if (child == 0) {
            warm(pool);
            (void)egb_pool_trim(pool, 0);  // the parts have their batches still
            _exit(stats_of(pool).in_magazines == 0 && look_at(pool).is_split ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    is_over = true;
    other.join();
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}
#endif

// SPDX-License-Identifier: MIT
// Waiting for a block, promise by promise: egb_pool_alloc_for() and its answers. No test asks the
// clock: a block is handed over before the call that frees it returns.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace
{

// A thread takes its third block and the last three by itself, out of its magazine: they are left
// there, for an undo.
enum { limit = 7 };

// A thread that waits for a block, and its result.
class waiter
{
  public:
    explicit waiter(egb_pool pool, std::uint32_t timeout_ms = EGB_FOREVER)
        : thread_([this, pool, timeout_ms] {
              answer = egb_pool_alloc_for(pool, &block, timeout_ms);
          })
    {
    }

    ~waiter()
    {
        end();
    }

    waiter(const waiter&)            = delete;
    waiter& operator=(const waiter&) = delete;

    egb_status end()
    {
        if (thread_.joinable()) {
            thread_.join();
        }
        return answer;
    }

    egb_status answer = EGB_BUSY;
    void*      block  = &block;

  private:
    std::thread thread_;
};

void until_waiting(egb_pool pool, std::size_t count)
{
    while (egb_pool_waiting(pool) != count) {
        std::this_thread::yield();
    }
}

// Another thread is refused: after that the pool is tight.
void refuse_in_another_thread(egb_pool pool)
{
    std::thread([pool] { EXPECT_EQ(egb_pool_alloc(pool), nullptr); }).join();
}

egb_pool_options limited(const char* level)
{
    egb_pool_options options = options_for(64);
    options.max_blocks       = limit;
    options.level            = level_named(level);
    return options;
}

class pool_wait : public testing::TestWithParam<const char*>
{
  protected:
    ~pool_wait() override
    {
        if (egb_pool_alive(pool)) {
            EXPECT_EQ(egb_pool_waiting(pool), 0u);
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
        }
    }

    void SetUp() override
    {
        const egb_pool_options options = limited(GetParam());
        const egb_status       status  = egb_pool_create(&pool, &options);
        if (status == EGB_UNSUPPORTED) {
            GTEST_SKIP() << "the level is not to be had here";
        }
        EXPECT_EQ(status, EGB_OK);
    }

    egb_pool pool{};
};

std::string name_of(const testing::TestParamInfo<const char*>& info)
{
    return info.param;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    all,
    pool_wait,
    testing::Values("off", "check", "guard", "track", "sample", "passthrough"),
    name_of
);

TEST_P(pool_wait, a_free_block_is_had_at_once)
{
    void* block = nullptr;
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, 0), EGB_OK);
    EXPECT_TRUE(egb_pool_is_live(pool, block));
    void* other = nullptr;
    EXPECT_EQ(egb_pool_alloc_for(pool, &other, EGB_FOREVER), EGB_OK);
    EXPECT_NE(block, other);
    egb_pool_free(pool, block);
    egb_pool_free(pool, other);
    EXPECT_EQ(egb_pool_waiting(pool), 0u);
}

TEST_P(pool_wait, empty_timed_out_and_cancelled_are_three_answers)
{
    const std::vector<void*> held  = take_all(pool);
    void*                    block = &block;
    EXPECT_EQ(held.size(), std::size_t(limit));
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, 0), EGB_EMPTY);
    EXPECT_EQ(block, nullptr);
    block = &block;
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, 1), EGB_TIMED_OUT);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(egb_pool_cancel(pool), 0u);
    waiter one(pool), two(pool, 100000000);
    until_waiting(pool, 2);
    EXPECT_EQ(egb_pool_cancel(pool), 2u);
    EXPECT_EQ(egb_pool_waiting(pool), 0u);
    EXPECT_EQ(one.end(), EGB_CANCELLED);
    EXPECT_EQ(two.end(), EGB_CANCELLED);
    EXPECT_EQ(one.block, nullptr);
    EXPECT_EQ(two.block, nullptr);
    EXPECT_EQ(stats_of(pool).failures, 5u) << "and the one that take_all() ends with";
    give_all(pool, held);
}

// The thread that frees took the blocks from its magazine, and frees them in the order of a stack.
TEST_P(pool_wait, a_freed_block_goes_straight_to_the_thread_that_waits)
{
    std::vector<void*> held = take_all(pool, limit);
    refuse_in_another_thread(pool);
    for (std::size_t i = held.size(); i-- > 0;) {
        waiter one(pool);
        until_waiting(pool, 1);
        egb_pool_free(pool, held[i]);
        EXPECT_EQ(egb_pool_waiting(pool), 0u) << "it has its answer before free returns";
        EXPECT_EQ(egb_pool_alloc(pool), nullptr) << "and nobody else can have the block";
        EXPECT_EQ(one.end(), EGB_OK);
        EXPECT_TRUE(egb_pool_is_live(pool, one.block));
        EXPECT_EQ(stats_of(pool).in_use, std::size_t(limit));
        held[i] = one.block;
    }
    give_all(pool, held);
}

TEST_P(pool_wait, threads_are_served_in_the_order_of_their_arrival)
{
    enum { threads = 5 };
    const std::vector<void*>             held = take_all(pool);
    std::vector<std::unique_ptr<waiter>> waiters;
    for (std::size_t i = 0; i < threads; i++) {
        waiters.push_back(std::make_unique<waiter>(pool));
        until_waiting(pool, i + 1);
    }
    void* last = held[0];
    for (std::size_t i = 0; i < threads; i++) {
        egb_pool_free(pool, last);
        EXPECT_EQ(waiters[i]->end(), EGB_OK);
        EXPECT_EQ(egb_pool_waiting(pool), threads - 1 - i);
        last = waiters[i]->block;
    }
    egb_pool_free(pool, last);
    egb_pool_free_many(pool, &held[1], limit - 1);
}

TEST_P(pool_wait, a_timeout_in_the_middle_of_the_line_changes_no_other_place)
{
    const std::vector<void*> held = take_all(pool);
    waiter                   one(pool);
    until_waiting(pool, 1);
    waiter two(pool, 20);
    while (egb_pool_waiting(pool) < 2 && two.answer == EGB_BUSY) {
        std::this_thread::yield();
    }
    EXPECT_EQ(two.end(), EGB_TIMED_OUT);
    until_waiting(pool, 1);
    waiter three(pool);
    until_waiting(pool, 2);
    egb_pool_free(pool, held[0]);
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(egb_pool_waiting(pool), 1u);
    egb_pool_free(pool, held[1]);
    EXPECT_EQ(three.end(), EGB_OK);
    egb_pool_free(pool, one.block);
    egb_pool_free(pool, three.block);
    egb_pool_free_many(pool, &held[2], limit - 2);
}

TEST_P(pool_wait, a_destroyed_pool_ends_the_wait)
{
    const std::vector<void*> held = take_all(pool);
    waiter                   one(pool), two(pool, 100000000);
    until_waiting(pool, 2);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_BUSY);
    EXPECT_EQ(egb_pool_waiting(pool), 2u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(one.end(), EGB_STALE);
    EXPECT_EQ(two.end(), EGB_STALE);
    EXPECT_EQ(one.block, nullptr);
    EXPECT_EQ(egb_pool_waiting(pool), 0u);
    EXPECT_EQ(egb_pool_cancel(pool), 0u);
}

TEST_P(pool_wait, the_end_of_a_parent_ends_the_wait_too)
{
    const egb_pool   parent  = make(64);
    egb_pool_options options = limited(GetParam());
    options.parent           = parent;
    const egb_pool child     = make(options);
    (void)take_all(child);
    waiter one(child);
    until_waiting(child, 1);
    EXPECT_EQ(egb_pool_destroy(parent, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(one.end(), EGB_STALE);
}

// A pool that gets the slot of one that was waited for has nobody in its line.
TEST_P(pool_wait, the_next_pool_begins_anew)
{
    (void)take_all(pool);
    waiter one(pool);
    until_waiting(pool, 1);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool next = make(limited(GetParam()));
    EXPECT_EQ(egb_pool_waiting(next), 0u);
    EXPECT_EQ(one.end(), EGB_STALE);
    give_all(next, take_all(next));
    EXPECT_EQ(egb_pool_destroy(next, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST_P(pool_wait, misuse_is_told_and_answered)
{
    events misuse;
    void*  block = &block;
    EXPECT_EQ(egb_pool_alloc_for(pool, nullptr, 0), EGB_INVALID);
    EXPECT_EQ(egb_pool_alloc_for(egb_pool{}, &block, EGB_FOREVER), EGB_INVALID);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, EGB_FOREVER), EGB_STALE);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(egb_pool_waiting(egb_pool{}), 0u);
    EXPECT_EQ(egb_pool_cancel(egb_pool{}), 0u);
}

// ---- where free blocks may be -------------------------------------------------------------------

// The other threads do nothing, and their magazines have the blocks.
TEST(pool_waits, blocks_in_idle_magazines_are_had_without_a_wait)
{
    const guard       pool{make(limited("check"))};
    egb_magazine      cache{};
    std::atomic<bool> is_over{false}, is_full{false};
    std::thread       idle([&] {
        give_all(pool.pool, take_all(pool.pool));
        is_full = true;
        while (!is_over) {
            std::this_thread::yield();
        }
    });
    while (!is_full) {
        std::this_thread::yield();
    }
    void* block = nullptr;
    EXPECT_EQ(egb_pool_alloc_for(pool.pool, &block, EGB_FOREVER), EGB_OK);
    EXPECT_EQ(egb_magazine_open(&cache, pool.pool), EGB_OK);
    egb_magazine_free(&cache, block);
    std::thread([&] {
        std::vector<void*> all(limit);
        for (void*& one : all) {
            EXPECT_EQ(egb_pool_alloc_for(pool.pool, &one, EGB_FOREVER), EGB_OK);
        }
        give_all(pool.pool, all);
    }).join();
    egb_magazine_close(&cache);
    is_over = true;
    idle.join();
}

// A magazine that is opened while a thread waits takes no block.
TEST(pool_waits, a_free_by_an_owned_magazine_ends_the_wait)
{
    for (const char* const level : {"off", "check"}) {
        const guard              pool{make(limited(level))};
        const std::vector<void*> held = take_all(pool.pool, limit);
        refuse_in_another_thread(pool.pool);
        waiter one(pool.pool);
        until_waiting(pool.pool, 1);
        egb_magazine cache{};
        EXPECT_EQ(egb_magazine_open(&cache, pool.pool), EGB_OK);
        egb_magazine_free(&cache, held[0]);
        EXPECT_EQ(egb_pool_waiting(pool.pool), 0u);
        EXPECT_EQ(one.end(), EGB_OK);
        egb_pool_free(pool.pool, one.block);
        for (std::size_t i = 1; i < limit; i++) {
            egb_magazine_free(&cache, held[i]);
        }
        egb_magazine_close(&cache);
    }
}

// Blocks that an owned magazine handed out come back to it in the order of a stack.
TEST(pool_waits, so_does_the_undo_of_an_owned_magazine)
{
    for (const char* const level : {"off", "check"}) {
        const guard  pool{make(limited(level))};
        egb_magazine cache{};
        void*        held[limit];
        EXPECT_EQ(egb_magazine_open(&cache, pool.pool), EGB_OK);
        for (void*& block : held) {
            block = egb_magazine_alloc(&cache);
        }
        refuse_in_another_thread(pool.pool);
        for (std::size_t i = limit; i-- > 0;) {
            waiter one(pool.pool);
            until_waiting(pool.pool, 1);
            egb_magazine_free(&cache, held[i]);
            EXPECT_EQ(egb_pool_waiting(pool.pool), 0u);
            EXPECT_EQ(one.end(), EGB_OK);
            held[i] = one.block;
        }
        for (void* const block : held) {
            egb_pool_free(pool.pool, block);
        }
        egb_magazine_close(&cache);
    }
}

// After the wait magazines are used as before.
TEST_F(needs_magazines, serve_again_when_nobody_waits)
{
    const guard        pool{make(limited("check"))};
    std::vector<void*> held = take_all(pool.pool);
    {
        waiter one(pool.pool);
        until_waiting(pool.pool, 1);
        egb_pool_free(pool.pool, held[0]);
        EXPECT_EQ(one.end(), EGB_OK);
        held[0] = one.block;
    }
    give_all(pool.pool, held);
    for (int i = 0; i < 100; i++) {
        egb_pool_free(pool.pool, egb_pool_alloc(pool.pool));
    }
    EXPECT_NE(stats_of(pool.pool).in_magazines, 0u);
}

TEST(pool_waits, static_memory_may_be_waited_for)
{
    static unsigned char memory[4096];
    egb_pool_options     options = options_for(128);
    options.memory               = memory;
    options.memory_bytes         = sizeof memory;
    const guard              pool{make(options)};
    const std::vector<void*> held = take_all(pool.pool);
    waiter                   one(pool.pool);
    until_waiting(pool.pool, 1);
    egb_pool_free(pool.pool, held.back());
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(one.block, held.back());
    give_all(pool.pool, held);
}

// ---- budgets ------------------------------------------------------------------------------------

namespace
{

// Two pools below one with a budget of a chunk. The first has it.
struct siblings {
    siblings()
    {
        egb_pool_options options = options_for(1024);
        options.budget_bytes     = unit_bytes;
        root                     = make(options);
        first                    = make(1024, root);
        second                   = make(1024, root);
        held                     = take_all(first);
        EXPECT_GT(held.size(), 1u);
        EXPECT_EQ(egb_pool_alloc(second), nullptr);
    }

    ~siblings()
    {
        EXPECT_EQ(egb_pool_destroy(root, EGB_DESTROY_REFUSE), EGB_OK);
    }

    egb_pool           root{}, first{}, second{};
    std::vector<void*> held;
};

}  // namespace

TEST(pool_waits, a_budget_that_gets_bytes_back_by_a_trim_ends_the_wait)
{
    siblings of;
    waiter   one(of.second), two(of.second);
    until_waiting(of.second, 2);
    give_all(of.first, of.held);
    EXPECT_EQ(egb_pool_waiting(of.second), 2u) << "the chunk is the first pool's still";
    EXPECT_NE(egb_pool_trim(of.first, 0), 0u);
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(two.end(), EGB_OK);
    egb_pool_free(of.second, one.block);
    egb_pool_free(of.second, two.block);
}

TEST(pool_waits, so_does_the_end_of_a_sibling)
{
    siblings of;
    waiter   one(of.second), two(of.second);
    until_waiting(of.second, 2);
    EXPECT_EQ(egb_pool_destroy(of.first, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(two.end(), EGB_OK);
    egb_pool_free(of.second, one.block);
    egb_pool_free(of.second, two.block);
}

TEST(pool_waits, for_a_budget_a_cancel_a_timeout_and_a_free_of_its_own_pool_do_as_always)
{
    siblings of;
    waiter   one(of.first), two(of.second), three(of.second, 5);
    EXPECT_EQ(three.end(), EGB_TIMED_OUT);
    until_waiting(of.first, 1);
    until_waiting(of.second, 1);
    egb_pool_free(of.first, of.held.back());
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(egb_pool_cancel(of.second), 1u);
    EXPECT_EQ(two.end(), EGB_CANCELLED);
    of.held.back() = one.block;
    give_all(of.first, of.held);
}

// Nobody overtakes a thread that waits, not even when memory comes back.
TEST(pool_waits, memory_that_comes_back_is_for_the_first_in_the_line)
{
    siblings of;
    waiter   one(of.second);
    until_waiting(of.second, 1);
    EXPECT_EQ(egb_pool_alloc(of.second), nullptr);
    give_all(of.first, of.held);
    EXPECT_NE(egb_pool_trim(of.first, 0), 0u);
    EXPECT_EQ(one.end(), EGB_OK);
    void* const block = egb_pool_alloc(of.second);
    EXPECT_NE(block, nullptr);
    egb_pool_free(of.second, block);
    egb_pool_free(of.second, one.block);
}

// ---- before a wait ------------------------------------------------------------------------------

TEST(pool_waits, on_exhausted_is_asked_first_and_once)
{
    static int       calls;
    egb_pool_options options = limited("check");
    calls                    = 0;
    options.on_exhausted     = [](egb_pool, void*) {
        calls++;
        return EGB_EXHAUSTED_FAIL;
    };
    const guard pool{make(options)};
    void*       held[limit];
    for (void*& block : held) {
        EXPECT_EQ(egb_pool_alloc_for(pool.pool, &block, EGB_FOREVER), EGB_OK);
    }
    EXPECT_EQ(calls, 0);
    waiter one(pool.pool);
    until_waiting(pool.pool, 1);
    EXPECT_EQ(calls, 1);
    egb_pool_free(pool.pool, held[0]);
    EXPECT_EQ(one.end(), EGB_OK);
    EXPECT_EQ(calls, 1);
    egb_pool_free(pool.pool, one.block);
    egb_pool_free_many(pool.pool, &held[1], limit - 1);
}

// SPDX-License-Identifier: MIT
// Real threads that share a fixed pool by the port for POSIX. No result depends on the clock: a
// test that has to see a thread wait looks at the pool's list until the thread is on it.
#include "events.hpp"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/posix.h"

#include <atomic>
#include <thread>

namespace
{

enum { counter_words = 4 };

struct posix_pool {
    posix_pool(std::size_t count, std::size_t reserve) : region(count * counter_words)
    {
        EXPECT_EQ(egb_posix_port_init(&port), EGB_OK);
        EXPECT_EQ(
            egb_fixed_init(&pool, region.data(), region.size() * 4, counter_words * 4), EGB_OK
        );
        EXPECT_EQ(egb_fixed_shared_init(&shared, &pool, &port.port, reserve), EGB_OK);
    }

    ~posix_pool()
    {
        EXPECT_EQ(egb_fixed_shared_in_use(&shared), 0u);
        EXPECT_TRUE(egb_fixed_shared_whole(&shared));
        egb_posix_port_destroy(&port);
    }

    void until_waiting(std::size_t count)
    {
        while (egb_fixed_shared_waiting(&shared) != count) {
            std::this_thread::yield();
        }
    }

    void give(void* block)
    {
        egb_fixed_shared_free(&shared, block);
    }

    events                misuse;
    egb_posix_port        port{};
    std::vector<uint32_t> region;
    egb_fixed             pool{};
    egb_fixed_shared      shared{};
};

}  // namespace

// The last word of a block is a counter that only the block's owner may touch; ThreadSanitizer
// sees each hand-over that does not order what its owners do.
TEST(posix, each_block_has_one_owner_at_a_time)
{
    enum { threads = 4, rounds = 2000, blocks = 2 };
    posix_pool               pool(blocks, 0);
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++) {
        all.emplace_back([&] {
            for (int round = 0; round < rounds; round++) {
                void* block = nullptr;
                ASSERT_EQ(egb_fixed_shared_alloc_for(&pool.shared, &block, EGB_FOREVER), EGB_OK);
                static_cast<uint32_t*>(block)[counter_words - 1]++;
                pool.give(block);
            }
        });
    }
    for (std::thread& thread : all) {
        thread.join();
    }
    uint32_t sum = 0;
    for (std::size_t i = 0; i < blocks; i++) {
        sum += pool.region[i * counter_words + counter_words - 1];
    }
    EXPECT_EQ(sum, uint32_t(threads * rounds));
}

TEST(posix, threads_are_served_in_the_order_of_their_arrival_and_urgent_ones_first)
{
    enum { threads = 5 };
    posix_pool               pool(2, 1);
    std::atomic<int>         served{0};
    std::vector<int>         order(threads, -1);
    std::vector<std::thread> all;
    void* const              first = egb_fixed_shared_alloc_urgent(&pool.shared);
    void* const              last  = egb_fixed_shared_alloc_urgent(&pool.shared);
    for (int i = 0; i < threads; i++) {
        all.emplace_back([&, i] {
            void*      block     = nullptr;
            const bool is_urgent = i >= threads - 2;
            ASSERT_EQ(
                is_urgent ? egb_fixed_shared_alloc_urgent_for(&pool.shared, &block, EGB_FOREVER)
                          : egb_fixed_shared_alloc_for(&pool.shared, &block, EGB_FOREVER),
                EGB_OK
            );
            order[std::size_t(served++)] = i;
            pool.give(block);
        });
        pool.until_waiting(std::size_t(i) + 1);
    }
    pool.give(first);  // serves the urgent ones, and then is the reserve
    pool.until_waiting(threads - 2);
    pool.give(last);
    for (std::thread& thread : all) {
        thread.join();
    }
    EXPECT_EQ(order, (std::vector<int>{3, 4, 0, 1, 2}));
}

TEST(posix, timed_out_cancelled_and_empty_are_different_answers)
{
    posix_pool  pool(1, 0);
    void* const held  = egb_fixed_shared_alloc(&pool.shared);
    void*       block = held;
    EXPECT_EQ(egb_fixed_shared_alloc_for(&pool.shared, &block, 0), EGB_EMPTY);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc_for(&pool.shared, &block, 2), EGB_TIMED_OUT);
    EXPECT_EQ(block, nullptr);
    std::thread waiting([&] {
        void* none = &pool;
        EXPECT_EQ(egb_fixed_shared_alloc_for(&pool.shared, &none, EGB_FOREVER - 1), EGB_CANCELLED);
        EXPECT_EQ(none, nullptr);
    });
    pool.until_waiting(1);
    EXPECT_EQ(egb_fixed_shared_cancel(&pool.shared), 1u);
    waiting.join();
    pool.give(held);
}

// Times of a millisecond end while others free: each answer is right, as long as no block is lost.
TEST(posix, a_thread_that_pthread_cancel_meets_while_it_waits_ends_after_the_wait)
{
    posix_pool  pool(1, 0);
    void* const only  = egb_fixed_shared_alloc(&pool.shared);
    void*       block = nullptr;
    const auto  wait  = [&] {
        EXPECT_EQ(egb_fixed_shared_alloc_for(&pool.shared, &block, EGB_FOREVER), EGB_OK);
        pool.give(block);
    };
    std::thread thread(wait);
    pool.until_waiting(1);
    ASSERT_EQ(pthread_cancel(thread.native_handle()), 0);
    pool.give(only);
    thread.join();
    EXPECT_EQ(block, only);
    EXPECT_EQ(egb_fixed_shared_waiting(&pool.shared), 0u);
}

TEST(posix, a_free_at_the_end_of_the_time_loses_no_block)
{
    enum { rounds = 60 };
    posix_pool        pool(1, 0);
    std::atomic<bool> has_begun{false};
    std::atomic<bool> is_over{false};
    std::thread       other([&] {
        while (!is_over) {
            void* block = nullptr;
            if (egb_fixed_shared_alloc_for(&pool.shared, &block, 1) == EGB_OK) {
                has_begun = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                pool.give(block);
            }
        }
    });
    while (!has_begun) {
        std::this_thread::yield();
    }
    int got = 0;
    for (int i = 0; i < rounds; i++) {
        void*            block  = nullptr;
        const egb_status answer = egb_fixed_shared_alloc_for(&pool.shared, &block, 1);
        ASSERT_EQ(answer == EGB_OK, block != nullptr);
        ASSERT_TRUE(answer == EGB_OK || answer == EGB_TIMED_OUT);
        got += answer == EGB_OK;
        pool.give(block);
    }
    is_over = true;
    other.join();
    std::printf("%d of %d waits had a block\n", got, rounds);
}

TEST(posix, a_handler_of_misuse_may_use_the_pool)
{
    posix_pool         pool(2, 0);
    static posix_pool* same;
    same              = &pool;
    void* const block = egb_fixed_shared_alloc(&pool.shared);
    pool.give(block);
    static_cast<uint32_t*>(block)[1] = 0;  // the mark: the next alloc tells, in its section
    static void* inner;
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void*) { inner = egb_fixed_shared_alloc(&same->shared); },
        nullptr
    );
    void* const outer = egb_fixed_shared_alloc(&pool.shared);
    EXPECT_TRUE(inner != nullptr || outer != nullptr);
    EXPECT_NE(inner, outer);
    pool.give(inner);
    pool.give(outer);
    egb_fixed_clear(&pool.pool);
    EXPECT_EQ(egb_fixed_shared_init(&pool.shared, &pool.pool, &pool.port.port, 0), EGB_OK);
}

// SPDX-License-Identifier: MIT
// Threads that come and go, their calls while they end, and the end of the process.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <pthread.h>
#include <sys/wait.h>

namespace
{

void take_and_give(egb_pool pool, std::size_t count)
{
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; i++) {
        blocks.push_back(egb_pool_alloc(pool));
        MUST(blocks.back() != nullptr);
    }
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
}

// Has a block while its thread lives, and gives it back and takes others when the thread ends.
struct keeper {
    egb_pool pool{};
    void*    block = nullptr;

    void keep(egb_pool of)
    {
        pool  = of;
        block = egb_pool_alloc(of);
    }

    ~keeper()
    {
        if (block != nullptr) {
            egb_pool_free(pool, block);
            take_and_give(pool, 100);
        }
    }
};

thread_local keeper kept;

egb_pool      pool_of_keys;
pthread_key_t key_before;  // made before the library's own
pthread_key_t key_after;

std::atomic<int> calls_at_end{0};

// Is called several times for a thread, as it asks to be: before and after the library's own.
void at_thread_end(void* block)
{
    calls_at_end++;
    egb_pool_free(pool_of_keys, block);
    take_and_give(pool_of_keys, 70);
}

// Made before the first pool of the process, and so before the library's key.
const bool keys_are_made = [] {
    MUST(pthread_key_create(&key_before, at_thread_end) == 0);
    pool_of_keys = stress::make(40, 400);
    MUST(pthread_key_create(&key_after, at_thread_end) == 0);
    return true;
}();

// Ends after main, and uses a pool for the last time then.
struct last_user {
    egb_pool pool  = stress::make(24);
    void*    block = egb_pool_alloc(pool);

    ~last_user()
    {
        egb_pool_free(pool, block);
        take_and_give(pool, 200);
        MUST(stress::stats_of(pool).in_use == 0);
        MUST(egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK);
    }
};

last_user ends_last;

// A thread's last calls, made when it has no magazine any more: the destructor of a key that is set
// again and again is the last one to run.
struct late {
    egb_pool                 pool{};
    pthread_key_t            key{};
    int                      turns = 0;
    std::atomic<std::size_t> taken{0};  // TSan takes the thread for one that has ended
    std::atomic<std::size_t> nonzero{0};

    static void run(void* user)
    {
        late* const self = static_cast<late*>(user);
        if (++self->turns < 4) {
            EXPECT_EQ(pthread_setspecific(self->key, self), 0);
        }
        for (int i = 0; i < 100; i++) {
            unsigned char* const block = static_cast<unsigned char*>(egb_pool_alloc(self->pool));
            self->taken++;
            self->nonzero += std::count(block, block + 64, 0) == 64 ? 0u : 1u;
        }
    }
};

}  // namespace

TEST(thread_ends, waves_of_threads_strand_nothing_and_stay_as_large)
{
    const stress::only_stale none(false);
    stress::keep_one_heap();
    const std::uint64_t waves = stress::setting("EGGBOX_STRESS_ROUNDS", 125);  // of 8
    const egb_pool      pool  = stress::make(64);
    const egb_pool      small = stress::make(64, 150, false);
    stress::memory      early;
    pthread_barrier_t   all_are_here;  // makes each wave have as many tables
    MUST(pthread_barrier_init(&all_are_here, nullptr, 8) == 0);
    for (std::uint64_t wave = 0; wave < waves; wave++) {
        stress::in_threads(8, [&](std::size_t self) {
            take_and_give(pool, 10 + self * 30);
            take_and_give(small, 15);
            (void)pthread_barrier_wait(&all_are_here);
            void* const block = egb_pool_alloc(pool);
            kept.keep(pool);
            egb_pool_free(pool, block);
        });
        const egb_pool_stats stats = stress::stats_of(pool);
        MUST(stats.in_use == 0 && stats.allocations == stats.frees);
        MUST(stress::stats_of(small).in_use == 0);
        if (wave == waves / 5) {
            early = stress::memory_now();
        }
    }
    MUST(pthread_barrier_destroy(&all_are_here) == 0);
    const stress::memory late = stress::memory_now();
    if (STRESS_IS_SANITIZED == 0) {
        // A later wave may have asked for one more chunk, and that for a leaf of the chunk map,
        // 4 MiB. The table that each of 800 threads left behind would be more than both.
        EXPECT_LE(late.mapped, early.mapped + (std::size_t{5} << 20));
        EXPECT_LE(late.resident, early.resident + (std::size_t{1} << 20));
    }
    std::vector<void*> all;  // a limited pool shows stranded blocks
    for (void* block = egb_pool_alloc(small); block != nullptr; block = egb_pool_alloc(small)) {
        all.push_back(block);
    }
    EXPECT_EQ(all.size(), 150u);
    egb_pool_free_many(small, all.data(), all.size());
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(small, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(thread_ends, functions_called_at_the_end_use_pools)
{
    const stress::only_stale none(false);
    EXPECT_TRUE(keys_are_made);
    for (int i = 0; i < 100; i++) {
        stress::in_threads(2, [&](std::size_t self) {
            if (self == 0) {  // whose thread ends without having used the pool itself
                take_and_give(pool_of_keys, 3);
            }
            void* const one = egb_pool_alloc(pool_of_keys);
            void* const two = egb_pool_alloc(pool_of_keys);
            MUST(pthread_setspecific(key_before, one) == 0);
            MUST(pthread_setspecific(key_after, two) == 0);
            kept.keep(pool_of_keys);
        });
        MUST(stress::stats_of(pool_of_keys).in_use == 0);
    }
    EXPECT_EQ(calls_at_end, 400);
}

// Only the functions at the end use a pool: the table is made there, and must go there too.
TEST(thread_ends, the_first_use_is_at_the_end)
{
    const stress::only_stale none(false);
    for (int i = 0; i < 50; i++) {
        void* const block = egb_pool_alloc(pool_of_keys);
        std::thread([&] { MUST(pthread_setspecific(key_after, block) == 0); }).join();
        MUST(stress::stats_of(pool_of_keys).in_use == 0);
    }
}

// A block that was in a magazine and never in use has a mark in it when it has gone home.
TEST(thread_ends, a_fresh_block_is_zero_without_a_magazine_too)
{
    egb_pool_options options{};
    options.block_bytes = 64;
    options.flags       = EGB_FRESH_ZERO;
    late last;
    ASSERT_EQ(egb_pool_create(&last.pool, &options), EGB_OK);
    for (int i = 0; i < 40; i++) {
        ASSERT_NE(egb_pool_alloc(last.pool), nullptr);
    }
    (void)egb_pool_trim(last.pool, 0);
    ASSERT_EQ(pthread_key_create(&last.key, late::run), 0);
    std::thread([&] { EXPECT_EQ(pthread_setspecific(last.key, &last), 0); }).join();
    EXPECT_EQ(pthread_key_delete(last.key), 0);
    EXPECT_GE(last.taken.load(), 200u);
    EXPECT_EQ(last.nonzero.load(), 0u);
    EXPECT_EQ(egb_pool_destroy(last.pool, EGB_DESTROY_FORCE), EGB_OK);
}

// A process that ends while its threads are inside calls, with exit() and destructors of statics.
TEST(thread_ends, the_process_ends_while_threads_run)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(
        {
            const egb_pool pool = stress::make(64);
            for (int i = 0; i < 3; i++) {
                std::thread([pool] {
                    for (;;) {
                        take_and_give(pool, 100);
                        egb_pool_trim(pool, 0);
                    }
                }).detach();
            }
            take_and_give(pool, 1000);
            std::exit(0);
        },
        testing::ExitedWithCode(0),
        ""
    );
}

// SPDX-License-Identifier: MIT
// Faults that were mended.
#include "events.hpp"

#include "eggbox/pool.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace
{

egb_pool make(const egb_pool_options& options)
{
    egb_pool pool{};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    return pool;
}

void destroy(egb_pool pool)
{
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
}

void ignore_misuse(const egb_misuse_event*, void*) {}

}  // namespace

// Whose an address is was read from a chunk that another thread gave back meanwhile.
TEST(pool_regressions, an_address_of_a_pool_that_is_destroyed_meanwhile_can_be_asked_about)
{
    egb_misuse_set_handler(ignore_misuse, nullptr);
    egb_pool_options options{};
    options.block_bytes      = 100000;  // too large for magazines: the chunk goes at once
    const egb_pool     other = make(options);
    std::atomic<void*> hint{nullptr};
    std::atomic<bool>  is_over{false};
    std::thread        asker([&] {
        while (!is_over) {
            for (int i = 0; i < 100; i++) {
                (void)egb_pool_of(hint);
            }
            egb_pool_free(other, hint);
            egb_free(hint);
        }
    });
    for (int i = 0; i < 30000; i++) {
        const egb_pool pool = make(options);
        hint                = egb_pool_alloc(pool);
        destroy(pool);
    }
    is_over = true;
    asker.join();
    destroy(other);
    egb_misuse_set_handler(nullptr, nullptr);
}

// Free blocks in magazines counted as blocks in use.
TEST(pool_regressions, reserve_counts_free_blocks_in_magazines)
{
    egb_pool_options limited{};
    limited.block_bytes = 64;
    limited.max_blocks  = 100;
    egb_pool_options with_budget{};
    with_budget.block_bytes  = 64;
    with_budget.budget_bytes = 65536;
    for (const egb_pool_options& options : {limited, with_budget}) {
        const egb_pool     pool = make(options);
        std::vector<void*> blocks(5000);
        const std::size_t  got = egb_pool_alloc_many(pool, blocks.data(), blocks.size());
        egb_pool_free_many(pool, blocks.data(), got);
        EXPECT_EQ(egb_pool_reserve(pool, got), EGB_OK);
        EXPECT_EQ(egb_pool_reserve(pool, got + 1), EGB_LIMIT);
        destroy(pool);
    }
}

TEST(pool_regressions, static_memory_stays_in_trim)
{
    alignas(64) static char memory[4096];
    egb_pool_options        options{};
    options.block_bytes  = 64;
    options.memory       = memory;
    options.memory_bytes = sizeof memory;
    const egb_pool pool  = make(options);
    egb_pool_stats before{};
    egb_pool_stats after{};
    EXPECT_EQ(egb_pool_get_stats(pool, &before), EGB_OK);
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
    EXPECT_EQ(egb_pool_get_stats(pool, &after), EGB_OK);
    EXPECT_EQ(after.capacity, before.capacity);
    EXPECT_EQ(after.bytes_held, before.bytes_held);
    destroy(pool);
}

TEST(pool_regressions, memory_for_no_block_is_invalid_whatever_is_reserved)
{
    alignas(64) static char memory[70];
    egb_pool_options        options{};
    options.block_bytes    = 64;
    options.memory         = memory;
    options.memory_bytes   = sizeof memory;
    options.reserve_blocks = 5;
    egb_pool pool{};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_INVALID);
}

#if UINTPTR_MAX > UINT32_MAX
TEST(pool_regressions, a_block_of_more_than_half_of_the_largest_size_can_be_had)
{
    egb_pool_options options{};
    options.block_bytes = std::size_t{10} << 30;
    destroy(make(options));
    options.block_bytes = std::size_t{16} << 30;
    egb_pool pool{};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_LIMIT);
}
#endif

// When one call found several damages, it reported the last. As many as their states have a line
// were taken for each thread but the first, whatever the size.
TEST(pool_regressions, threads_with_a_large_block_each_keep_few_more)
{
    egb_pool_options options      = {};
    options.block_bytes           = 4096;
    const egb_pool           pool = make(options);
    std::atomic<int>         taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            void* const block = egb_pool_alloc(pool);
            taken++;
            while (taken != 4) {
                std::this_thread::yield();
            }
            egb_pool_free(pool, block);
        });
    }
    while (taken != 4) {
        std::this_thread::yield();
    }
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
    EXPECT_LE(stats.peak, 8u);
    EXPECT_LE(stats.bytes_held, std::size_t{512} << 10);
    for (std::thread& thread : threads) {
        thread.join();
    }
    destroy(pool);
}

TEST(pool_regressions, every_block_that_was_written_to_is_told_of)
{
    egb_pool_options options{};
    options.block_bytes     = 48;
    const egb_pool     pool = make(options);
    std::vector<void*> blocks(500);
    for (void*& block : blocks) {
        block = egb_pool_alloc(pool);
    }
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    (void)egb_pool_trim(pool, SIZE_MAX);
    std::set<const void*> wanted;
    for (std::size_t i = 0; i < blocks.size(); i += 7) {
        static_cast<unsigned char*>(blocks[i])[3] = 0x55;
        wanted.insert(blocks[i]);
    }
    std::set<const void*> told;
    egb_misuse_set_handler(
        [](const egb_misuse_event* event, void* user) {
            EXPECT_EQ(event->kind, EGB_MISUSE_OVERWRITTEN);
            static_cast<std::set<const void*>*>(user)->insert(event->address);
        },
        &told
    );
    for (std::size_t i = 0; i < blocks.size(); i++) {
        ASSERT_NE(egb_pool_alloc(pool), nullptr);
    }
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(told, wanted);
    destroy(pool);
}

// Here blocks go to their chunks at once, without a check before.
TEST(pool_regressions, a_second_free_at_off_counted)
{
    egb_pool_options options{};
    options.block_bytes = 300000;
    options.level       = EGB_LEVEL_OFF;
    const egb_pool pool = make(options);
    ASSERT_EQ(egb_pool_reserve(pool, 3), EGB_OK);
    void* const kept  = egb_pool_alloc(pool);
    void* const freed = egb_pool_alloc(pool);
    egb_pool_free(pool, freed);
    egb_pool_free(pool, freed);
    egb_pool_stats stats{};
    ASSERT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
    EXPECT_EQ(stats.allocations, 2u);
    EXPECT_EQ(stats.frees, 1u);
    EXPECT_EQ(stats.in_use, 1u);
    egb_pool_free(pool, kept);
    destroy(pool);
}

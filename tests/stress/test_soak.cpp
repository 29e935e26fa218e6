// SPDX-License-Identifier: MIT
// Some seconds of everything, as a server would: objects of many sizes, made by one thread and
// freed by another, pools that come and go. The process must not grow. The long run sets
// EGGBOX_STRESS_SECONDS.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>

namespace
{

enum : std::size_t { THREADS = 3, SIZES = 12, SLOTS = 3000, ROUNDS_MIN = 60 };

constexpr std::size_t least_bytes = 16;

using slots = std::array<std::atomic<void*>, SLOTS>;

void turn_over(const std::array<egb_pool, SIZES>& pools, slots* all, stress::random* random)
{
    for (int i = 0; i < 2000; i++) {
        const std::size_t which = random->below(SIZES);
        auto* const       block = static_cast<unsigned char*>(egb_pool_alloc(pools[which]));
        MUST(block != nullptr);
        // Each page, or the memory would go on growing until each has once been the first of one.
        for (std::size_t at = 0; at < least_bytes << which; at += 4096) {
            block[at] = 1;
        }
        egb_free((*all)[random->below(SLOTS)].exchange(block));
    }
    const egb_pool passing = stress::make(64, 1000);
    for (int i = 0; i < 100; i++) {
        MUST(egb_pool_alloc(passing) != nullptr);
    }
    MUST(egb_pool_destroy(passing, EGB_DESTROY_FORCE) == EGB_OK);
    if (random->below(10) == 0) {
        egb_pool_trim(pools[random->below(SIZES)], 0);
    }
}

}  // namespace

TEST(soak, the_process_does_not_grow)
{
    using clock = std::chrono::steady_clock;
    const stress::only_stale    none(false);
    const std::chrono::seconds  time(stress::setting("EGGBOX_STRESS_SECONDS", 3));
    std::array<egb_pool, SIZES> pools;
    stress::keep_one_heap();
    for (std::size_t i = 0; i < SIZES; i++) {
        pools[i] = stress::make(least_bytes << i, 0, i % 2 == 0);
    }
    const std::unique_ptr<slots> all(new slots{});
    const clock::time_point      start = clock::now();
    stress::memory               early;
    stress::in_threads(THREADS, [&](std::size_t self) {
        stress::random random(self);
        bool           is_early = true;
        // On a busy machine the time may be over before a thread has done anything.
        for (std::size_t round = 0; round < ROUNDS_MIN || clock::now() - start < time; round++) {
            turn_over(pools, all.get(), &random);
            if (self == 0 && is_early && round >= ROUNDS_MIN / 3 &&
                clock::now() - start > time / 3) {
                early    = stress::memory_now();
                is_early = false;
            }
        }
        MUST(self != 0 || !is_early);
    });
    const stress::memory late = stress::memory_now();
    if (STRESS_IS_SANITIZED == 0) {
        // How many blocks of each size there are is by chance.
        EXPECT_LE(late.mapped, early.mapped + early.mapped / 4);
        EXPECT_LE(late.resident, early.resident + early.resident / 4);
    }
    for (std::atomic<void*>& one : *all) {
        egb_free(one.load());
    }
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// One thread allocates, the other frees: the blocks come back to the thread that needs them.
TEST(soak, handing_over_does_not_grow)
{
    enum { BLOCKS = 640 };
    const stress::only_stale none(false);
    stress::keep_one_heap();
    const egb_pool      pool   = stress::make(64);
    const std::uint64_t rounds = stress::setting("EGGBOX_STRESS_ROUNDS", 1500);
    std::vector<void*>  blocks(BLOCKS);
    stress::barrier     step(2);
    stress::memory      early;
    stress::in_threads(2, [&](std::size_t self) {
        for (std::uint64_t round = 0; round < rounds; round++) {
            if (self == 0) {
                MUST(egb_pool_alloc_many(pool, blocks.data(), BLOCKS) == BLOCKS);
            }
            step.wait();
            if (self == 1) {
                egb_pool_free_many(pool, blocks.data(), BLOCKS);
            }
            step.wait();
            if (self == 0 && round == rounds / 10) {
                early = stress::memory_now();
            }
        }
    });
    if (STRESS_IS_SANITIZED == 0) {
        // Ten batches of a kilobyte a round would be more.
        EXPECT_LE(stress::memory_now().resident, early.resident + (std::size_t{1} << 20));
    }
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

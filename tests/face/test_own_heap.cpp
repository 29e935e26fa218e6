// SPDX-License-Identifier: MIT
// eggbox::heap: sizes, alignments, budgets and its end.
#include "events.hpp"
#include "pools.hpp"

#include "eggbox/heap.hpp"
#include "levels.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace
{

using eggbox::heap;

struct request {
    void*       block;
    std::size_t bytes;
    std::size_t align;
};

TEST(OwnHeap, ServesEverySizeAndAlignmentAndMixesUpNone)
{
    const events         quiet;
    heap                 own;
    randoms              random(7);
    std::vector<request> out;
    for (int step = 0; step < 20000; step++) {
        if (out.size() < 300 && random.below(5) < 3) {
            const std::size_t most  = std::size_t{1} << random.below(20);
            const request     asked = {
                nullptr, random.below(most + 1), std::size_t{1} << random.below(14)
            };
            void* const block = own.alloc(asked.bytes, asked.align);
            ASSERT_NE(block, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % asked.align, 0u);
            ASSERT_TRUE(own.owns(block));
            fill(block, asked.bytes, reinterpret_cast<std::uintptr_t>(block));
            out.push_back({block, asked.bytes, asked.align});
        } else if (!out.empty()) {
            const std::size_t at  = random.below(out.size());
            const request     one = out[at];
            out[at]               = out.back();
            out.pop_back();
            ASSERT_TRUE(is_filled(one.block, one.bytes, reinterpret_cast<std::uintptr_t>(one.block))
            );
            own.free(one.block, one.bytes, one.align);
        }
        if (step % 1000 == 0) {
            ASSERT_EQ(own.stats().in_use, out.size());
        }
    }
    for (const request& one : out) {
        own.free(one.block, one.bytes, one.align);
    }
    EXPECT_EQ(own.stats().in_use, 0u);
}

TEST(OwnHeap, WastesNoMoreThanAnEighth)
{
    heap own;
    for (std::size_t bytes = 1; bytes <= heap::block_bytes_max; bytes += 1 + bytes / 50) {
        void* const       block = own.alloc(bytes, 1);
        const std::size_t room  = egb_block_bytes(block);
        EXPECT_GE(room, bytes);
        EXPECT_LE(room, bytes + 7 + bytes / 8);
        own.free(block, bytes, 1);
    }
}

TEST(OwnHeap, EndsEveryBlockWithItself)
{
    const std::size_t pools = subtree_of(egb_pool{}).pools;
    egb_pool          top;
    {
        heap own;
        top = own.pool();
        EXPECT_NE(own.alloc(10), nullptr);
        EXPECT_NE(own.alloc(1 << 20), nullptr);
        EXPECT_EQ(subtree_of(egb_pool{}).pools, pools + 3);
    }
    EXPECT_FALSE(egb_pool_alive(top));
    EXPECT_EQ(subtree_of(egb_pool{}).pools, pools);
}

TEST(OwnHeap, StartsAnewAfterRelease)
{
    heap own;
    EXPECT_NE(own.alloc(10), nullptr);
    EXPECT_NE(own.alloc(1 << 20), nullptr);
    own.release();
    EXPECT_EQ(own.stats().in_use, 0u);
    void* const block = own.alloc(10);
    EXPECT_TRUE(own.owns(block));
    EXPECT_EQ(own.stats().in_use, 1u);
}

TEST(OwnHeap, HasNameBudgetAndParentOfItsOptions)
{
    egb_pool_options options{};
    options.name         = "level 3";
    options.budget_bytes = 1 << 20;
    options.parent       = make(64);
    const guard parent(options.parent);
    heap        own(options);
    EXPECT_TRUE(own.pool() != egb_pool{} && egb_pool_parent(own.pool()) == options.parent);
    EXPECT_STREQ(stats_of(egb_pool_of(own.alloc(100))).name, "level 3");
    EXPECT_EQ(own.alloc(2 << 20), nullptr);
    EXPECT_EQ(own.stats().in_use, 1u);
}

TEST(OwnHeap, KeepsItsNameForThePoolsThatItMakesLater)
{
    std::string      name(60, 'n');
    egb_pool_options options{};
    options.name = name.c_str();
    heap own(options);
    name.replace(0, name.size(), name.size(), '?');
    const std::string kept(47, 'n');
    EXPECT_EQ(stats_of(egb_pool_of(own.alloc(100))).name, kept);
    EXPECT_EQ(stats_of(egb_pool_of(own.alloc(1 << 20))).name, kept);
    own.release();
    EXPECT_EQ(stats_of(own.pool()).name, kept);
}

TEST(OwnHeap, WithoutANameHasPoolsWithoutOne)
{
    heap own;
    EXPECT_EQ(stats_of(egb_pool_of(own.alloc(100))).name, std::string("pool"));
}

TEST(OwnHeap, ThatCannotBeMadeServesNothing)
{
    egb_pool_options options{};
    options.level = level_named("no such level");
    heap own(options);
    EXPECT_EQ(own.status(), EGB_INVALID);
    EXPECT_EQ(own.alloc(10), nullptr);
    EXPECT_EQ(own.alloc(1 << 20), nullptr);
    EXPECT_EQ(own.stats().capacity, 0u);
    EXPECT_EQ(own.trim(), 0u);
    own.free(nullptr, 10);
}

TEST(OwnHeap, BelowAParentThatIsGoneServesNothing)
{
    egb_pool_options options{};
    options.parent = make(64);
    EXPECT_EQ(egb_pool_destroy(options.parent, EGB_DESTROY_FORCE), EGB_OK);
    const std::size_t pools = subtree_of(egb_pool{}).pools;
    heap              own(options);
    EXPECT_EQ(own.status(), EGB_STALE);
    EXPECT_EQ(own.alloc(10), nullptr);
    EXPECT_EQ(own.alloc(1 << 20), nullptr);
    EXPECT_EQ(subtree_of(egb_pool{}).pools, pools);
}

TEST(OwnHeap, ThatIsGoneWithItsParentServesNothing)
{
    events           seen;
    egb_pool_options options{};
    options.parent = make(64);
    heap own(options);
    EXPECT_NE(own.alloc(10), nullptr);
    EXPECT_EQ(egb_pool_destroy(options.parent, EGB_DESTROY_FORCE), EGB_OK);
    EXPECT_EQ(own.alloc(10), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(own.alloc(1000), nullptr);
    EXPECT_EQ(own.alloc(1 << 20), nullptr);
}

TEST(OwnHeap, RefusesSizesBeyondAllAddresses)
{
    heap own;
    EXPECT_EQ(own.alloc(SIZE_MAX), nullptr);
    EXPECT_EQ(own.alloc(PTRDIFF_MAX, 8192), nullptr);
    EXPECT_EQ(own.alloc(SIZE_MAX - 4096, 8192), nullptr);
    EXPECT_EQ(own.stats().pools, 1u);
}

TEST(OwnHeap, TheClassOfASizeIsTheFirstThatIsLargeEnoughAndAligned)
{
    using sizes = eggbox::heap_classes_;
    for (std::size_t align = 1; align <= sizes::align_max; align *= 2) {
        for (std::size_t index = 0; index < sizes::count; index++) {
            for (const std::size_t bytes : {sizes::bytes_of(index) - 1, sizes::bytes_of(index)}) {
                std::size_t first = 0;
                while (sizes::bytes_of(first) < bytes || sizes::bytes_of(first) % align != 0) {
                    first++;
                }
                EXPECT_EQ(sizes::class_for(bytes, align), first) << bytes << ", " << align;
            }
        }
    }
}

// A class without blocks has no pool yet.
TEST(OwnHeap, RefusesBlocksOfASizeThatItHasNotUsed)
{
    events      seen;
    heap        own, other;
    void* const block = own.alloc(100);
    other.free(block, 100);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    own.free(block, 1000);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    other.free(&seen, 100);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    other.free(nullptr, 100);
    own.free(block, 100);
    EXPECT_TRUE(seen.none());
}

TEST(OwnHeap, RefusesLargeBlocksThatAreNotItsOwn)
{
    events      seen;
    heap        own, other;
    void* const large = own.alloc(1 << 20);
    void* const small = own.alloc(100);
    other.free(large, 1 << 20);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    own.free(small, 1 << 20);  // the class's pool is not to end for it
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    EXPECT_EQ(own.stats().in_use, 2u);
    own.free(large, 1 << 20);
    own.free(large, 1 << 20);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    own.free(nullptr, 1 << 20);
    own.free(small, 100);
}

TEST(OwnHeap, GivesMemoryBack)
{
    heap               own;
    std::vector<void*> blocks;
    for (int i = 0; i < 10000; i++) {
        blocks.push_back(own.alloc(200));
    }
    for (void* block : blocks) {
        own.free(block, 200);
    }
    const std::size_t held = own.stats().bytes_held;
    EXPECT_GT(own.trim(), 1u << 20);
    EXPECT_LT(own.stats().bytes_held, held - (1u << 20));
}

TEST(OwnHeap, HasOnePoolForEachClassWhateverThreadsAskFirst)
{
    for (int round = 0; round < 100; round++) {
        heap                     own;
        std::atomic<int>         waiting{2};
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; i++) {
            threads.emplace_back([&own, &waiting] {
                for (waiting--; waiting != 0;) {
                }
                for (const std::size_t bytes : {8u, 100u, 1000u}) {
                    own.free(own.alloc(bytes), bytes);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_EQ(own.stats().pools, 4u);
        EXPECT_EQ(own.stats().in_use, 0u);
    }
}

}  // namespace

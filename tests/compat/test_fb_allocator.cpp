// SPDX-License-Identifier: MIT
// fb_allocator: every row of its interface, and what used to happen in it (FB).
#include "fb_fixture.hpp"

#include "eggbox/compat/LockGuard.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

extern "C" void FaultHandler(const char* file, unsigned short line)
{
    EXPECT_NE(file, nullptr);
    EXPECT_NE(line, 0);
    faults()++;
}

namespace
{

ALLOC_DEFINE(five, 16, 5)
ALLOC_DEFINE(thirteen, 13, 8)
ALLOC_DEFINE(tiny, 1, 40)
ALLOC_DEFINE(many, 8, 70000)
ALLOC_DEFINE(other, 16, 5)
ALLOC_DEFINE(shared, 64, 200)
ALLOC_DEFINE(never, 32, 3)
ALLOC_DEFINE(frames, 4096, 33)

}  // namespace

TEST(fb_allocator, F01_sizes)
{
    EXPECT_EQ(ALLOC_MAX(1, 2) + ALLOC_MAX(4, 3), 6);
    EXPECT_EQ(ALLOC_ROUND_UP(5 + 8, 2 * 2), 16);
    EXPECT_EQ(ALLOC_BLOCK_SIZE(1), sizeof(void*));
    EXPECT_EQ(ALLOC_BLOCK_SIZE(16), 16u);
    EXPECT_EQ(ALLOC_BLOCK_SIZE(13), 16u);
    EXPECT_EQ(ALLOC_BLOCK_SIZE(32 + XALLOC_BLOCK_META_DATA_SIZE) % ALLOC_MEM_ALIGN, 0u);
}

TEST(fb_allocator, F02_define_makes_memory_object_and_handle)
{
    EXPECT_EQ(five, &fiveObj);
    EXPECT_EQ(fiveObj.pPool, fiveMemory);
    EXPECT_STREQ(fiveObj.name, "five");
    EXPECT_EQ(fiveObj.objectSize, 16u);
    EXPECT_EQ(fiveObj.blockSize, 16u);
    EXPECT_EQ(fiveObj.maxBlocks, 5u);
    EXPECT_EQ(sizeof fiveMemory, 80u);
    EXPECT_EQ(thirteenObj.objectSize, 13u);
    EXPECT_EQ(thirteenObj.blockSize, 16u);
}

TEST(fb_allocator, F03_init_and_term_may_be_called)
{
    ALLOC_Init();
    void* const block = ALLOC_Alloc(five, 16);
    EXPECT_NE(block, nullptr);
    ALLOC_Free(five, block);
    ALLOC_Term();
    ALLOC_Init();
}

TEST(fb_allocator, F04_alloc_gives_exactly_as_many_blocks_as_were_defined)
{
    const events             none_expected;
    const std::vector<void*> blocks = take_all(five, 10);
    ASSERT_EQ(blocks.size(), 5u);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        EXPECT_EQ(blocks[i], fiveMemory + 16 * i) << "fresh blocks are in the order of addresses";
        std::memset(blocks[i], 1, 16);
    }
    ALLOC_Free(five, blocks[1]);
    ALLOC_Free(five, blocks[3]);
    EXPECT_EQ(ALLOC_Alloc(five, 1), blocks[3]) << "the one freed last";
    EXPECT_EQ(ALLOC_Alloc(five, 1), blocks[1]);
    give_all(five, blocks);
    EXPECT_EQ(ALLOC_Alloc(five, 17), nullptr);
    EXPECT_EQ(ALLOC_Alloc(nullptr, 1), nullptr);
    EXPECT_EQ(take_faults(), 2);
}

TEST(fb_allocator, F05_calloc)
{
    void* const dirty = ALLOC_Alloc(five, 16);
    std::memset(dirty, 0xFF, 16);
    ALLOC_Free(five, dirty);
    auto* const block = static_cast<unsigned char*>(ALLOC_Calloc(five, 2, 7));
    ASSERT_EQ(block, dirty);
    EXPECT_TRUE(std::all_of(block, block + 14, [](unsigned char one) { return one == 0; }));
    ALLOC_Free(five, block);
    EXPECT_EQ(ALLOC_Calloc(five, 2, 9), nullptr);
    EXPECT_EQ(take_faults(), 1);
}

TEST(fb_allocator, F06_free_of_null_has_no_effect)
{
    const events none_expected;
    ALLOC_Free(five, nullptr);
    ALLOC_Free(nullptr, nullptr);
    EXPECT_EQ(fiveObj.blocksInUse, 0u);
}

TEST(fb_allocator, F07_numbers)
{
    const UINT32 before = otherObj.allocations;
    void* const  one    = ALLOC_Alloc(other, 16);
    void* const  two    = ALLOC_Alloc(other, 16);
    EXPECT_EQ(otherObj.blocksInUse, 2u);
    EXPECT_EQ(otherObj.maxBlocksInUse, 2u);
    ALLOC_Free(other, one);
    ALLOC_Free(other, two);
    ALLOC_Free(other, ALLOC_Alloc(other, 16));
    EXPECT_EQ(otherObj.blocksInUse, 0u);
    EXPECT_EQ(otherObj.maxBlocksInUse, 2u);
    EXPECT_EQ(otherObj.poolIndex, 2u);
    EXPECT_EQ(otherObj.allocations, before + 3);
    EXPECT_EQ(otherObj.deallocations, before + 3);
}

TEST(fb_allocator, F08_port_layer)
{
    ASSERT();
    EXPECT_EQ(take_faults(), 1);
    LOCK_HANDLE lock = LK_CREATE();
    ASSERT_NE(lock, nullptr);
    int  sum = 0;
    auto add = [&] {
        for (int i = 0; i < 10000; i++) {
            LK_LOCK(lock);
            sum++;
            LK_UNLOCK(lock);
        }
    };
    std::thread one(add);
    std::thread two(add);
    one.join();
    two.join();
    EXPECT_EQ(sum, 20000);
    LK_DESTROY(lock);
    LK_Destroy(nullptr);
    const INT8   small = -1;
    const UINT16 wide  = 65535;
    const CHAR   text  = 'a';
    EXPECT_EQ(small + wide + (text == 'a' ? TRUE : FALSE), 65535);
}

TEST(fb_bugs, alloc_before_init_crashed)
{
    void* const block = ALLOC_Alloc(never, 32);
    EXPECT_NE(block, nullptr);
    ALLOC_Free(never, block);
}

TEST(fb_bugs, FB1_block_65536_was_block_0_again)
{
    std::vector<void*> blocks = take_all(many, 8);
    ASSERT_EQ(blocks.size(), 70000u);
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::unique(blocks.begin(), blocks.end()), blocks.end());
    EXPECT_EQ(manyObj.maxBlocksInUse, 70000u);
    give_all(many, blocks);
    EXPECT_EQ(manyObj.blocksInUse, 0u);
}

TEST(fb_bugs, FB2_blocks_of_13_bytes_were_misaligned)
{
    for (void* block : take_all(thirteen, 13)) {
        EXPECT_EQ(address(block) % alignof(std::max_align_t), 0u);
        ALLOC_Free(thirteen, block);
    }
    for (void* block : take_all(tiny, 1)) {
        EXPECT_EQ(address(block) % sizeof(void*), 0u);
        ALLOC_Free(tiny, block);
    }
}

TEST(fb_bugs, FB3_a_product_overflowed)
{
    EXPECT_EQ(ALLOC_Calloc(five, 2, std::numeric_limits<std::size_t>::max() / 2 + 1), nullptr);
    EXPECT_EQ(ALLOC_Calloc(five, std::numeric_limits<std::size_t>::max(), 16), nullptr);
    EXPECT_EQ(ALLOC_Alloc(five, std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(take_faults(), 3);
}

TEST(fb_bugs, FB3_counters_wrapped_at_65536)
{
    const UINT32 before = fiveObj.allocations;
    for (int i = 0; i < 80000; i++) {
        ALLOC_Free(five, ALLOC_Alloc(five, 16));
    }
    EXPECT_EQ(fiveObj.allocations, before + 80000);
    EXPECT_EQ(fiveObj.deallocations, before + 80000);
}

TEST(fb_bugs, FB4_numbers_raced)
{
    auto work = [] {
        std::vector<void*> mine;
        for (int i = 0; i < 5000; i++) {
            mine.push_back(ALLOC_Alloc(shared, 64));
            std::memset(mine.back(), 1, 64);
            if (mine.size() == 50) {
                give_all(shared, mine);
                mine.clear();
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back(work);
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(sharedObj.blocksInUse, 0u);
    EXPECT_EQ(sharedObj.allocations, 20000u);
    EXPECT_EQ(sharedObj.deallocations, 20000u);
    EXPECT_LE(sharedObj.maxBlocksInUse, 200u);
    EXPECT_EQ(take_faults(), 0);
}

TEST(fb_allocator, one_that_a_program_wrote_itself_is_made_once_by_whichever_thread)
{
    static char            memory[ALLOC_BLOCK_SIZE(32) * 40];
    static ALLOC_Allocator by_hand{
        "by_hand",
        memory,
        32,
        ALLOC_BLOCK_SIZE(32),
        40,
        nullptr,
        0,
        0,
        0,
        0,
        0,
        nullptr,
        nullptr,
        0,
        nullptr
    };
    const events             none_expected;
    std::atomic<int>         ready{0};
    std::vector<void*>       blocks(40);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&, i] {
            ready++;
            while (ready != 4) {
            }
            for (int k = i; k < 40; k += 4) {
                blocks[static_cast<std::size_t>(k)] = ALLOC_Alloc(&by_hand, 32);
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(by_hand.blocksInUse, 40u);
    give_all(&by_hand, blocks);
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::unique(blocks.begin(), blocks.end()), blocks.end());
    EXPECT_EQ(by_hand.blocksInUse, 0u);
    EXPECT_EQ(by_hand.poolIndex, 40u);
}

TEST(fb_allocator, a_free_block_that_was_written_to_is_reported_and_no_block_is_lost)
{
    void* const one = ALLOC_Alloc(other, 16);
    void* const two = ALLOC_Alloc(other, 16);
    give_all(other, {one, two});
    std::memset(two, 0x77, 16);
    events                   seen;
    const std::vector<void*> blocks = take_all(other, 16);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(blocks.size(), 5u);
    give_all(other, blocks);
    EXPECT_EQ(otherObj.blocksInUse, 0u);
}

// A defined allocator, and one that a program wrote itself, without room for the private part.
TEST(fb_allocator, blocks_of_2_KiB_and_more_are_never_touched)
{
    static char     memory[4096 * 33];
    ALLOC_Allocator own = {
        "own", memory, 4096, 4096, 33, nullptr, 0, 0, 0, 0, 0, nullptr, nullptr, 0, nullptr
    };
    for (const ALLOC_HANDLE each : {frames, ALLOC_HANDLE(&own)}) {
        events                   told;
        const std::vector<void*> all   = take_all(each, 4096);
        char* const              first = static_cast<char*>(all[0]);
        ASSERT_EQ(all.size(), 33u);
        std::memset(first, 0xA5, sizeof memory);
        ALLOC_Free(each, all[32]);
        ALLOC_Free(each, all[0]);
        ALLOC_Free(each, all[7]);
        ALLOC_Free(each, all[7]);
        EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_EQ(std::count(first, first + sizeof memory, char(0xA5)), sizeof memory);
        EXPECT_EQ(ALLOC_Alloc(each, 4096), all[7]);
        EXPECT_EQ(ALLOC_Alloc(each, 4096), all[0]);
        EXPECT_EQ(ALLOC_Alloc(each, 4096), all[32]);
        give_all(each, all);
    }
}

TEST(fb_bugs, a_double_free_gave_one_block_to_two)
{
    void* const block = ALLOC_Alloc(five, 16);
    ALLOC_Free(five, block);
    events seen;
    ALLOC_Free(five, block);
    const egb_misuse_event event = seen.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_DOUBLE_FREE);
    EXPECT_STREQ(event.pool_name, "five");
    EXPECT_EQ(fiveObj.blocksInUse, 0u);
    const std::vector<void*> blocks = take_all(five, 16);
    EXPECT_EQ(blocks.size(), 5u);
    give_all(five, blocks);
}

// The handler of misuse uses the allocator that reports, in the thread that reports.
static void use_five(const egb_misuse_event*, void*)
{
    void* const block = ALLOC_Alloc(five, 16);
    EXPECT_NE(block, nullptr);
    ALLOC_Free(five, block);
}

TEST(fb_bugs, a_handler_of_misuse_may_use_the_allocator)
{
    egb_misuse_set_handler(use_five, nullptr);
    const auto misuse = [] {
        void* const block = ALLOC_Alloc(five, 16);
        ALLOC_Free(five, static_cast<char*>(block) + 8);
        ALLOC_Free(five, block);
        ALLOC_Free(five, block);
    };
    misuse();
    std::thread(misuse).join();  // among threads
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(fiveObj.blocksInUse, 0u);
}

TEST(fb_bugs, a_free_to_the_wrong_allocator_was_accepted)
{
    auto* const block = static_cast<char*>(ALLOC_Alloc(five, 16));
    int         mine  = 0;
    events      seen;
    ALLOC_Free(other, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    ALLOC_Free(five, &mine);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    ALLOC_Free(five, block + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    ALLOC_Free(nullptr, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    ALLOC_Free(never, neverMemory + 64);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    ALLOC_Free(five, block);
    EXPECT_EQ(fiveObj.blocksInUse, 0u);
}

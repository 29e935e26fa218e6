// SPDX-License-Identifier: MIT
// x_allocator: every row of its interface, and what used to happen in it.
#include "fb_fixture.hpp"

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

extern "C" void FaultHandler(const char*, unsigned short)
{
    faults()++;
}

namespace
{

ALLOC_DEFINE(small, 32 + XALLOC_BLOCK_META_DATA_SIZE, 10)
ALLOC_DEFINE(large, 128 + XALLOC_BLOCK_META_DATA_SIZE, 5)
ALLOC_DEFINE(lone, 64 + XALLOC_BLOCK_META_DATA_SIZE, 2)

ALLOC_Allocator* allocators[] = {&smallObj, nullptr, &largeObj};
XAllocData       self         = {allocators, sizeof(allocators) / sizeof(allocators[0])};

ALLOC_DEFINE(first_of_four, 16 + XALLOC_BLOCK_META_DATA_SIZE, 3)
ALLOC_DEFINE(second_of_four, 16 + XALLOC_BLOCK_META_DATA_SIZE, 3)
ALLOC_DEFINE(third_of_four, 16 + XALLOC_BLOCK_META_DATA_SIZE, 3)
ALLOC_DEFINE(last_of_four, 16 + XALLOC_BLOCK_META_DATA_SIZE, 3)

ALLOC_Allocator* lone_allocators[] = {&loneObj};
XAllocData       lone_self         = {lone_allocators, 1};

constexpr std::size_t enormous = std::numeric_limits<std::size_t>::max();

// G07: the module that users write around it.
void* MYALLOC_Alloc(size_t size)
{
    return XALLOC_Alloc(&self, size);
}

void MYALLOC_Free(void* ptr)
{
    XALLOC_Free(ptr);
}

void* MYALLOC_Realloc(void* ptr, size_t new_size)
{
    return XALLOC_Realloc(&self, ptr, new_size);
}

void* MYALLOC_Calloc(size_t num, size_t size)
{
    return XALLOC_Calloc(&self, num, size);
}

}  // namespace

TEST(x_allocator, G01_meta_data_size)
{
    EXPECT_EQ(XALLOC_BLOCK_META_DATA_SIZE, sizeof(ALLOC_Allocator*));
}

TEST(x_allocator, G02_data_is_an_aggregate)
{
    const XAllocData empty = {nullptr, 0};
    EXPECT_EQ(empty.maxAllocators, 0);
    EXPECT_EQ(self.maxAllocators, 3);
    EXPECT_EQ(self.allocators[2], &largeObj);
}

TEST(x_allocator, G03_alloc_takes_the_first_class_that_is_large_enough)
{
    const events none_expected;
    void* const  one = XALLOC_Alloc(&self, 32);
    void* const  two = XALLOC_Alloc(&self, 33);
    EXPECT_EQ(smallObj.blocksInUse, 1u);
    EXPECT_EQ(largeObj.blocksInUse, 1u);
    std::memset(one, 1, 32);
    std::memset(two, 1, 128);
    XALLOC_Free(one);
    XALLOC_Free(two);
    EXPECT_EQ(XALLOC_Alloc(&self, 129), nullptr);
    EXPECT_EQ(XALLOC_Alloc(nullptr, 1), nullptr);
    EXPECT_EQ(take_faults(), 2);
    void* const nothing = XALLOC_Alloc(&self, 0);
    EXPECT_NE(nothing, nullptr);
    XALLOC_Free(nothing);
}

TEST(x_allocator, G03_an_empty_class_is_helped_by_the_next)
{
    std::vector<void*> blocks;
    for (int i = 0; i < 15; i++) {
        blocks.push_back(XALLOC_Alloc(&self, 20));
        ASSERT_NE(blocks.back(), nullptr) << i;
    }
    EXPECT_EQ(smallObj.blocksInUse, 10u);
    EXPECT_EQ(largeObj.blocksInUse, 5u);
    EXPECT_EQ(XALLOC_Alloc(&self, 20), nullptr);
    EXPECT_EQ(take_faults(), 1);
    for (void* block : blocks) {
        XALLOC_Free(block);
    }
    EXPECT_EQ(smallObj.blocksInUse + largeObj.blocksInUse, 0u);
}

TEST(x_allocator, G04_free_finds_the_allocator)
{
    const events none_expected;
    void* const  one = XALLOC_Alloc(&self, 10);
    void* const  two = XALLOC_Alloc(&lone_self, 10);
    XALLOC_Free(one);
    EXPECT_EQ(smallObj.blocksInUse, 0u);
    EXPECT_EQ(loneObj.blocksInUse, 1u);
    XALLOC_Free(two);
    EXPECT_EQ(loneObj.blocksInUse, 0u);
    XALLOC_Free(nullptr);
}

TEST(x_allocator, G05_realloc)
{
    const events none_expected;
    auto*        block = static_cast<char*>(XALLOC_Realloc(&self, nullptr, 10));
    ASSERT_NE(block, nullptr);
    std::memcpy(block, "123456789", 10);
    EXPECT_EQ(XALLOC_Realloc(&self, block, 32), block) << "it fits: it used to move";
    auto* const moved = static_cast<char*>(XALLOC_Realloc(&self, block, 100));
    ASSERT_NE(moved, block);
    EXPECT_STREQ(moved, "123456789");
    EXPECT_EQ(smallObj.blocksInUse, 0u);
    EXPECT_EQ(XALLOC_Realloc(&self, moved, 129), nullptr);
    EXPECT_EQ(take_faults(), 1);
    EXPECT_STREQ(moved, "123456789") << "it is as it was";
    auto* const back = static_cast<char*>(XALLOC_Realloc(&self, moved, 5));
    EXPECT_EQ(std::memcmp(back, "12345", 5), 0);
    EXPECT_EQ(largeObj.blocksInUse, 0u);
    EXPECT_EQ(XALLOC_Realloc(&self, back, 0), nullptr);
    EXPECT_EQ(smallObj.blocksInUse, 0u);
    EXPECT_EQ(take_faults(), 0);
}

TEST(x_allocator, G05_a_block_is_never_refused_to_become_smaller)
{
    std::vector<void*> blocks;
    for (int i = 0; i < 10; i++) {
        blocks.push_back(XALLOC_Alloc(&self, 1));
    }
    void* const large_one = XALLOC_Alloc(&self, 128);
    for (int i = 0; i < 4; i++) {
        blocks.push_back(XALLOC_Alloc(&self, 128));
    }
    EXPECT_EQ(XALLOC_Realloc(&self, large_one, 1), large_one);
    EXPECT_EQ(XALLOC_Realloc(nullptr, large_one, 1), nullptr);
    EXPECT_EQ(take_faults(), 1);
    XALLOC_Free(large_one);
    for (void* block : blocks) {
        XALLOC_Free(block);
    }
}

TEST(x_allocator, G06_calloc)
{
    void* const dirty = XALLOC_Alloc(&self, 32);
    std::memset(dirty, 0xFF, 32);
    XALLOC_Free(dirty);
    auto* const block = static_cast<char*>(XALLOC_Calloc(&self, 4, 8));
    ASSERT_EQ(block, dirty);
    for (int i = 0; i < 32; i++) {
        EXPECT_EQ(block[i], 0);
    }
    XALLOC_Free(block);
}

TEST(x_allocator, G07_wrapper_module)
{
    const events none_expected;
    void* const  one = MYALLOC_Alloc(28);
    void*        two = MYALLOC_Calloc(1, 32);
    two              = MYALLOC_Realloc(two, 128);
    std::memset(one, 0, 28);
    std::memset(two, 0, 128);
    MYALLOC_Free(one);
    MYALLOC_Free(two);
    EXPECT_EQ(smallObj.blocksInUse + largeObj.blocksInUse, 0u);
}

TEST(x_bugs, SIZE_MAX_gave_a_block_of_32_bytes)
{
    EXPECT_EQ(XALLOC_Alloc(&self, enormous), nullptr);
    EXPECT_EQ(XALLOC_Alloc(&self, enormous - 7), nullptr);
    EXPECT_EQ(take_faults(), 2);
}

TEST(x_bugs, a_product_overflowed)
{
    EXPECT_EQ(XALLOC_Calloc(&self, 2, enormous / 2 + 1), nullptr);
    EXPECT_EQ(take_faults(), 1);
}

TEST(x_bugs, blocks_were_8_mod_16)
{
    for (const std::size_t bytes : {1u, 32u, 100u}) {
        void* const block = XALLOC_Alloc(&self, bytes);
        EXPECT_EQ(address(block) % alignof(std::max_align_t), 0u);
        XALLOC_Free(block);
    }
}

TEST(x_bugs, a_foreign_pointer_crashed)
{
    alignas(16) char mine[64] = {};
    events           seen;
    XALLOC_Free(mine + 16);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(XALLOC_Realloc(&self, mine + 16, 10), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
}

TEST(x_bugs, a_double_free_gave_one_block_to_two)
{
    void* const block = XALLOC_Alloc(&self, 10);
    XALLOC_Free(block);
    events seen;
    XALLOC_Free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(XALLOC_Realloc(&self, block, 100), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(smallObj.blocksInUse, 0u);
}

TEST(x_bugs, a_write_before_a_block_lost_the_way_to_its_allocator)
{
    const events none_expected;
    void* const  first  = XALLOC_Alloc(&self, 32);
    auto* const  second = static_cast<char*>(XALLOC_Alloc(&self, 32));
    std::memset(second - 8, 0xFF, 8);  // the way used to be hidden there
    XALLOC_Free(second);
    XALLOC_Free(first);
    EXPECT_EQ(smallObj.blocksInUse, 0u);
}

TEST(x_allocator, allocators_that_threads_use_first_at_the_same_time_are_all_found)
{
    const events           none_expected;
    ALLOC_Allocator* const four[] = {
        &first_of_fourObj, &second_of_fourObj, &third_of_fourObj, &last_of_fourObj
    };
    std::atomic<int>         ready{0};
    std::vector<std::thread> threads;
    for (ALLOC_Allocator* const one : four) {
        threads.emplace_back([&ready, one] {
            ready++;
            while (ready != 4) {
            }
            ALLOC_Allocator* list[] = {one};
            XAllocData       own    = {list, 1};
            XALLOC_Free(XALLOC_Alloc(&own, 16));
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    for (ALLOC_Allocator* const one : four) {
        EXPECT_EQ(one->deallocations, 1u);
    }
}

TEST(x_bugs, threads_share_the_classes)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([] {
            for (int i = 0; i < 5000; i++) {
                void* const block = XALLOC_Alloc(&self, i % 2 == 0 ? 20 : 100);
                std::memset(block, 1, 20);
                XALLOC_Free(block);
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(smallObj.blocksInUse + largeObj.blocksInUse, 0u);
    EXPECT_EQ(
        smallObj.allocations + largeObj.allocations, smallObj.deallocations + largeObj.deallocations
    );
}

// An allocator as programs write them themselves, in memory that is gone some day.
class by_hand
{
  public:
    explicit by_hand(std::size_t block_bytes, std::size_t offset = 0)
    {
        begin(block_bytes, offset);
    }

    by_hand(const by_hand&)            = delete;
    by_hand& operator=(const by_hand&) = delete;

    // As it was at first, with all blocks free.
    void begin(std::size_t block_bytes, std::size_t offset)
    {
        const ALLOC_Allocator fresh = {
            "level",
            memory_ + offset,
            block_bytes,
            block_bytes,
            4,
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
        std::memcpy(place_, &fresh, sizeof fresh);
    }

    ALLOC_Allocator* get()
    {
        return reinterpret_cast<ALLOC_Allocator*>(place_);
    }

    void* take()
    {
        ALLOC_Allocator* list[] = {get()};
        XAllocData       own    = {list, 1};
        return XALLOC_Alloc(&own, 40);
    }

  private:
    alignas(ALLOC_Allocator) unsigned char place_[sizeof(ALLOC_Allocator)];
    alignas(16) char memory_[4 * 64 + 16];
};

// All allocators ever used were in a list through themselves. A free then never ended, crashed, or
// refused a good block.
TEST(x_bugs, an_allocator_that_had_ended_was_looked_at)
{
    void* const block = XALLOC_Alloc(&self, 20);
    for (int level = 0; level < 100; level++) {
        by_hand ended(64);
        EXPECT_NE(ALLOC_Alloc(ended.get(), 64), nullptr);
        void* const its = ended.take();
        ASSERT_NE(its, nullptr);
        XALLOC_Free(its);
        EXPECT_EQ(ended.get()->deallocations, 1u);
        std::memset(static_cast<void*>(&ended), 0xEE, sizeof ended);
    }
    const std::size_t before = smallObj.deallocations;
    XALLOC_Free(block);
    EXPECT_EQ(smallObj.deallocations, before + 1);
}

TEST(x_bugs, one_that_was_made_anew_is_in_the_list_once)
{
    by_hand again(64);
    for (int round = 0; round < 3; round++) {
        again.begin(64, 0);
        void* const block = again.take();
        ASSERT_NE(block, nullptr);
        XALLOC_Free(block);
        EXPECT_EQ(again.get()->blocksInUse, 0u);
    }
}

// There was no alignment: so blocks of any size, anywhere, were served.
TEST(x_bugs, odd_blocks_and_memory_of_any_alignment_are_served)
{
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        for (const std::size_t bytes : {std::size_t{41}, std::size_t{48}, std::size_t{50}}) {
            by_hand    odd(bytes, offset);
            const auto blocks = take_all(odd.get(), bytes);
            ASSERT_EQ(blocks.size(), 4u);
            for (void* const block : blocks) {
                std::memset(block, 0x5A, bytes);
            }
            ALLOC_Free(odd.get(), blocks[0]);
            EXPECT_EQ(ALLOC_Alloc(odd.get(), bytes), blocks[0]);
            ALLOC_Free(odd.get(), blocks[0]);
            events seen;
            ALLOC_Free(odd.get(), blocks[0]);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        }
    }
}

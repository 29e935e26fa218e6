// SPDX-License-Identifier: MIT
// Pools on real memory: the pages they touch, and regions of many gigabytes. The pages are asked
// for one by one from the system, so nothing else that runs can disturb the answer.
#include "events.hpp"

#include "eggbox/fixed.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace
{

// Address space without memory; pages come when they are touched.
class mapping
{
  public:
    explicit mapping(std::size_t bytes, int protection = PROT_READ | PROT_WRITE)
        : bytes_(bytes),
          start_(
              mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
          )
    {
    }

    ~mapping()
    {
        if (start_ != MAP_FAILED) {
            munmap(start_, bytes_);
        }
    }

    mapping(const mapping&)            = delete;
    mapping& operator=(const mapping&) = delete;

    char* start() const
    {
        return start_ == MAP_FAILED ? nullptr : static_cast<char*>(start_);
    }

    std::size_t bytes() const
    {
        return bytes_;
    }

    std::size_t resident_pages() const
    {
        const auto                 page = std::size_t(sysconf(_SC_PAGESIZE));
        std::vector<unsigned char> resident((bytes_ + page - 1) / page);
        EXPECT_EQ(mincore(start_, bytes_, resident.data()), 0);
        std::size_t pages = 0;
        for (const unsigned char flags : resident) {
            pages += flags & 1u;
        }
        return pages;
    }

  private:
    std::size_t bytes_;
    void*       start_;
};

}  // namespace

TEST(fixed_memory, init_resize_and_clear_do_not_touch_the_region_at_all)
{
    const mapping memory(std::size_t{1} << 28, PROT_NONE);  // a touch would end the program
    ASSERT_NE(memory.start(), nullptr);
    for (const std::size_t block_bytes : {4u, 24u, 64u, 4096u}) {
        egb_fixed pool;
        ASSERT_EQ(egb_fixed_init(&pool, memory.start(), memory.bytes(), block_bytes), EGB_OK);
        EXPECT_EQ(egb_fixed_capacity(&pool), memory.bytes() / block_bytes);
        EXPECT_TRUE(egb_fixed_owns(&pool, memory.start() + block_bytes));
        EXPECT_TRUE(egb_fixed_whole(&pool));
        EXPECT_EQ(egb_fixed_resize(&pool, memory.bytes() / 2), EGB_OK);
        egb_fixed_clear(&pool);
    }
}

TEST(fixed_memory, a_ping_pong_of_one_block_among_a_million_touches_one_page)
{
    const std::size_t block_bytes = 64;
    const mapping     memory(block_bytes * 1000000);
    ASSERT_NE(memory.start(), nullptr);
    egb_fixed pool;
    ASSERT_EQ(egb_fixed_init(&pool, memory.start(), memory.bytes(), block_bytes), EGB_OK);
    EXPECT_EQ(memory.resident_pages(), 0u);
    for (int i = 0; i < 1000000; i++) {
        void* const block = egb_fixed_alloc(&pool);
        std::memset(block, 1, block_bytes);
        egb_fixed_free(&pool, block);
    }
    EXPECT_EQ(memory.resident_pages(), 1u);
}

TEST(fixed_memory, live_bits_of_blocks_never_touched_are_never_touched)
{
    const std::size_t count = 50000000;
    const mapping     memory(count * 4);
    const mapping     bits(EGB_FIXED_LIVE_BYTES(count));
    ASSERT_NE(memory.start(), nullptr);
    ASSERT_NE(bits.start(), nullptr);
    egb_fixed pool;
    ASSERT_EQ(
        egb_fixed_init_checked(
            &pool, memory.start(), memory.bytes(), 4, bits.start(), bits.bytes()
        ),
        EGB_OK
    );
    for (int i = 0; i < 100; i++) {
        ASSERT_NE(egb_fixed_alloc(&pool), nullptr);
    }
    EXPECT_EQ(memory.resident_pages(), 0u) << "not even the blocks that are in use";
    EXPECT_EQ(bits.resident_pages(), 1u);
}

// A read or a write of a block would end this process.
TEST(fixed_memory, a_pool_that_is_all_outside_works_on_memory_that_nobody_may_touch)
{
    const std::size_t     block_bytes = 12;
    const std::size_t     count       = 1000;
    const mapping         memory(block_bytes * count, PROT_NONE);
    std::vector<uint32_t> outside(EGB_FIXED_OUTSIDE_BYTES(count) / 4);
    ASSERT_NE(memory.start(), nullptr);
    events    seen;
    egb_fixed pool;
    ASSERT_EQ(
        egb_fixed_init_outside(
            &pool,
            memory.start(),
            block_bytes * count / 2,
            block_bytes,
            outside.data(),
            outside.size() * 4
        ),
        EGB_OK
    );
    std::vector<char*> blocks;
    ASSERT_EQ(egb_fixed_resize(&pool, block_bytes * count), EGB_OK);
    for (std::size_t i = 0; i < count; i++) {
        blocks.push_back(static_cast<char*>(egb_fixed_alloc(&pool)));
        ASSERT_EQ(blocks[i], memory.start() + i * block_bytes);
    }
    ASSERT_EQ(egb_fixed_alloc(&pool), nullptr);
    for (std::size_t i = 0; i < count; i += 3) {
        egb_fixed_free(&pool, blocks[i]);
        egb_fixed_free(&pool, blocks[i]);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_FALSE(egb_fixed_is_live(&pool, blocks[i]));
    }
    egb_fixed_free(&pool, blocks[1] + 4);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    EXPECT_EQ(egb_fixed_in_use(&pool), count - 334);
    EXPECT_TRUE(egb_fixed_whole(&pool));
    EXPECT_EQ(egb_fixed_alloc(&pool), blocks[999]);
    EXPECT_EQ(egb_fixed_alloc(&pool), blocks[996]);
    egb_fixed_clear(&pool);
    EXPECT_EQ(egb_fixed_alloc(&pool), blocks[0]);
    EXPECT_TRUE(egb_fixed_whole(&pool));
}

TEST(fixed_memory, more_live_bits_than_there_can_be_blocks_are_taken_and_not_touched)
{
    if (sizeof(std::size_t) < 8) {
        return;  // the system does not have that many bytes
    }
    const mapping memory(std::size_t(uint64_t{16} << 30));
    const mapping bits(std::size_t(uint64_t{1} << 30));
    ASSERT_NE(memory.start(), nullptr) << "no 16 GiB of address space";
    ASSERT_NE(bits.start(), nullptr);
    egb_fixed pool;
    ASSERT_EQ(
        egb_fixed_init_checked(&pool, memory.start(), 4000, 4, bits.start(), bits.bytes()), EGB_OK
    );
    EXPECT_EQ(egb_fixed_resize(&pool, memory.bytes()), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&pool), UINT32_MAX);
    EXPECT_EQ(bits.resident_pages(), 1u);
}

TEST(fixed_memory, more_room_outside_than_there_can_be_blocks_is_taken_and_not_touched)
{
    if (sizeof(std::size_t) < 8) {
        return;  // the system does not have that many bytes
    }
    const mapping memory(std::size_t(uint64_t{16} << 30));
    const mapping outside(std::size_t(uint64_t{18} << 30));
    ASSERT_NE(memory.start(), nullptr) << "no 16 GiB of address space";
    ASSERT_NE(outside.start(), nullptr);
    egb_fixed pool;
    ASSERT_EQ(
        egb_fixed_init_outside(&pool, memory.start(), 4000, 4, outside.start(), outside.bytes()),
        EGB_OK
    );
    EXPECT_EQ(egb_fixed_resize(&pool, memory.bytes()), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&pool), UINT32_MAX);
    egb_fixed_free(&pool, egb_fixed_alloc(&pool));
    EXPECT_TRUE(egb_fixed_whole(&pool));
}

TEST(fixed_memory, a_region_of_16_GiB_works_to_its_last_block)
{
    if (sizeof(std::size_t) < 8) {
        return;  // there is no such region
    }
    const auto        gib         = uint64_t{1} << 30;
    const std::size_t block_bytes = std::size_t(gib / 4);
    const mapping     memory(std::size_t(16 * gib));
    ASSERT_NE(memory.start(), nullptr) << "no 16 GiB of address space";
    events    seen;
    egb_fixed pool;
    ASSERT_EQ(egb_fixed_init(&pool, memory.start(), memory.bytes(), block_bytes), EGB_OK);
    ASSERT_EQ(egb_fixed_capacity(&pool), 64u);
    std::vector<char*> blocks;
    while (void* const block = egb_fixed_alloc(&pool)) {
        ASSERT_EQ(block, memory.start() + blocks.size() * block_bytes);
        blocks.push_back(static_cast<char*>(block));
        std::memset(block, int(blocks.size()), 16);
    }
    ASSERT_EQ(blocks.size(), 64u);
    for (char* block : blocks) {
        egb_fixed_free(&pool, block + 4);
        ASSERT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        egb_fixed_free(&pool, block);
    }
    egb_fixed_free(&pool, memory.start() + memory.bytes());
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_TRUE(egb_fixed_whole(&pool));
    for (std::size_t i = 64; i-- > 0;) {
        EXPECT_EQ(egb_fixed_alloc(&pool), blocks[i]);
    }
    EXPECT_EQ(memory.resident_pages(), 64u);
}

// The most blocks a pool can have. Only a few are touched: the pool is made to believe that all the
// blocks before are in use, and its own bookkeeping is at its largest numbers.
TEST(fixed_memory, four_billion_blocks_of_4_bytes_are_told_apart)
{
    if (sizeof(std::size_t) < 8) {
        return;  // there is no such region
    }
    const mapping memory(std::size_t(uint64_t{16} << 30));
    ASSERT_NE(memory.start(), nullptr) << "no 16 GiB of address space";
    events    seen;
    egb_fixed pool;
    ASSERT_EQ(egb_fixed_init(&pool, memory.start(), memory.bytes(), 4), EGB_OK);
    const std::size_t count = egb_fixed_capacity(&pool);
    ASSERT_EQ(count, UINT32_MAX);
    pool.bound             = uint32_t(count - 2);
    char* const next       = memory.start() + (count - 2) * 4;
    void* const last_but_1 = egb_fixed_alloc(&pool);
    void* const last       = egb_fixed_alloc(&pool);
    EXPECT_EQ(last_but_1, next);
    EXPECT_EQ(last, next + 4);
    EXPECT_EQ(egb_fixed_alloc(&pool), nullptr);
    egb_fixed_free(&pool, next + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    std::memset(last, 0x44, 4);
    egb_fixed_free(&pool, last);
    egb_fixed_free(&pool, last);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_fixed_alloc(&pool), last);
}

// SPDX-License-Identifier: MIT
// The heap, promise by promise: sizes, alignment, contents, and what the pools of its classes say.
#include "heaps.hpp"

extern "C" {
#include "pool/passthrough.h"
}

#include <set>
#include <string>
#include <thread>

namespace
{

const egb_pool heap_before_main = egb_heap_pool();

constexpr std::size_t too_large = std::size_t{PTRDIFF_MAX} + 1;

std::size_t page_bytes()
{
    return 4096;  // or more: an alignment up to this is served from classes on every system
}

}  // namespace

// ---- sizes --------------------------------------------------------------------------------------

TEST(heap, there_is_no_pool_before_the_first_request)
{
    EXPECT_TRUE(heap_before_main == egb_pool{});
}

TEST(heap, up_to_128_bytes_a_block_is_the_next_multiple_of_16)
{
    const all_given_back check;
    for (std::size_t bytes = 1; bytes <= 128; bytes++) {
        void* const block = egb_malloc(bytes);
        EXPECT_EQ(egb_block_bytes(block), (bytes + 15) / 16 * 16);
        egb_free(block);
    }
}

TEST(heap, from_129_bytes_on_a_block_is_less_than_an_eighth_larger)
{
    const all_given_back check;
    for (std::size_t bytes = 129; bytes <= class_bytes_max; bytes++) {
        void* const       block = egb_malloc(bytes);
        const std::size_t room  = egb_block_bytes(block);
        ASSERT_GE(room, bytes);
        ASSERT_LT((room - bytes) * 8, bytes);
        egb_free(block);
    }
}

TEST(heap, every_class_is_what_the_numbers_say)
{
    const egb_heap_stats numbers = heap_numbers();
    std::size_t          below   = 0;
    for (const egb_heap_class& one : numbers.classes) {
        ASSERT_GT(one.block_bytes, below);
        for (const std::size_t bytes : sizes{below + 1, one.block_bytes}) {  // its ends
            void* const block = egb_malloc(bytes);
            EXPECT_EQ(egb_block_bytes(block), one.block_bytes);
            egb_free(block);
        }
        below = one.block_bytes;
    }
    EXPECT_EQ(below, class_bytes_max);
}

TEST(heap, of_no_bytes_each_block_is_one_of_its_own)
{
    const all_given_back check;
    std::set<void*>      blocks;
    for (int i = 0; i < 100; i++) {
        blocks.insert(egb_malloc(0));
        blocks.insert(egb_calloc(0, 8));
        blocks.insert(egb_calloc(8, 0));
        blocks.insert(egb_aligned_alloc(64, 0));
        blocks.insert(egb_realloc(nullptr, 0));
        blocks.insert(egb_realloc(egb_malloc(100), 0));
    }
    EXPECT_EQ(blocks.size(), 600u);
    EXPECT_EQ(blocks.count(nullptr), 0u);
    for (void* const block : blocks) {
        egb_free(block);
    }
}

TEST(heap, what_no_object_can_have_is_refused)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{too_large, too_large + 1, SIZE_MAX - 1, SIZE_MAX}) {
        EXPECT_EQ(egb_malloc(bytes), nullptr);
        EXPECT_EQ(egb_calloc(1, bytes), nullptr);
        EXPECT_EQ(egb_calloc(bytes, 1), nullptr);
        EXPECT_EQ(egb_realloc(nullptr, bytes), nullptr);
        EXPECT_EQ(egb_aligned_alloc(16, bytes), nullptr);
        EXPECT_EQ(egb_aligned_alloc(std::size_t{1} << 20, bytes), nullptr);
    }
    for (const std::size_t bytes : sizes{24, 100000}) {
        void* const block = egb_malloc(bytes);
        fill(block, bytes, 1);
        EXPECT_EQ(egb_realloc(block, too_large), nullptr);
        EXPECT_EQ(egb_realloc(block, SIZE_MAX), nullptr);
        EXPECT_TRUE(is_filled(block, bytes, 1));
        egb_free(block);
    }
}

TEST(heap, a_product_that_overflows_is_refused)
{
    const all_given_back check;
    const std::size_t    root = std::size_t{1} << (sizeof(std::size_t) * 4);
    EXPECT_EQ(egb_calloc(root, root), nullptr);           // 0, but for the overflow
    EXPECT_EQ(egb_calloc(root + 1, root), nullptr);       // small
    EXPECT_EQ(egb_calloc(SIZE_MAX / 2 + 2, 2), nullptr);  // 2
    EXPECT_EQ(egb_calloc(3, SIZE_MAX / 3 + 1), nullptr);
}

// ---- alignment ----------------------------------------------------------------------------------

// The blocks of each class, more than a first chunk has, and what power of two is in their size.
static void each_block_of_classes(void (*visit)(void* block, std::size_t bytes, std::size_t power))
{
    for (const egb_heap_class& one : heap_numbers().classes) {
        std::vector<void*> blocks;
        for (int i = 0; i < 70; i++) {
            blocks.push_back(egb_malloc(one.block_bytes));
            visit(blocks.back(), one.block_bytes, one.block_bytes & (0 - one.block_bytes));
        }
        for (void* const block : blocks) {
            egb_free(block);
        }
    }
}

TEST(heap, blocks_are_aligned_to_16_and_classes_to_their_power_of_two_or_half_of_it)
{
    const all_given_back check;
    each_block_of_classes([](void* block, std::size_t bytes, std::size_t power) {
        const bool        is_half = bytes > 1024 && power < bytes && power < page_bytes();
        const std::size_t align   = std::min(is_half ? power / 2 : power, page_bytes());
        EXPECT_GE(align, 16u);
        EXPECT_TRUE(is_aligned(block, align)) << bytes;
    });
}

// The system copies a page of a file slowly to an address a few bytes behind such a multiple.
TEST(heap, blocks_of_odd_sizes_do_not_start_at_a_multiple_of_4096)
{
    const all_given_back check;
    each_block_of_classes([](void* block, std::size_t bytes, std::size_t power) {
        if (bytes > 1024 && power < bytes && power < page_bytes()) {
            EXPECT_FALSE(is_aligned(block, page_bytes())) << bytes;
        }
    });
}

TEST(heap, aligned_blocks_are_aligned_and_have_room)
{
    const all_given_back check;
    for (std::size_t align = 1; align <= std::size_t{1} << 22; align *= 2) {
        for (const std::size_t bytes :
             sizes{0, 1, 15, 16, 17, 100, 1000, 4097, 30000, 32769, 200000}) {
            std::vector<void*> blocks;
            for (std::size_t i = 0; i < 3; i++) {
                void* const block = egb_aligned_alloc(align, bytes);
                ASSERT_NE(block, nullptr) << align << ", " << bytes;
                ASSERT_TRUE(is_aligned(block, align)) << align << ", " << bytes;
                ASSERT_GE(egb_block_bytes(block), bytes);
                fill(block, bytes, i);
                blocks.push_back(block);
            }
            for (std::size_t i = 0; i < blocks.size(); i++) {
                ASSERT_TRUE(is_filled(blocks[i], bytes, i));
                egb_free(blocks[i]);
            }
        }
    }
}

TEST(heap, up_to_a_page_aligned_blocks_are_of_classes)
{
    const all_given_back check;
    for (std::size_t align = 1; align <= page_bytes(); align *= 2) {
        for (const std::size_t bytes : sizes{1, 5000, class_bytes_max}) {
            void* const block = egb_aligned_alloc(align, bytes);
            EXPECT_FALSE(is_large(block)) << align << ", " << bytes;
            egb_free(block);
        }
    }
}

TEST(heap, an_alignment_that_is_no_power_of_two_is_refused)
{
    for (const std::size_t align : sizes{0, 3, 24, SIZE_MAX}) {
        EXPECT_EQ(egb_aligned_alloc(align, 100), nullptr) << align;
    }
    // A power, but of 64 bits too large; of 32 bits the one such address may be free.
    void* const block = egb_aligned_alloc(SIZE_MAX / 2 + 1, 100);
    EXPECT_TRUE(block == nullptr || sizeof(void*) == 4);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (SIZE_MAX / 2 + 1), 0u);
    egb_free(block);
}

// ---- contents -----------------------------------------------------------------------------------

TEST(heap, calloc_is_all_zero_also_where_others_wrote_before)
{
    const all_given_back check;
    for (const std::size_t bytes :
         sizes{1, 100, 1000, 1025, 5000, 32768, 32769, 65536, 300000, 1 << 20, 3000000}) {
        for (std::size_t round = 0; round < 3; round++) {
            void* const dirty = egb_malloc(bytes);
            std::memset(dirty, 0x5A, egb_block_bytes(dirty));
            egb_free(dirty);
            void* const block = egb_calloc(bytes / 4 + 1, 4);
            ASSERT_TRUE(is_zero(block, bytes)) << bytes;
            std::memset(block, 0xA5, egb_block_bytes(block));
            egb_free(block);
        }
    }
}

TEST(heap, the_whole_of_a_block_is_the_callers)
{
    const all_given_back                       check;
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (std::size_t bytes = 1; bytes < 300000; bytes += 1 + bytes / 3) {
        for (int i = 0; i < 4; i++) {
            void* const block = egb_malloc(bytes);
            blocks.emplace_back(block, egb_block_bytes(block));
            fill(block, blocks.back().second, blocks.size());
        }
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        ASSERT_TRUE(is_filled(blocks[i].first, blocks[i].second, i + 1));
        egb_free(blocks[i].first);
    }
}

// ---- the pools of the classes -------------------------------------------------------------------

TEST(heap, a_class_is_a_pool_of_its_name_below_the_heap)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{64, 1024, class_bytes_max}) {
        void* const    block = egb_malloc(bytes);
        const egb_pool pool  = egb_pool_of(block);
        EXPECT_EQ("heap " + std::to_string(bytes), stats_of(pool).name);
        EXPECT_TRUE(egb_pool_parent(pool) == egb_heap_pool());
        EXPECT_TRUE(egb_pool_is_live(pool, block));
        const std::size_t in_use = stats_of(pool).in_use;
        egb_free(block);
        EXPECT_EQ(stats_of(pool).in_use, in_use - 1);
    }
    EXPECT_STREQ(stats_of(egb_heap_pool()).name, "heap");
    EXPECT_TRUE(egb_pool_parent(egb_heap_pool()) == egb_pool{});
}

TEST(heap, the_subtree_of_the_heap_has_all_classes_that_were_used)
{
    for (const egb_heap_class& one : heap_numbers().classes) {
        egb_free(egb_malloc(one.block_bytes));
    }
    EXPECT_EQ(subtree_of(egb_heap_pool()).pools, 1u + EGB_HEAP_CLASSES);
    for (const egb_heap_class& one : heap_numbers().classes) {
        EXPECT_EQ(stats_of(one.pool).block_bytes, one.block_bytes);
    }
}

TEST(heap, what_was_destroyed_is_made_anew)
{
    egb_free(egb_malloc(64));
    const egb_pool first = egb_heap_pool();
    EXPECT_EQ(egb_pool_destroy(first, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_FALSE(egb_pool_alive(egb_heap_pool()));
    for (const std::size_t bytes : sizes{64, 2000}) {
        void* const block = egb_malloc(bytes);
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(egb_pool_parent(egb_pool_of(block)) == egb_heap_pool());
        const egb_pool old = egb_pool_of(block);
        egb_free(block);
        EXPECT_EQ(egb_pool_destroy(old, EGB_DESTROY_REFUSE), EGB_OK);
        void* const another = egb_malloc(bytes);
        ASSERT_NE(another, nullptr);
        EXPECT_FALSE(egb_pool_of(another) == old);
        egb_free(another);
    }
    EXPECT_FALSE(egb_heap_pool() == first);
}

// ---- measuring ----------------------------------------------------------------------------------

TEST(heap, requests_are_counted_while_they_are_measured)
{
    const all_given_back check;
    const auto           class_100 = [] {
        return heap_numbers().classes[6];
    };  // the class of 112 bytes
    ASSERT_EQ(class_100().block_bytes, 112u);
    egb_free(egb_malloc(100));
    const egb_heap_class before = class_100();
    egb_free(egb_malloc(100));
    EXPECT_EQ(class_100().requests, before.requests) << "not asked for";
    egb_heap_measure(true);
    EXPECT_TRUE(heap_numbers().is_measured);
    for (std::size_t i = 0; i < 1000; i++) {
        egb_free(egb_malloc(97 + i % 4));
        egb_free(egb_malloc(2000));
    }
    egb_free(egb_calloc(10, 10));
    egb_free(egb_realloc(nullptr, 101));
    EXPECT_EQ(class_100().requests, before.requests + 1002);
    EXPECT_EQ(class_100().requested_bytes, before.requested_bytes + 98500 + 201);
    const egb_heap_class& class_2000 = heap_numbers().classes[39];
    EXPECT_EQ(class_2000.block_bytes, 2048u);
    EXPECT_EQ(class_2000.requests, 1000u);
    EXPECT_EQ(class_2000.requested_bytes, 2000000u);
    egb_heap_measure(false);
    EXPECT_FALSE(heap_numbers().is_measured);
    const egb_heap_class after = class_100();
    for (int i = 0; i < 100; i++) {
        egb_free(egb_malloc(100));
    }
    EXPECT_EQ(class_100().requests, after.requests);
}

// Much of what programs free is NULL: that waits for nobody, nor does a large block, as long as no
// pool has its blocks from malloc.
TEST(heap, what_is_in_no_pool_is_freed_without_the_register)
{
    const all_given_back check;
    void* const          large = egb_malloc(std::size_t{3} << 20);
    egb_pass_lock_();
    std::thread other([&] {
        egb_free(nullptr);
        egb_free(large);
    });
    other.join();  // or never
    egb_pass_unlock_();
}

TEST(heap, numbers_go_somewhere)
{
    EXPECT_EQ(egb_heap_get_stats(nullptr), EGB_INVALID);
}

// SPDX-License-Identifier: MIT
// Misuse of the heap, with small blocks and with large blocks. Each is refused, reported as its
// kind, and has no effect.
#include "environment.hpp"
#include "events.hpp"
#include "heaps.hpp"

#include <cstdlib>

namespace
{

// One of a small class, one of a class beyond the table of the hot path, two large ones.
constexpr std::size_t of_each_kind[] = {24, 1000, 5000, 40000, 140000, 3000000};

// The misuse, by free and by realloc, is of this kind, and changes nothing.
void expect_refused(events* seen, void* block, egb_misuse_kind kind)
{
    const std::size_t before = heap_in_use();
    egb_free(block);
    const egb_misuse_event by_free = seen->take();
    EXPECT_EQ(by_free.kind, kind);
    EXPECT_EQ(by_free.address, block);
    EXPECT_NE(by_free.site, nullptr);
    for (const std::size_t bytes : sizes{1, 20, 100000, 200000}) {
        EXPECT_EQ(egb_realloc(block, bytes), nullptr);
        const egb_misuse_event by_realloc = seen->take();
        EXPECT_EQ(by_realloc.kind, kind);
        EXPECT_EQ(by_realloc.address, block);
    }
    EXPECT_EQ(heap_in_use(), before);
}

}  // namespace

TEST(heap_misuse, a_second_free)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        void* const block = egb_malloc(bytes);
        egb_free(block);
        expect_refused(&seen, block, EGB_MISUSE_DOUBLE_FREE);
        void* const again = egb_malloc(bytes);  // the heap is whole, and has it once
        void* const other = egb_malloc(bytes);
        EXPECT_NE(again, other);
        egb_free(again);
        egb_free(other);
    }
}

TEST(heap_misuse, a_second_free_after_the_memory_was_given_back)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        void* const block = egb_malloc(bytes);
        egb_free(block);
        (void)egb_heap_trim(0);
        expect_refused(&seen, block, EGB_MISUSE_FOREIGN);
    }
}

TEST(heap_misuse, an_address_inside_a_block)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        auto* const block = static_cast<char*>(egb_malloc(bytes));
        fill(block, bytes, bytes);
        for (const std::size_t offset : sizes{1, 8, bytes - 1}) {
            expect_refused(&seen, block + offset, EGB_MISUSE_INTERIOR);
        }
        EXPECT_TRUE(is_filled(block, bytes, bytes));
        egb_free(block);
    }
}

TEST(heap_misuse, an_address_inside_a_large_block_that_is_free)
{
    events      seen;
    auto* const block = static_cast<char*>(egb_malloc(200000));
    egb_free(block);
    expect_refused(&seen, block + 16, EGB_MISUSE_INTERIOR);
}

TEST(heap_misuse, a_second_free_of_a_large_block_that_is_a_part_of_another_region_now)
{
    events      seen;
    auto* const whole = static_cast<char*>(egb_malloc(7 * unit_bytes));
    egb_free(whole);
    void* const front  = egb_malloc(3 * unit_bytes);
    void* const behind = egb_malloc(4 * unit_bytes);
    egb_free(front);
    egb_free(behind);
    expect_refused(&seen, behind, EGB_MISUSE_DOUBLE_FREE);
    expect_refused(&seen, front, EGB_MISUSE_DOUBLE_FREE);
    void* const again = egb_malloc(7 * unit_bytes);
    if (again == front) {
        expect_refused(&seen, behind, EGB_MISUSE_INTERIOR);
    }
    egb_free(again);
}

TEST(heap_misuse, memory_of_others)
{
    events            seen;
    static int        ours = 0;
    int               here = 0;
    std::vector<char> block(100000);
    for (void* const address :
         {static_cast<void*>(&ours),
          static_cast<void*>(&here),
          static_cast<void*>(block.data()),
          reinterpret_cast<void*>(16)}) {
        expect_refused(&seen, address, EGB_MISUSE_FOREIGN);
    }
}

TEST(heap_misuse, a_block_that_never_was_handed_out)
{
    events                seen;
    constexpr std::size_t bytes = 28672;  // the first chunk has two
    (void)egb_heap_trim(0);
    auto* const block = static_cast<char*>(egb_malloc(bytes));
    char* const fresh = block + bytes;
    ASSERT_TRUE(egb_pool_of(fresh) == egb_pool_of(block));
    expect_refused(&seen, fresh, EGB_MISUSE_NEVER_ALLOCATED);
    egb_free(block);
}

TEST(heap_misuse, a_block_of_the_heap_freed_to_another_pool)
{
    events      seen;
    const guard pool(make(64));
    for (const std::size_t bytes : of_each_kind) {
        void* const block = egb_malloc(bytes);
        egb_pool_free(pool, block);
        EXPECT_EQ(seen.take_kind(), is_large(block) ? EGB_MISUSE_FOREIGN : EGB_MISUSE_WRONG_POOL);
        egb_free(block);
    }
}

TEST(heap_misuse, a_large_block_is_reported_as_the_heaps)
{
    events      seen;
    void* const block = egb_malloc(200000);
    egb_misuse_set_handler(
        [](const egb_misuse_event* event, void*) { EXPECT_STREQ(event->pool_name, "heap"); },
        nullptr
    );
    egb_free(static_cast<char*>(block) + 1);
    egb_free(block);
}

TEST(heap_misuse, no_block_is_no_misuse)
{
    events seen;
    egb_free(nullptr);
    EXPECT_TRUE(seen.none());
}

TEST(heap_misuse, a_delete_of_the_right_size_is_silent)
{
    const events seen;
    for (std::size_t bytes = 0; bytes < 200000; bytes += 1 + bytes / 64) {
        egb_free_sized_(egb_malloc(bytes), bytes);
        for (const std::size_t align : sizes{1, 16, 64, 4096, 65536}) {
            egb_free_aligned_sized_(egb_aligned_alloc(align, bytes), align, bytes);
            egb_free_aligned_(egb_aligned_alloc(align, bytes), align);
        }
    }
    egb_heap_measure(true);
    for (const std::size_t bytes : of_each_kind) {
        egb_free_sized_(egb_malloc(bytes), bytes);
    }
    egb_heap_measure(false);
    egb_free_sized_(nullptr, 8);
    egb_free_aligned_(nullptr, 64);
    EXPECT_TRUE(seen.none());
}

// The heap knows better: it frees the block by its true size.
TEST(heap_misuse, a_delete_of_another_size_is_reported_and_done)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        for (const std::size_t wrong : sizes{0, bytes / 3, bytes * 2, 100000000, SIZE_MAX - 1}) {
            const std::size_t before = heap_in_use();
            void* const       block  = egb_malloc(bytes);
            egb_free_sized_(block, wrong);
            const egb_misuse_event event = seen.take();
            EXPECT_EQ(event.kind, EGB_MISUSE_WRONG_SIZE) << bytes << " as " << wrong;
            EXPECT_EQ(event.address, block);
            EXPECT_NE(event.site, nullptr);
            EXPECT_EQ(heap_in_use(), before);
            egb_free(block);
            EXPECT_NE(seen.take_kind(), EGB_MISUSE_WRONG_SIZE);
        }
    }
}

// Only by chance do two neighbours share a page, or large blocks use more pages than they need.
TEST(heap_misuse, a_delete_of_another_alignment_is_reported_and_done)
{
    events            seen;
    const std::size_t wide     = std::size_t{1} << 30;
    void* const       blocks[] = {egb_malloc(48), egb_malloc(48)};
    void* const       large    = egb_malloc(3000000);
    std::size_t       expected = 0;
    for (void* const block : blocks) {
        expected += reinterpret_cast<std::uintptr_t>(block) % 4096 != 0 ? 1 : 0;
        egb_free_aligned_(block, 4096);
    }
    EXPECT_GE(expected, 1u);
    expected += reinterpret_cast<std::uintptr_t>(large) % wide != 0 ? 1 : 0;
    egb_free_aligned_sized_(large, wide, 3000000);
    EXPECT_EQ(seen.count(), expected);
    EXPECT_EQ(seen.take_all(), EGB_MISUSE_WRONG_SIZE);
}

TEST(heap_misuse, a_second_delete_is_one_whatever_its_size)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        void* const block = egb_malloc(bytes);
        egb_free(block);
        egb_free_sized_(block, bytes);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        egb_free_sized_(block, 7);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    }
}

// With guards it is known how many bytes were asked for.
TEST(heap_misuse, with_guards_a_delete_of_any_other_size_is_reported)
{
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", "guard");
    events seen;
    for (const std::size_t bytes : sizes{24, 1000, 5000}) {
        egb_free_sized_(egb_malloc(bytes), bytes);
        egb_free_aligned_sized_(egb_aligned_alloc(64, bytes), 64, bytes);
        EXPECT_TRUE(seen.none());
        egb_free_sized_(egb_malloc(bytes), bytes - 1);
        EXPECT_EQ(seen.history().bytes, bytes);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_SIZE);
    }
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", nullptr);
}

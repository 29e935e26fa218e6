// SPDX-License-Identifier: MIT
// Misuse of the heap, of small blocks and of large ones: each refused, reported as what it is, and
// without effect.
#include "events.hpp"
#include "heaps.hpp"

namespace
{

// One of a small class, one of a class beyond the table of the hot path, two large ones.
constexpr std::size_t of_each_kind[] = {24, 1000, 5000, 40000, 3000000};

// The misuse, by free and by realloc, is of this kind, and changes nothing.
void expect_refused(events* seen, void* block, egb_event_kind kind)
{
    const std::size_t before = heap_in_use();
    egb_free(block);
    const egb_event by_free = seen->take();
    EXPECT_EQ(by_free.kind, kind);
    EXPECT_EQ(by_free.address, block);
    EXPECT_NE(by_free.site, nullptr);
    for (const std::size_t bytes : sizes{1, 20, 100000}) {
        EXPECT_EQ(egb_realloc(block, bytes), nullptr);
        const egb_event by_realloc = seen->take();
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
        expect_refused(&seen, block, EGB_EVENT_DOUBLE_FREE);
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
        expect_refused(&seen, block, EGB_EVENT_FOREIGN);
    }
}

TEST(heap_misuse, an_address_inside_a_block)
{
    events seen;
    for (const std::size_t bytes : of_each_kind) {
        auto* const block = static_cast<char*>(egb_malloc(bytes));
        fill(block, bytes, bytes);
        for (const std::size_t offset : sizes{1, 8, bytes - 1}) {
            expect_refused(&seen, block + offset, EGB_EVENT_INTERIOR);
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
    expect_refused(&seen, block + 16, EGB_EVENT_INTERIOR);
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
        expect_refused(&seen, address, EGB_EVENT_FOREIGN);
    }
}

TEST(heap_misuse, a_block_that_never_was_handed_out)
{
    events                seen;
    constexpr std::size_t bytes = 28672;  // of which the first chunk has two
    (void)egb_heap_trim(0);
    auto* const block = static_cast<char*>(egb_malloc(bytes));
    char* const fresh = block + bytes;
    ASSERT_TRUE(egb_pool_of(fresh) == egb_pool_of(block));
    expect_refused(&seen, fresh, EGB_EVENT_NEVER_ALLOCATED);
    egb_free(block);
}

TEST(heap_misuse, a_block_of_the_heap_freed_to_another_pool)
{
    events      seen;
    const guard pool(make(64));
    for (const std::size_t bytes : of_each_kind) {
        void* const block = egb_malloc(bytes);
        egb_pool_free(pool, block);
        EXPECT_EQ(seen.take_kind(), is_large(block) ? EGB_EVENT_FOREIGN : EGB_EVENT_WRONG_POOL);
        egb_free(block);
    }
}

TEST(heap_misuse, a_large_block_is_reported_as_the_heaps)
{
    events      seen;
    void* const block = egb_malloc(100000);
    egb_set_misuse_handler(
        [](const egb_event* event, void*) { EXPECT_STREQ(event->pool_name, "heap"); }, nullptr
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

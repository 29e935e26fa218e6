// SPDX-License-Identifier: MIT
// Large blocks with a guard page that realloc makes larger, step by step. Their faults are tested
// in test_heap_guard_faults.cpp.
#include "events.hpp"
#include "heaps.hpp"

namespace
{

constexpr std::size_t MiB = std::size_t{1} << 20;

void* filled(std::size_t bytes)
{
    void* const block = egb_malloc(bytes);
    EXPECT_NE(block, nullptr);
    fill(block, bytes, bytes);
    return block;
}

struct growth {
    std::size_t moves;
    std::size_t ends_at_page;  // steps after which the block did
};

// Grows a block from `from` to `to` bytes, in steps.
growth grow(std::size_t from, std::size_t to, std::size_t step)
{
    growth seen  = {0, 0};
    auto*  block = static_cast<char*>(filled(from));
    for (std::size_t bytes = from + step; bytes <= to; bytes += step) {
        auto* const grown = static_cast<char*>(egb_realloc(block, bytes));
        seen.moves += grown != block ? 1U : 0U;
        seen.ends_at_page +=
            (reinterpret_cast<std::uintptr_t>(grown) + bytes) % 4096 == 0 ? 1U : 0U;
        EXPECT_EQ(egb_block_bytes(grown), bytes);
        grown[bytes - 1] = 1;
        block            = grown;
    }
    EXPECT_TRUE(is_filled(block, from, from));
    egb_free(block);
    return seen;
}

}  // namespace

// A move for each step would take a time that rises with the square of the size. Twenty moves by a
// half of the size reach 3,000 times the size.
TEST(heap_guarded_growth, growth_by_small_steps_moves_seldom)
{
    const events         unexpected;
    const all_given_back check;
    const guard_pages    pages("large");
    const growth         whole_pages = grow(131072, MiB, 4096);
    EXPECT_EQ(whole_pages.ends_at_page, 224u) << "each step";
    EXPECT_LE(whole_pages.moves, 20u);
    const growth odd = grow(131072, MiB, 1008);
    EXPECT_GE(odd.ends_at_page, 8u) << "the first steps, and then some";
    EXPECT_LE(odd.moves, 100u) << "of 910 steps";
}

TEST(heap_guarded_growth, a_write_between_a_grown_block_and_its_page_is_found)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large");
    auto*                block = static_cast<char*>(filled(131072));
    std::size_t          bytes = 131072;
    std::size_t          apart = 0;
    while (apart < 1008) {
        bytes += 1008;
        block = static_cast<char*>(egb_realloc(block, bytes));
        apart = (0 - (reinterpret_cast<std::uintptr_t>(block) + bytes)) % 4096;
    }
    block[bytes + apart - 1] = 0;
    block                    = static_cast<char*>(egb_realloc(block, bytes + 1008));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    EXPECT_EQ(seen.history().damaged, static_cast<std::ptrdiff_t>(bytes + apart - 1));
    egb_free(block);
    EXPECT_TRUE(seen.none());
}

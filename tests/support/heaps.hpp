// SPDX-License-Identifier: MIT
// Shared by the tests of the heap: its numbers, and the blocks in use.
#ifndef EGGBOX_TESTS_SUPPORT_HEAPS_HPP
#define EGGBOX_TESTS_SUPPORT_HEAPS_HPP

#include "pools.hpp"

#include "eggbox/heap.h"

#include <initializer_list>

using sizes = std::initializer_list<std::size_t>;

inline constexpr std::size_t class_bytes_max = EGB_HEAP_CLASS_BYTES_MAX;

inline egb_heap_stats heap_numbers()
{
    egb_heap_stats numbers{};
    EXPECT_EQ(egb_heap_get_stats(&numbers), EGB_OK);
    return numbers;
}

// Blocks in the hands of callers, large ones included.
inline std::size_t heap_in_use()
{
    const egb_pool heap = egb_heap_pool();
    return (heap == egb_pool{} ? 0 : subtree_of(heap).in_use) + heap_numbers().large_in_use;
}

inline bool is_aligned(const void* block, std::size_t align)
{
    return (reinterpret_cast<std::uintptr_t>(block) & (align - 1)) == 0;
}

inline bool is_zero(const void* block, std::size_t bytes)
{
    const auto* const at = static_cast<const unsigned char*>(block);
    for (std::size_t i = 0; i < bytes; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

inline bool is_large(const void* block)
{
    return egb_block_bytes(block) != 0 && egb_pool_of(block) == egb_pool{};
}

// Guard pages for blocks that are requested while it lives. Blocks in magazines would be handed out
// first.
struct guard_pages {
    explicit guard_pages(const char* which)
    {
        (void)egb_heap_trim(0);
        EXPECT_EQ(egb_heap_guard_pages(which), EGB_OK);
    }

    guard_pages(const guard_pages&)            = delete;
    guard_pages& operator=(const guard_pages&) = delete;

    ~guard_pages()
    {
        EXPECT_EQ(egb_heap_guard_pages(nullptr), EGB_OK);
    }
};

// Fails if the test does not give all blocks back.
struct all_given_back {
    std::size_t before = heap_in_use();

    all_given_back()                                 = default;
    all_given_back(const all_given_back&)            = delete;
    all_given_back& operator=(const all_given_back&) = delete;

    ~all_given_back()
    {
        EXPECT_EQ(heap_in_use(), before);
    }
};

// Tests of what the heap gives back to the system, and when.
class emptied_heap : public testing::Test
{
  protected:
    // `pass` lets an epoch of the purge pass. After so many no class is left alone any more.
    template <class Pass>
    static void empty(Pass pass)
    {
        for (int i = 0; i < 70; i++) {
            pass();
        }
        (void)egb_heap_trim(0);
    }

    void TearDown() override
    {
        EXPECT_EQ(heap_in_use(), 0u);
    }
};

#endif  // EGGBOX_TESTS_SUPPORT_HEAPS_HPP

// SPDX-License-Identifier: MIT
// A FaultHandler() of the test's own, which counts and returns.
#ifndef EGGBOX_TESTS_COMPAT_FB_FIXTURE_HPP
#define EGGBOX_TESTS_COMPAT_FB_FIXTURE_HPP

#include "eggbox/compat/x_allocator.h"
#include "events.hpp"

#include <gtest/gtest.h>

#undef ASSERT_TRUE  // GoogleTest's: what these tests assert, they assert with other macros
#include "eggbox/compat/Fault.h"

#include <cstdint>
#include <vector>

inline int& faults()
{
    static int count = 0;
    return count;
}

// How many calls could not be served since the last question.
inline int take_faults()
{
    const int count = faults();
    faults()        = 0;
    return count;
}

inline std::uintptr_t address(const void* block)
{
    return reinterpret_cast<std::uintptr_t>(block);
}

inline std::vector<void*> take_all(ALLOC_HANDLE allocator, std::size_t bytes)
{
    std::vector<void*> blocks;
    while (void* const block = ALLOC_Alloc(allocator, bytes)) {
        blocks.push_back(block);
    }
    EXPECT_EQ(take_faults(), 1);
    return blocks;
}

inline void give_all(ALLOC_HANDLE allocator, const std::vector<void*>& blocks)
{
    for (void* block : blocks) {
        ALLOC_Free(allocator, block);
    }
}

#endif  // EGGBOX_TESTS_COMPAT_FB_FIXTURE_HPP

// SPDX-License-Identifier: MIT
// What the layer os promises on Windows: ranges that are gone, and GetLastError.
#include "os.h"
#include "range.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <windows.h>

TEST(os_pages, a_released_range_is_gone_whole)
{
    const std::size_t mib = std::size_t{1} << 20;
    for (const std::size_t align : {egb_os_page_bytes(), 64 * mib}) {
        MEMORY_BASIC_INFORMATION found = {};
        char*                    start = nullptr;
        {
            const range one(mib, align);
            start = one.start();
            ASSERT_EQ(VirtualQuery(start, &found, sizeof found), sizeof found);
            EXPECT_EQ(found.State, DWORD{MEM_RESERVE});
            EXPECT_EQ(found.RegionSize, mib);
        }
        ASSERT_EQ(VirtualQuery(start, &found, sizeof found), sizeof found);
        EXPECT_EQ(found.State, DWORD{MEM_FREE});
        EXPECT_GE(found.RegionSize, mib);
    }
}

TEST(os_pages, memory_that_cannot_be_committed_is_refused)
{
    const range       one(egb_os_page_bytes(), egb_os_page_bytes());
    char* const       behind   = one.start() + (std::size_t{1} << 16);  // free, or another's
    egb_os_obtained   obtained = {7, 7};
    const std::size_t too_much = SIZE_MAX / 4 - egb_os_page_bytes() + 1;
    EXPECT_EQ(egb_os_commit(behind, too_much, EGB_OS_PREFAULT, &obtained), EGB_NO_MEMORY);
    EXPECT_EQ(obtained.prefaulted, 7u);
}

TEST(os_errno, no_call_changes_the_last_error)
{
    static egb_os_mutex lock;
    static char*        start;
    const std::size_t   page = egb_os_page_bytes();

    const std::vector<std::function<void()>> calls = {
        [] { egb_os_write_error("", 0); },
        [=] { EXPECT_EQ(egb_os_reserve(SIZE_MAX - page + 1, page), nullptr); },
        [=] { start = static_cast<char*>(egb_os_reserve(page, page << 10)); },
        [=] { EXPECT_EQ(egb_os_commit(start, page, 3, nullptr), EGB_OK); },
        [=] { EXPECT_EQ(egb_os_commit(start, SIZE_MAX / 4, 3, nullptr), EGB_NO_MEMORY); },
        [=] { EXPECT_EQ(egb_os_protect(start, page, false), EGB_OK); },
        [=] { EXPECT_EQ(egb_os_protect(start, SIZE_MAX / 4, false), EGB_NO_MEMORY); },
        [=] { egb_os_release(start, page); },
        [=] { egb_os_release(start, page); },  // refused
        [] { egb_os_lock(&lock); },
        [] { egb_os_unlock(&lock); },
        [] { egb_os_arm_thread_exit(nullptr); },
        [] { egb_os_at_fork(nullptr, nullptr, nullptr); },
        [] { egb_os_can_fence_threads(); },
        [] { [[maybe_unused]] const bool done = egb_os_fence_threads(); },
    };
    int number = 0;
    for (const auto& call : calls) {
        SetLastError(77);
        call();
        EXPECT_EQ(GetLastError(), DWORD{77}) << "call " << number;
        number++;
    }
}

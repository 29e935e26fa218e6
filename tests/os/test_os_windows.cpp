// SPDX-License-Identifier: MIT
// The promises of the layer os on Windows: ranges that are gone, and GetLastError.
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
    for (const std::size_t align : {egb_os_page_bytes_(), 64 * mib}) {
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
    const range       one(egb_os_page_bytes_(), egb_os_page_bytes_());
    char* const       behind   = one.start() + (std::size_t{1} << 16);  // free, or another's
    egb_os_obtained   obtained = {7, 7};
    const std::size_t too_much = SIZE_MAX / 4 - egb_os_page_bytes_() + 1;
    EXPECT_EQ(egb_os_commit_(behind, too_much, EGB_OS_PREFAULT, &obtained), EGB_NO_MEMORY);
    EXPECT_EQ(obtained.prefaulted, 7u);
}

TEST(os_errno, no_call_changes_the_last_error)
{
    static egb_os_mutex lock;
    static char*        start;
    const std::size_t   page = egb_os_page_bytes_();

    const std::vector<std::function<void()>> calls = {
        [] { egb_os_write_error_("", 0); },
        [=] { EXPECT_EQ(egb_os_reserve_(SIZE_MAX - page + 1, page), nullptr); },
        [=] { start = static_cast<char*>(egb_os_reserve_(page, page << 10)); },
        [=] { EXPECT_EQ(egb_os_commit_(start, page, 3, nullptr), EGB_OK); },
        [=] { EXPECT_EQ(egb_os_commit_(start, SIZE_MAX / 4, 3, nullptr), EGB_NO_MEMORY); },
        [=] { EXPECT_EQ(egb_os_protect_(start, page, false), EGB_OK); },
        [=] { EXPECT_EQ(egb_os_protect_(start, SIZE_MAX / 4, false), EGB_NO_MEMORY); },
        [=] { EXPECT_EQ(egb_os_shut_(start, page), EGB_OK); },
        [=] { EXPECT_EQ(egb_os_shut_(start, SIZE_MAX / 4), EGB_NO_MEMORY); },
        [=] { egb_os_release_(start, page); },
        [=] { egb_os_release_(start, page); },  // refused
        [] { egb_os_lock_(&lock); },
        [] { egb_os_unlock_(&lock); },
        [] { egb_os_arm_thread_exit_(nullptr); },
        [] { egb_os_at_fork_(nullptr, nullptr, nullptr); },
        [] { egb_os_can_fence_threads_(); },
        [] { [[maybe_unused]] const bool done = egb_os_fence_threads_(); },
    };
    int number = 0;
    for (const auto& call : calls) {
        SetLastError(77);
        call();
        EXPECT_EQ(GetLastError(), DWORD{77}) << "call " << number;
        number++;
    }
}

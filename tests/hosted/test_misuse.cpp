// SPDX-License-Identifier: MIT
// The handler of the hosted library: set at run time, and the default that prints once per site.
#include "eggbox/fixed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct counter {
    std::atomic<int> calls{0};
};

void count(const egb_misuse_event*, void* user)
{
    static_cast<counter*>(user)->calls++;
}

egb_fixed make_pool()
{
    static uint32_t region[16];
    egb_fixed       pool;
    EXPECT_EQ(egb_fixed_init(&pool, region, sizeof region, 8), EGB_OK);
    return pool;
}

// One place in the program, however often it is called. It has something to do afterwards, or its
// call would become a jump, and its caller the place that is seen.
[[gnu::noinline]] bool free_foreign(egb_fixed& pool)
{
    egb_fixed_free(&pool, &pool);
    return egb_fixed_whole(&pool);
}

int lines_in(const std::string& text)
{
    return int(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST(misuse_handler, the_one_set_last_gets_every_misuse_with_its_user)
{
    egb_fixed pool = make_pool();
    counter   first;
    counter   second;
    double    foreign[2] = {};
    egb_misuse_set_handler(count, &first);
    egb_fixed_free(&pool, foreign);
    egb_misuse_set_handler(count, &second);
    egb_fixed_free(&pool, foreign);
    egb_fixed_free(&pool, foreign);
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(first.calls, 1);
    EXPECT_EQ(second.calls, 2);
}

TEST(misuse_handler, the_default_prints_one_line_for_each_site_and_goes_on)
{
    egb_fixed pool = make_pool();
    egb_misuse_set_handler(nullptr, nullptr);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 10; i++) {
        EXPECT_TRUE(free_foreign(pool));
    }
    egb_fixed_free(&pool, &pool);  // another place
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(lines_in(printed), 2) << printed;
    EXPECT_NE(
        printed.find("eggbox: free of a pointer that is not from this pool: address 0x"),
        std::string::npos
    ) << printed;
    EXPECT_NE(printed.find("; refused\n"), std::string::npos) << printed;
    EXPECT_TRUE(egb_fixed_whole(&pool));
}

TEST(misuse_handler, the_default_says_which_block)
{
    egb_fixed pool = make_pool();
    void*     a    = egb_fixed_alloc(&pool);
    egb_fixed_free(&pool, a);
    testing::internal::CaptureStderr();
    egb_fixed_free(&pool, a);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed.find("eggbox: double free: address 0x"), 0u) << printed;
    EXPECT_NE(printed.find(", block 0 of pool 0x"), std::string::npos) << printed;
    EXPECT_NE(printed.find(", called from "), std::string::npos) << printed;
}

TEST(misuse_handler, a_pools_name_is_printed_when_it_has_one)
{
    testing::internal::CaptureStderr();
    const egb_misuse_event event = {
        EGB_MISUSE_DOUBLE_FREE, "frames", nullptr, nullptr, 12, &event, nullptr, nullptr
    };
    egb_misuse(&event);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("block 12 of pool frames"), std::string::npos) << printed;
}

// The message of the default handler about an event, without the place of the call.
std::string subject_of(const egb_misuse_event& event)
{
    testing::internal::CaptureStderr();
    egb_misuse(&event);
    const std::string printed = testing::internal::GetCapturedStderr();
    return printed.substr(0, printed.find(", called from "));
}

TEST(misuse_handler, an_address_or_a_pool_that_there_is_not_is_not_told)
{
    const char* const address = reinterpret_cast<const char*>(std::uintptr_t{0x1230});
    egb_misuse_event  event   = {
        EGB_MISUSE_STALE, nullptr, nullptr, address, EGB_NO_INDEX, &event, nullptr, nullptr
    };
    EXPECT_EQ(subject_of(event), "eggbox: use of a pool that was destroyed: address 0x1230");
    event.kind    = EGB_MISUSE_SEALED;
    event.address = nullptr;
    EXPECT_EQ(subject_of(event), "eggbox: request for system memory after egb_seal()");
    event.kind      = EGB_MISUSE_NO_POOL;
    event.pool_name = "frames";
    EXPECT_EQ(subject_of(event), "eggbox: use of a pool that was not initialised: pool frames");
}

// No level tells where a block was allocated that never was.
TEST(misuse_handler, only_what_was_allocated_is_said_to_have_a_place_of_its_allocation)
{
    egb_history history = {};
    history.level       = EGB_LEVEL_CHECK;
    for (int kind = EGB_MISUSE_NO_POOL; kind <= EGB_MISUSE_WRONG_SIZE; kind++) {
        const egb_misuse_event event = {
            static_cast<egb_misuse_kind>(kind),
            nullptr,
            nullptr,
            &event,
            EGB_NO_INDEX,
            &event,
            &history,
            nullptr
        };
        testing::internal::CaptureStderr();
        egb_misuse(&event);
        const std::string printed = testing::internal::GetCapturedStderr();
        const bool        never   = kind == EGB_MISUSE_NO_POOL || kind == EGB_MISUSE_FOREIGN ||
                           kind == EGB_MISUSE_NEVER_ALLOCATED || kind == EGB_MISUSE_STALE ||
                           kind == EGB_MISUSE_SEALED;
        EXPECT_EQ(printed.find("was allocated\n") == std::string::npos, never) << printed;
    }
}

#if defined(__linux__)
// A site is where a call returns to, which may be on the next line. Its module is somewhere, at a
// page.
TEST(misuse_handler, the_place_that_is_printed_is_of_the_call_itself)
{
    const auto             site  = reinterpret_cast<std::uintptr_t>(&free_foreign) + 100;
    const egb_misuse_event event = {
        EGB_MISUSE_FOREIGN,
        nullptr,
        nullptr,
        nullptr,
        EGB_NO_INDEX,
        reinterpret_cast<const void*>(site),
        nullptr,
        nullptr
    };
    testing::internal::CaptureStderr();
    egb_misuse(&event);
    const std::string printed = testing::internal::GetCapturedStderr();
    const std::size_t offset  = printed.rfind("+0x");
    ASSERT_NE(offset, std::string::npos) << printed;
    const std::uintmax_t place = std::stoull(printed.substr(offset + 1), nullptr, 16);
    EXPECT_EQ((place + 1 - site) % 4096, 0u) << printed;
}
#endif

TEST(misuse_handler, after_64_sites_it_says_that_it_stops)
{
    std::vector<char> sites(300);
    testing::internal::CaptureStderr();
    for (char& site : sites) {
        const egb_misuse_event event = {
            EGB_MISUSE_FOREIGN, nullptr, nullptr, nullptr, EGB_NO_INDEX, &site, nullptr, nullptr
        };
        egb_misuse(&event);
    }
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_LE(lines_in(printed), 66);
    EXPECT_NE(printed.find("misuse at further sites is not reported"), std::string::npos);
}

// Two handlers that only accept their own user, set in turn while others read them.
TEST(misuse_handler, threads_may_set_it_while_others_misuse)
{
    static counter           one;
    static counter           two;
    static std::atomic<bool> mixed{false};
    const egb_misuse_fn      to_one = [](const egb_misuse_event*, void* user) {
        mixed = mixed || user != &one;
        one.calls++;
    };
    const egb_misuse_fn to_two = [](const egb_misuse_event*, void* user) {
        mixed = mixed || user != &two;
        two.calls++;
    };
    std::atomic<bool> done{false};
    egb_misuse_set_handler(to_one, &one);
    std::thread            setter([&] {
        for (int i = 0; i < 20000; i++) {
            egb_misuse_set_handler(i % 2 == 0 ? to_two : to_one, i % 2 == 0 ? &two : &one);
        }
        done = true;
    });
    const egb_misuse_event event = {
        EGB_MISUSE_FOREIGN, nullptr, nullptr, nullptr, EGB_NO_INDEX, nullptr, nullptr, nullptr
    };
    while (!done || one.calls + two.calls == 0) {
        egb_misuse(&event);
    }
    setter.join();
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_FALSE(mixed);
}

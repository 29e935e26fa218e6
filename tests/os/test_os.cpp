// SPDX-License-Identifier: MIT
// The promises of the layer os, tested on this system: pages, locks, ends of threads and fences.
// Promises of some systems only are in test_os_unix.cpp.
#include "os.h"
#include "range.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

// ---- pages --------------------------------------------------------------------------------------

TEST(os_pages, a_page_is_a_power_of_two)
{
    const std::size_t page = egb_os_page_bytes_();
    EXPECT_GE(page, 4096u);
    EXPECT_EQ(page & (page - 1), 0u);
}

TEST(os_pages, ranges_are_aligned_as_asked_and_usable_to_both_ends)
{
    // With 32 bits there is not always room for three ranges a GiB apart.
    const std::size_t largest = std::size_t{1} << (sizeof(void*) == 4 ? 26 : 30);
    for (std::size_t align = egb_os_page_bytes_(); align <= largest; align *= 2) {
        std::vector<range> several(3);  // the first may be aligned by luck
        for (range& one : several) {
            one = range(3 * egb_os_page_bytes_(), align);
            ASSERT_NE(one.start(), nullptr) << align;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.start()) & (align - 1), 0u);
            ASSERT_EQ(egb_os_commit_(one.start(), one.bytes(), 0, nullptr), EGB_OK);
            one.start()[0]               = 1;
            one.start()[one.bytes() - 1] = 2;
        }
    }
}

namespace
{

// How many addresses are ever used by ranges that come and go, the oldest of four first.
std::size_t addresses_used(std::size_t bytes, std::size_t align)
{
    std::vector<range>    ranges(4);
    std::set<const char*> used;
    for (std::size_t i = 0; i < 4000; i++) {
        range& one = ranges[i % ranges.size()];
        one        = range();
        one        = range(bytes, align);
        EXPECT_NE(one.start(), nullptr);
        used.insert(one.start());
    }
    return used.size();
}

}  // namespace

// A memory of every address that was ever in use would grow for ever.
TEST(os_pages, ranges_that_come_and_go_do_not_wander_through_the_addresses)
{
    constexpr std::size_t unit = 65536;
    constexpr std::size_t few  = 400;
    const std::size_t     page = egb_os_page_bytes_();
    if (addresses_used(unit, page) > few) {
        GTEST_SKIP() << "the system itself makes them wander, as emulators do";
    }
    const range odd(unit + page, page);  // the next range is not aligned by luck
    EXPECT_LE(addresses_used(unit, unit), few);
}

TEST(os_pages, memory_is_all_zero_also_where_others_wrote_before)
{
    const std::size_t bytes = 64 * egb_os_page_bytes_();
    for (int round = 0; round < 4; round++) {
        const range one(bytes, egb_os_page_bytes_());
        ASSERT_NE(one.start(), nullptr);
        ASSERT_EQ(egb_os_commit_(one.start(), bytes, 0, nullptr), EGB_OK);
        EXPECT_EQ(std::vector<char>(bytes), std::vector<char>(one.start(), one.start() + bytes));
        std::memset(one.start(), 0x55, bytes);
    }
}

TEST(os_pages, a_part_of_a_range_can_be_committed)
{
    const std::size_t page = egb_os_page_bytes_();
    const range       one(64 * page, page);
    ASSERT_NE(one.start(), nullptr);
    ASSERT_EQ(egb_os_commit_(one.start() + 3 * page, 2 * page, 0, nullptr), EGB_OK);
    std::memset(one.start() + 3 * page, 1, 2 * page);
    ASSERT_EQ(egb_os_commit_(one.start(), 3 * page, EGB_OS_PREFAULT, nullptr), EGB_OK);
    EXPECT_EQ(one.start()[3 * page - 1], 0);
    EXPECT_EQ(one.start()[3 * page], 1);
}

// On a system that cannot, all answers are the same.
bool can_resize()
{
    const std::size_t page = egb_os_page_bytes_();
    char* const       here = static_cast<char*>(egb_os_reserve_(2 * page, page));
    EXPECT_EQ(egb_os_commit_(here, 2 * page, 0, nullptr), EGB_OK);
    const egb_status status = egb_os_resize_(here, 2 * page, page);
    EXPECT_TRUE(status == EGB_OK || status == EGB_UNSUPPORTED);
    egb_os_release_(here, status == EGB_OK ? page : 2 * page);
    return status == EGB_OK;
}

TEST(os_pages, where_ranges_can_be_split_a_part_goes_and_the_rest_stays)
{
    if (!egb_os_can_split_()) {
        GTEST_SKIP() << "this system takes ranges back whole";
    }
    const std::size_t page  = egb_os_page_bytes_();
    auto* const       start = static_cast<char*>(egb_os_reserve_(4 * page, page));
    ASSERT_NE(start, nullptr);
    ASSERT_EQ(egb_os_commit_(start, 4 * page, 0, nullptr), EGB_OK);
    start[0] = start[4 * page - 1] = 7;
    egb_os_release_(start + page, page);
    EXPECT_EQ(start[0], 7);
    EXPECT_EQ(start[4 * page - 1], 7);
    EXPECT_DEATH((void)(start[page] = 1), "");
    egb_os_release_(start, page);
    egb_os_release_(start + 2 * page, 2 * page);
}

TEST(os_pages, a_range_becomes_smaller_and_larger_where_it_is)
{
    const std::size_t page  = egb_os_page_bytes_();
    const std::size_t most  = 64 * page;
    const std::size_t least = 16 * page;
    char* const       here  = static_cast<char*>(egb_os_reserve_(most, page));
    ASSERT_EQ(egb_os_commit_(here, most, 0, nullptr), EGB_OK);
    std::memset(here, 0x55, most);
    if (!can_resize()) {
        EXPECT_EQ(egb_os_resize_(here, most, least), EGB_UNSUPPORTED);
        EXPECT_EQ(std::vector<char>(most, 0x55), std::vector<char>(here, here + most));
        egb_os_release_(here, most);
        return;
    }
    ASSERT_EQ(egb_os_resize_(here, most, least), EGB_OK);
    ASSERT_EQ(egb_os_resize_(here, least, most), EGB_OK) << "there was room for it";
    EXPECT_EQ(std::vector<char>(least, 0x55), std::vector<char>(here, here + least));
    EXPECT_EQ(std::vector<char>(most - least), std::vector<char>(here + least, here + most));
    std::memset(here, 0x66, most);
    egb_os_release_(here, most);
}

TEST(os_pages, a_range_does_not_grow_over_another)
{
    const std::size_t page = egb_os_page_bytes_();
    char* const       here = static_cast<char*>(egb_os_reserve_(8 * page, page));
    ASSERT_EQ(egb_os_commit_(here, 8 * page, 0, nullptr), EGB_OK);
    std::memset(here, 0x55, 8 * page);
    // The second half stands for the other.
    EXPECT_NE(egb_os_resize_(here, 4 * page, 8 * page), EGB_OK);
    EXPECT_EQ(std::vector<char>(8 * page, 0x55), std::vector<char>(here, here + 8 * page));
    egb_os_release_(here, 8 * page);
}

TEST(os_pages, memory_moves_into_another_range)
{
    const std::size_t page  = egb_os_page_bytes_();
    const std::size_t align = 16 * page;
    for (const std::size_t more : {std::size_t{0}, 3 * page}) {
        char* const from = static_cast<char*>(egb_os_reserve_(4 * page, page));
        char* const to   = static_cast<char*>(egb_os_reserve_(4 * page + more, align));
        ASSERT_EQ(egb_os_commit_(from, 4 * page, 0, nullptr), EGB_OK);
        std::memset(from, 0x55, 4 * page);
        const egb_status status = egb_os_move_(from, 4 * page, to, 4 * page + more);
        ASSERT_EQ(status, can_resize() ? EGB_OK : EGB_UNSUPPORTED);
        if (status == EGB_OK) {
            EXPECT_EQ(std::vector<char>(4 * page, 0x55), std::vector<char>(to, to + 4 * page));
            EXPECT_EQ(
                std::vector<char>(more), std::vector<char>(to + 4 * page, to + 4 * page + more)
            );
            std::memset(to, 0x66, 4 * page + more);
        } else {
            EXPECT_EQ(std::vector<char>(4 * page, 0x55), std::vector<char>(from, from + 4 * page));
            egb_os_release_(from, 4 * page);
        }
        egb_os_release_(to, 4 * page + more);
    }
}

TEST(os_pages, what_was_forgotten_can_be_written_again)
{
    const std::size_t page = egb_os_page_bytes_();
    const range       here(8 * page, page);
    ASSERT_EQ(egb_os_commit_(here.start(), here.bytes(), 0, nullptr), EGB_OK);
    std::memset(here.start(), 0x55, here.bytes());
    egb_os_forget_(here.start() + page, 2 * page);
    for (std::size_t i = 0; i < here.bytes(); i++) {
        const bool is_forgotten = i >= page && i < 3 * page;
        ASSERT_TRUE(here.start()[i] == 0x55 || (is_forgotten && here.start()[i] == 0));
    }
    std::memset(here.start(), 0x66, here.bytes());
    ASSERT_EQ(here.start()[page], 0x66);
}

TEST(os_pages, what_was_closed_and_opened_is_as_it_was)
{
    const std::size_t page = egb_os_page_bytes_();
    const range       here(8 * page, page);
    ASSERT_EQ(egb_os_commit_(here.start(), here.bytes(), 0, nullptr), EGB_OK);
    std::memset(here.start(), 0x55, here.bytes());
    ASSERT_TRUE(egb_os_can_protect_());
    ASSERT_EQ(egb_os_protect_(here.start() + 3 * page, page, false), EGB_OK);
    std::memset(here.start(), 0x66, 3 * page);
    std::memset(here.start() + 4 * page, 0x66, 4 * page);
    ASSERT_EQ(egb_os_protect_(here.start() + 3 * page, page, true), EGB_OK);
    for (std::size_t i = 0; i < here.bytes(); i++) {
        ASSERT_EQ(here.start()[i], i / page == 3 ? 0x55 : 0x66);
    }
    here.start()[3 * page] = 1;
}

TEST(os_pages, what_was_shut_and_opened_is_zero_or_as_it_was)
{
    const std::size_t page = egb_os_page_bytes_();
    const range       here(8 * page, page);
    ASSERT_EQ(egb_os_commit_(here.start(), here.bytes(), 0, nullptr), EGB_OK);
    std::memset(here.start(), 0x55, here.bytes());
    ASSERT_EQ(egb_os_shut_(here.start() + 3 * page, page), EGB_OK);
    ASSERT_EQ(egb_os_protect_(here.start() + 3 * page, page, true), EGB_OK);
    for (std::size_t i = 0; i < here.bytes(); i++) {
        ASSERT_TRUE(here.start()[i] == 0x55 || (i / page == 3 && here.start()[i] == 0));
    }
    here.start()[3 * page] = 1;
}

TEST(os_pages, sizes_that_cannot_be_are_refused)
{
    const std::size_t page = egb_os_page_bytes_();
    const std::size_t gib  = std::size_t{1} << 30;
    EXPECT_EQ(egb_os_reserve_(0, page), nullptr);
    for (const std::size_t bytes : {SIZE_MAX - page + 1, SIZE_MAX - gib + 1, SIZE_MAX / 2 + 1}) {
        EXPECT_EQ(egb_os_reserve_(bytes, page), nullptr);
        EXPECT_EQ(egb_os_reserve_(bytes, gib), nullptr);
    }
}

// On every system the number reported is no more than the pages that are there, and all of them if
// that was asked for. Large pages are never promised.
TEST(os_pages, commit_says_what_came_of_each_wish)
{
    const std::size_t mib   = std::size_t{1} << 20;
    const std::size_t bytes = 16 * mib;
    for (const unsigned page_options : {0u, EGB_OS_PREFAULT, EGB_OS_HUGE_PAGES, 3u}) {
        const range     one(bytes, 2 * mib);
        egb_os_obtained obtained = {1, 1};
        ASSERT_NE(one.start(), nullptr);
        ASSERT_EQ(egb_os_commit_(one.start(), bytes, page_options, &obtained), EGB_OK);
        EXPECT_EQ(obtained.prefaulted, (page_options & EGB_OS_PREFAULT) != 0 ? bytes : 0)
            << page_options;
        EXPECT_LE(obtained.huge, (page_options & EGB_OS_HUGE_PAGES) != 0 ? obtained.prefaulted : 0);
        testing::Test::RecordProperty(
            "huge_with_wishes_" + std::to_string(page_options), std::to_string(obtained.huge)
        );
        std::memset(one.start(), 1, bytes);
    }
}

// ---- time ---------------------------------------------------------------------------------------

TEST(os_time, milliseconds_pass_as_they_do_elsewhere)
{
    using clock               = std::chrono::steady_clock;
    const auto          start = clock::now();
    const std::uint64_t first = egb_os_milliseconds_();
    std::uint64_t       last  = first;
    while (last - first < 100) {
        const std::uint64_t now = egb_os_milliseconds_();
        ASSERT_GE(now, last);
        last = now;
    }
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start);
    EXPECT_GE(passed.count(), 60) << "it may be some milliseconds coarse";
}

TEST(os_random, no_number_comes_twice)
{
    const std::uint64_t first = egb_os_random_();
    if (first == 0) {
        GTEST_SKIP() << "this system has none";
    }
    EXPECT_NE(egb_os_random_(), first);
}

// ---- locks --------------------------------------------------------------------------------------

namespace
{

egb_os_mutex zero_lock;  // all zero, as every static object

}  // namespace

TEST(os_locks, all_zero_is_unlocked_and_a_reset_makes_it_so)
{
    egb_os_lock_(&zero_lock);
    egb_os_unlock_(&zero_lock);
    egb_os_lock_(&zero_lock);
    egb_os_lock_reset_(&zero_lock);
    egb_os_lock_(&zero_lock);
    egb_os_unlock_(&zero_lock);
}

// No thread was started before: so it is taken without an atomic instruction where that is known.
TEST(os_locks, a_thread_that_starts_while_a_lock_is_held_waits_for_it)
{
    static egb_os_mutex mutex;
    std::atomic<bool>   is_in{false};
    egb_os_lock_(&mutex);
    std::thread other([&] {
        egb_os_lock_(&mutex);
        is_in = true;
        egb_os_unlock_(&mutex);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_FALSE(is_in);
    EXPECT_FALSE(egb_os_try_lock_(&mutex));
    egb_os_unlock_(&mutex);
    other.join();
    EXPECT_TRUE(is_in);
    EXPECT_TRUE(egb_os_try_lock_(&mutex));
    egb_os_unlock_(&mutex);
}

TEST(os_locks, one_thread_at_a_time_holds_a_lock)
{
    static egb_os_mutex      lock;
    int                      count  = 0;  // not atomic: the lock must do
    const int                rounds = 20000;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int round = 0; round < rounds; round++) {
                egb_os_lock_(&lock);
                count++;
                egb_os_unlock_(&lock);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(count, 4 * rounds);
}

// ---- the end of a thread ------------------------------------------------------------------------

namespace
{

#if defined(__SANITIZE_THREAD__)
constexpr bool HAS_THREAD_SANITIZER = true;
#elif defined(__has_feature)
constexpr bool HAS_THREAD_SANITIZER = __has_feature(thread_sanitizer);
#else
constexpr bool HAS_THREAD_SANITIZER = false;
#endif

struct farewell {
    std::atomic<int> calls{0};
    int              arm_again{0};
};

void on_exit(void* argument)
{
    auto* const seen = static_cast<farewell*>(argument);
    seen->calls++;
    if (seen->arm_again-- > 0) {
        egb_os_arm_thread_exit_(seen);
    }
}

// There is one function for the process, named once.
bool can_call_at_thread_exit()
{
    static const bool can = egb_os_at_thread_exit_(on_exit);
    return can;
}

}  // namespace

TEST(os_thread_exit, the_function_is_called_with_what_was_armed_last)
{
    ASSERT_TRUE(can_call_at_thread_exit());
    farewell first;
    farewell last;
    std::thread([&] {
        EXPECT_TRUE(egb_os_arm_thread_exit_(&first));
        EXPECT_TRUE(egb_os_arm_thread_exit_(&last));
        EXPECT_EQ(last.calls, 0);
    }).join();
    EXPECT_EQ(first.calls, 0);
    EXPECT_EQ(last.calls, 1);
}

TEST(os_thread_exit, it_is_not_called_when_disarmed_or_never_armed)
{
    ASSERT_TRUE(can_call_at_thread_exit());
    farewell seen;
    std::thread([&] {
        EXPECT_TRUE(egb_os_arm_thread_exit_(&seen));
        EXPECT_TRUE(egb_os_arm_thread_exit_(nullptr));
    }).join();
    std::thread([] {}).join();
    EXPECT_EQ(seen.calls, 0);
}

TEST(os_thread_exit, armed_again_from_itself_it_is_called_again)
{
    ASSERT_TRUE(can_call_at_thread_exit());
    farewell seen;
    seen.arm_again = 1;
    std::thread([&] { EXPECT_TRUE(egb_os_arm_thread_exit_(&seen)); }).join();
    EXPECT_EQ(seen.calls, 2);
}

TEST(os_thread_exit, armed_again_for_ever_it_ends)
{
    if (HAS_THREAD_SANITIZER) {
        GTEST_SKIP() << "for it the thread is over before the last of these calls";
    }
    ASSERT_TRUE(can_call_at_thread_exit());
    farewell seen;
    seen.arm_again = 1000;
    std::thread([&] { EXPECT_TRUE(egb_os_arm_thread_exit_(&seen)); }).join();
    EXPECT_GE(seen.calls, 2);
    EXPECT_LT(seen.calls, 1000);
}

TEST(os_thread_exit, each_thread_has_its_own)
{
    ASSERT_TRUE(can_call_at_thread_exit());
    farewell                 seen[8];
    std::vector<std::thread> threads;
    for (farewell& one : seen) {
        threads.emplace_back([&] { EXPECT_TRUE(egb_os_arm_thread_exit_(&one)); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const farewell& one : seen) {
        EXPECT_EQ(one.calls, 1);
    }
}

// ---- fences -------------------------------------------------------------------------------------

namespace
{

// Each of two threads writes its own word and then reads the other's. Without barriers both may
// read the old value, because a processor delays writes.
class store_buffer
{
  public:
    // Runs rounds until the time is over; says in how many both read the old value.
    int run(const std::function<void()>& slow_barrier, std::chrono::milliseconds time)
    {
        int         both = 0;
        std::thread fast([this] {
            for (int round = 1; meet(fast_round_, slow_round_, round); round++) {
                fast_.store(round, std::memory_order_relaxed);
                std::atomic_signal_fence(std::memory_order_seq_cst);  // to the compiler only
                fast_saw_ = slow_.load(std::memory_order_relaxed);
                leave_.store(round, std::memory_order_release);
            }
        });
        const auto  end   = std::chrono::steady_clock::now() + time;
        int         round = 1;
        for (; round < 1000 || std::chrono::steady_clock::now() < end; round++) {
            meet(slow_round_, fast_round_, round);
            slow_.store(round, std::memory_order_relaxed);
            slow_barrier();
            const int slow_saw = fast_.load(std::memory_order_relaxed);
            wait_for(leave_, round);
            both += slow_saw != round && fast_saw_ != round ? 1 : 0;
        }
        slow_round_ = -1;
        fast.join();
        rounds_ = round - 1;
        return both;
    }

    int rounds() const
    {
        return rounds_;
    }

  private:
    static void wait_for(const std::atomic<int>& word, int value)
    {
        for (int spins = 0; word.load(std::memory_order_acquire) != value; spins++) {
            if (spins > 2000) {
                std::this_thread::yield();
            }
        }
    }

    // Lets both begin a round at about the same time. False: there is none any more.
    static bool meet(std::atomic<int>& mine, const std::atomic<int>& other, int round)
    {
        mine.store(round, std::memory_order_release);
        for (int spins = 0;; spins++) {
            const int there = other.load(std::memory_order_acquire);
            if (there >= round || there < 0) {
                return there >= 0;
            }
            if (spins > 2000) {
                std::this_thread::yield();
            }
        }
    }

    alignas(128) std::atomic<int> fast_round_{0};
    alignas(128) std::atomic<int> slow_round_{0};
    alignas(128) std::atomic<int> leave_{0};
    alignas(128) std::atomic<int> fast_{0};
    alignas(128) std::atomic<int> slow_{0};
    alignas(128) int fast_saw_ = 0;
    int rounds_                = 0;
};

}  // namespace

TEST(os_fence, a_fence_in_one_thread_is_a_barrier_in_the_other)
{
    if (!egb_os_can_fence_threads_()) {
        GTEST_SKIP() << "this system has no such fence, and says so";
    }
    EXPECT_TRUE(egb_os_can_fence_threads_()) << "asked again";
    store_buffer litmus;
    bool         fenced = true;
    const int    both   = litmus.run(
        [&] { fenced = egb_os_fence_threads_() && fenced; }, std::chrono::milliseconds(1000)
    );
    EXPECT_TRUE(fenced);
    EXPECT_EQ(both, 0) << "of " << litmus.rounds();
    testing::Test::RecordProperty("rounds", litmus.rounds());
}

// Says how sharp the test above is on this machine: a machine may never show it.
TEST(os_fence, without_a_fence_the_same_rounds_may_go_wrong)
{
    store_buffer litmus;
    const int    both = litmus.run(
        [] { std::atomic_signal_fence(std::memory_order_seq_cst); }, std::chrono::milliseconds(200)
    );
    testing::Test::RecordProperty("rounds", litmus.rounds());
    testing::Test::RecordProperty("both_saw_the_old_value", both);
}

// SPDX-License-Identifier: MIT
// Regions are pieces of spans, and pieces are never two threads'. The linker leads the library's
// requests to the system here, where they are counted and can be refused.
extern "C" {
#include "region/keep.h"
#include "region/obtain.h"
#include "region/pages.h"
}

#include "eggbox/heap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace
{

constexpr std::size_t unit = EGB_UNIT_BYTES;
constexpr std::size_t MiB  = std::size_t{1} << 20;

std::atomic<int>         requests;
std::atomic<std::size_t> reserved;
std::atomic<std::size_t> released;
std::atomic<std::size_t> most_bytes{SIZE_MAX};  // longer requests are refused

// If there is one, spans come from its end, one before the other, or from its start.
char*       range;
std::size_t range_bytes;
bool        goes_down;

void* next_of_range(std::size_t bytes)
{
    range_bytes -= bytes;
    char* const start = goes_down ? range + range_bytes : range;
    range += goes_down ? 0 : bytes;
    return start;
}

}  // namespace

extern "C" {
void* __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
void  __real_egb_os_release_(void* start, std::size_t bytes);
void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
void  __wrap_egb_os_release_(void* start, std::size_t bytes);

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    requests++;
    void* const start = bytes > most_bytes                 ? nullptr
                        : bytes == MiB && range != nullptr ? next_of_range(bytes)
                                                           : __real_egb_os_reserve_(bytes, align);
    reserved += start != nullptr ? bytes : 0;
    return start;
}

void __wrap_egb_os_release_(void* start, std::size_t bytes)
{
    released += bytes;
    __real_egb_os_release_(start, bytes);
}
}

namespace
{

char* region_of(std::size_t bytes)
{
    auto* const region = static_cast<char*>(egb_obtain_region_(bytes, unit));
    EXPECT_NE(region, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region) % unit, 0u);
    return region;
}

// The bytes that were reserved for it.
std::size_t take_and_release(std::size_t bytes)
{
    const std::size_t before = reserved;
    egb_os_release_(region_of(bytes), bytes);
    return reserved - before;
}

// In a process that has got some MiB, without a rest and without holes.
class obtain : public testing::Test
{
  protected:
    obtain()
    {
        egb_keep_note_got_(4 * MiB);
        int regions = 0;
        while (take_and_release(unit) != MiB && regions < 1000) {
            regions++;
        }
        EXPECT_LT(regions, 1000) << "there are spans";
        for (int i = 0; i < 15; i++) {
            EXPECT_EQ(take_and_release(unit), 0u);
        }
        requests = 0;
        reserved = released = 0;
    }

    ~obtain() override
    {
        most_bytes = SIZE_MAX;
        egb_freeze_(false);
    }
};

}  // namespace

// ---- one thread ---------------------------------------------------------------------------------

TEST_F(obtain, short_regions_are_parts_of_one_request_and_lie_side_by_side)
{
    char* const last = region_of(unit);
    for (std::size_t i = 1; i < 16; i++) {
        EXPECT_EQ(region_of(unit), last - i * unit);
    }
    EXPECT_EQ(requests, 1);
    EXPECT_EQ(reserved, MiB);
    EXPECT_EQ(egb_obtain_trim_(), 0u) << "nothing is left of it";
    EXPECT_EQ(released, 0u);
    egb_os_release_(last - 15 * unit, MiB);
}

// Takes 250 units in regions of any short length, and returns how many requests that was.
int requests_of_any_lengths(bool is_downwards)
{
    constexpr std::size_t most = 64 * MiB;
    range                      = static_cast<char*>(__real_egb_os_reserve_(most, unit));
    range_bytes                = most;
    goes_down                  = is_downwards;
    const int before           = requests;
    for (std::size_t i = 0; i < 100; i++) {
        const std::size_t bytes = (1 + i % 4) * unit;
        egb_os_release_(region_of(bytes), bytes);
    }
    __real_egb_os_release_(range, range_bytes);
    range = nullptr;
    return requests - before;
}

TEST_F(obtain, spans_side_by_side_lose_nothing)
{
    EXPECT_EQ(requests_of_any_lengths(true), 16);
    EXPECT_EQ(egb_obtain_trim_(), 6 * unit);
    EXPECT_EQ(released, reserved);
}

TEST_F(obtain, what_other_spans_lose_is_filled_by_single_requests)
{
    EXPECT_GT(requests_of_any_lengths(false), 16);
    EXPECT_LT(requests, 40);
    (void)egb_obtain_trim_();
    EXPECT_EQ(released, reserved);
}

TEST_F(obtain, a_region_goes_where_a_short_one_was)
{
    char* const first = region_of(4 * unit);
    for (std::size_t i = 0; i < 3; i++) {
        egb_region_release_(first + i * unit, unit);
    }
    EXPECT_EQ(take_and_release(unit), unit);
    EXPECT_EQ(take_and_release(2 * unit), 2 * unit);
    EXPECT_EQ(take_and_release(unit), 0u) << "all such places may be taken";
    EXPECT_EQ(requests, 3);
    egb_os_release_(first + 3 * unit, unit);
}

// Regions that are no pieces fill holes as well.
TEST_F(obtain, a_hole_that_is_made_and_filled_again_counts_once)
{
    for (int i = 0; i < 100; i++) {
        egb_region_release_(region_of(8 * unit), 8 * unit);
    }
    egb_os_release_(region_of(8 * unit), 8 * unit);
    EXPECT_EQ(take_and_release(unit), MiB);
}

TEST_F(obtain, a_place_for_a_span_is_no_hole)
{
    char* const first = region_of(unit);
    for (int i = 0; i < 15; i++) {
        (void)region_of(unit);
    }
    egb_region_release_(first - 15 * unit, MiB);
    EXPECT_EQ(take_and_release(unit), MiB);
}

TEST_F(obtain, long_and_finely_aligned_regions_are_requests_of_their_own)
{
    char* const longer = region_of(5 * unit);
    EXPECT_EQ(requests, 1);
    void* const aligned = egb_obtain_region_(unit, 2 * MiB);
    EXPECT_EQ(requests, 2);
    EXPECT_EQ(reserved, 6 * unit);
    EXPECT_EQ(egb_obtain_trim_(), 0u);
    egb_os_release_(longer, 5 * unit);
    egb_os_release_(aligned, unit);
}

TEST_F(obtain, where_there_is_no_span_the_region_alone_is_asked_for)
{
    most_bytes         = unit;
    char* const region = region_of(unit);
    EXPECT_EQ(requests, 2);
    EXPECT_EQ(reserved, unit);
    egb_os_release_(region, unit);
}

TEST_F(obtain, the_rest_goes_back_before_a_request_is_refused)
{
    char* const region = region_of(unit);
    most_bytes         = 8 * unit;
    EXPECT_EQ(egb_obtain_region_(9 * unit, unit), nullptr);
    EXPECT_EQ(released, 15 * unit);
    egb_os_release_(region, unit);
}

TEST_F(obtain, a_trim_of_the_heap_gives_the_rest_back)
{
    egb_os_release_(region_of(unit), unit);
    (void)egb_heap_trim(0);
    EXPECT_EQ(released, MiB);
}

TEST_F(obtain, a_freeze_ends_pieces_too)
{
    char* const region = region_of(unit);
    egb_freeze_(true);
    EXPECT_EQ(egb_obtain_region_(unit, unit), nullptr);
    EXPECT_TRUE(egb_freeze_take_refusal_());
    EXPECT_EQ(requests, 1);
    egb_os_release_(region, unit);
}

// ---- a rest of any granule ----------------------------------------------------------------------

TEST_F(obtain, every_history_of_a_rest_of_four_granules)
{
    const std::size_t page = egb_os_page_bytes_();
    for (unsigned history = 0; history < 4 * 4 * 4 * 4; history++) {
        std::uintptr_t rest  = 0;
        auto* const    start = static_cast<char*>(egb_os_reserve_(4 * page, page));
        egb_rest_add_(&rest, page, start, 4 * page);
        std::size_t left = 4 * page;
        for (unsigned i = 0, steps = history; i < 4; i++, steps /= 4) {
            const std::size_t bytes = (1 + steps % 4) * page;
            void* const       piece = egb_rest_take_(&rest, page, bytes);
            EXPECT_EQ(piece, bytes <= left ? start + left - bytes : nullptr);
            left -= piece != nullptr ? bytes : 0;
        }
        EXPECT_EQ(egb_rest_replace_(&rest, page, nullptr, 0), left);
        EXPECT_EQ(rest, 0u);
        egb_os_release_(start + left, 4 * page - left);
    }
    EXPECT_EQ(reserved, released);
}

TEST_F(obtain, a_range_right_before_the_rest_joins_it)
{
    const std::size_t page  = egb_os_page_bytes_();
    auto* const       start = static_cast<char*>(egb_os_reserve_(8 * page, page));
    std::uintptr_t    rest  = 0;
    egb_rest_add_(&rest, page, start + 4 * page, 4 * page);
    EXPECT_EQ(egb_rest_take_(&rest, page, 3 * page), start + 5 * page);
    egb_rest_add_(&rest, page, start, 4 * page);
    EXPECT_EQ(egb_rest_take_(&rest, page, 5 * page), start);
    EXPECT_EQ(released, 0u);
    egb_os_release_(start, 8 * page);
}

TEST_F(obtain, a_rest_goes_back_when_a_range_elsewhere_comes)
{
    const std::size_t page  = egb_os_page_bytes_();
    auto* const       start = static_cast<char*>(egb_os_reserve_(8 * page, page));
    std::uintptr_t    rest  = 0;
    egb_rest_add_(&rest, page, start, page);
    egb_rest_add_(&rest, page, start + page, 2 * page);  // behind it
    EXPECT_EQ(released, page);
    egb_rest_add_(&rest, page, start + 5 * page, 3 * page);
    EXPECT_EQ(released, 3 * page);
    EXPECT_EQ(egb_rest_replace_(&rest, page, nullptr, 0), 3 * page);
    egb_os_release_(start + 3 * page, 2 * page);
}

// The number of granules is below the address.
TEST_F(obtain, a_rest_never_has_more_granules_than_its_word)
{
    const std::size_t page = egb_os_page_bytes_();
    const std::size_t most = page - 1;  // granules
    if (page > 16384) {
        GTEST_SKIP() << "that would be GiBs";
    }
    auto* const start = static_cast<char*>(egb_os_reserve_((most + 1) * page, page));
    ASSERT_NE(start, nullptr);
    std::uintptr_t rest = 0;
    egb_rest_add_(&rest, page, start + page, most * page);
    egb_rest_add_(&rest, page, start, page);
    EXPECT_EQ(released, most * page);
    EXPECT_EQ(egb_rest_replace_(&rest, page, nullptr, 0), page);
}

// ---- threads ------------------------------------------------------------------------------------

TEST_F(obtain, no_piece_is_two_threads_and_none_is_lost)
{
    constexpr std::size_t threads = 4;
    constexpr std::size_t pieces  = 300;

    std::vector<std::vector<unsigned char*>> of(threads);
    std::vector<std::thread>                 running;
    for (std::size_t t = 0; t < threads; t++) {
        running.emplace_back([t, &of] {
            for (std::size_t i = 0; i < pieces; i++) {
                auto* const piece = static_cast<unsigned char*>(egb_obtain_region_(unit, unit));
                EXPECT_EQ(*piece, 0u);
                *piece = static_cast<unsigned char>(t + 1);
                of[t].push_back(piece);
            }
        });
    }
    for (std::thread& one : running) {
        one.join();
    }
    for (std::size_t t = 0; t < threads; t++) {
        for (unsigned char* const piece : of[t]) {
            EXPECT_EQ(*piece, t + 1);
            egb_os_release_(piece, unit);
        }
    }
    (void)egb_obtain_trim_();
    EXPECT_EQ(reserved, released);
}

// SPDX-License-Identifier: MIT
// Regions are pieces of spans, and pieces are never two threads'. The linker leads the library's
// requests to the system here, where they are counted and can be refused.
extern "C" {
#include "region/keep.h"
#include "region/obtain.h"
#include "region/pages.h"
}

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

}  // namespace

extern "C" {
void* __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
void  __real_egb_os_release_(void* start, std::size_t bytes);
void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
void  __wrap_egb_os_release_(void* start, std::size_t bytes);

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    requests++;
    void* const start = bytes > most_bytes ? nullptr : __real_egb_os_reserve_(bytes, align);
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

// Without a rest, in a process that has got some MiB.
class obtain : public testing::Test
{
  protected:
    obtain()
    {
        egb_keep_note_got_(4 * MiB);
        most_bytes = SIZE_MAX;
        (void)egb_obtain_trim_();
        requests = 0;
        reserved = released = 0;
    }

    ~obtain() override
    {
        most_bytes = SIZE_MAX;
        egb_freeze_(false);
        (void)egb_obtain_trim_();
    }
};

char* region_of(std::size_t bytes)
{
    auto* const region = static_cast<char*>(egb_obtain_region_(bytes, unit));
    EXPECT_NE(region, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region) % unit, 0u);
    return region;
}

}  // namespace

// ---- one thread ---------------------------------------------------------------------------------

TEST_F(obtain, short_regions_are_pieces_of_one_request_and_lie_side_by_side)
{
    char* const first = region_of(unit);
    for (std::size_t i = 1; i < 16; i++) {
        EXPECT_EQ(region_of(unit), first + i * unit);
    }
    EXPECT_EQ(requests, 1);
    EXPECT_EQ(egb_obtain_trim_(), 0u) << "nothing is left of it";
    EXPECT_EQ(released, 0u);
    egb_os_release_(first, MiB);
}

TEST_F(obtain, a_rest_that_is_too_short_goes_back)
{
    char* const first = region_of(3 * unit);
    for (int i = 0; i < 3; i++) {
        region_of(4 * unit);
    }
    EXPECT_EQ(requests, 1);
    char* const other = region_of(2 * unit);
    EXPECT_EQ(requests, 2);
    EXPECT_EQ(released, unit) << "the last one of 16";
    egb_os_release_(first, 15 * unit);
    egb_os_release_(other, 2 * unit);
    EXPECT_EQ(egb_obtain_trim_(), 14 * unit);
    EXPECT_EQ(reserved, released);
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
        EXPECT_EQ(egb_rest_replace_(&rest, page, start, 4 * page), 0u);
        std::size_t taken = 0;
        for (unsigned i = 0, steps = history; i < 4; i++, steps /= 4) {
            const std::size_t bytes = (1 + steps % 4) * page;
            void* const       piece = egb_rest_take_(&rest, page, bytes);
            EXPECT_EQ(piece, taken + bytes <= 4 * page ? start + taken : nullptr);
            taken += piece != nullptr ? bytes : 0;
        }
        EXPECT_EQ(egb_rest_replace_(&rest, page, nullptr, 0), 4 * page - taken);
        EXPECT_EQ(rest, 0u);
        egb_os_release_(start, taken);
    }
    EXPECT_EQ(reserved, released);
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

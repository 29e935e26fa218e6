// SPDX-License-Identifier: MIT
// Which ranges of addresses the library has from the system: for tests to which the linker leads
// its requests. Comes after "pool_private.h".
#ifndef EGGBOX_TESTS_SUPPORT_ADDRESS_BOOK_HPP
#define EGGBOX_TESTS_SUPPORT_ADDRESS_BOOK_HPP

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <map>

struct region {
    std::size_t bytes;
    bool        is_chunk;  // or a large block: aligned to a unit at least
};

using address_book = std::map<void*, region>;

// These bytes are a region. On a system that takes a region back in parts, they may also be a part
// of one, or of several that lie side by side.
inline void expect_out(const address_book& book, void* start, std::size_t bytes)
{
    auto*       at  = static_cast<char*>(start);
    char* const end = at + bytes;
    while (at < end) {
        const auto next = book.upper_bound(at);
        ASSERT_TRUE(next != book.begin()) << "it was not reserved";
        const auto& [first, one] = *std::prev(next);
        char* const to           = static_cast<char*>(first) + one.bytes;
        ASSERT_GT(to, at) << "it was not reserved";
        EXPECT_TRUE(egb_os_can_split_() || (first == start && to == end));
        at = to;
    }
}

// Takes a range off the books: a region, or any part of some that lie side by side.
inline bool taken_off(address_book* book, void* start, std::size_t bytes)
{
    auto*       at  = static_cast<char*>(start);
    char* const end = at + bytes;
    while (at < end) {
        const auto  next     = book->upper_bound(at);
        const bool  is_first = next == book->begin();
        const auto  one      = is_first ? book->end() : std::prev(next);
        char* const from     = is_first ? nullptr : static_cast<char*>(one->first);
        char* const to       = is_first ? nullptr : from + one->second.bytes;
        if (to <= at) {
            ADD_FAILURE() << "it was not out";
            return false;
        }
        const bool is_chunk = one->second.is_chunk;
        EXPECT_TRUE(egb_os_can_split_() || (from == at && to == end)) << "not as it was reserved";
        book->erase(one);
        if (from < at) {
            book->emplace(from, region{static_cast<std::size_t>(at - from), is_chunk});
        }
        if (to > end) {
            book->emplace(end, region{static_cast<std::size_t>(to - end), is_chunk});
        }
        at = to;
    }
    return true;
}

#endif  // EGGBOX_TESTS_SUPPORT_ADDRESS_BOOK_HPP

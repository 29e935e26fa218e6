// SPDX-License-Identifier: MIT
// The segments of one direction of a TCP connection: two lists, and moving from one to the other.
#pragma once

#include "records.hpp"

#include <cstdint>

namespace demo
{

/// How far `to` is ahead of `from`. Sequence numbers go round.
inline std::int32_t distance(std::uint32_t from, std::uint32_t to) noexcept
{
    return static_cast<std::int32_t>(to - from);
}

/// Whether a segment so far ahead can belong to the stream as it is now.
inline bool is_near(std::int32_t ahead) noexcept
{
    constexpr std::int32_t window_bytes = 1 << 20;
    return ahead > -window_bytes && ahead < window_bytes;
}

/// Behind all that begin no later.
inline void insert_held(stream& line, segment& one) noexcept
{
    segment** at = &line.held;
    while (*at != nullptr && distance((*at)->sequence, one.sequence) >= 0) {
        at = &(*at)->next;
    }
    one.next = *at;
    *at      = &one;
    line.held_count++;
}

inline segment* take_held(stream& line) noexcept
{
    segment* const first = line.held;
    line.held            = first->next;
    line.held_count--;
    return first;
}

/// Cuts off the bytes seen before. Returns whether anything is left.
inline bool cut_front(segment& one, std::uint32_t seen) noexcept
{
    if (seen >= one.bytes + one.is_last) {
        return false;
    }
    const std::uint32_t seen_here = seen < one.here ? seen : one.here;
    one.sequence += seen;
    one.offset += seen_here;
    one.bytes -= seen;
    one.here -= seen_here;
    return true;
}

inline void append_ready(stream& line, segment& one) noexcept
{
    one.next                                                     = nullptr;
    (line.ready == nullptr ? line.ready : line.ready_last->next) = &one;
    line.ready_last                                              = &one;
    line.ready_count++;
    line.next = one.sequence + one.bytes + one.is_last;
    line.is_finished |= one.is_last;
}

}  // namespace demo

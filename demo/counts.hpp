// SPDX-License-Identifier: MIT
// The results of the pipeline.
#pragma once

#include <cstdint>

namespace demo
{

/// The results. The same input gives the same numbers with any memory, unless it ran out.
struct counts {
    std::uint64_t packets, tcp, udp, other, too_long;  // `packets` in all; the rest are among them
    std::uint64_t flows, segments;                     // made
    std::uint64_t stream_bytes, datagram_bytes;        // read
    std::uint64_t early, repeated, stray, gaps;        // segments: beyond a gap, seen before, ...
    std::uint64_t no_packet, no_segment, no_flow;      // dropped: a pool, or malloc, had no block
    std::uint64_t check;                               // sum over every byte read

    std::uint64_t dropped() const noexcept
    {
        return no_packet + no_segment + no_flow;
    }
};

}  // namespace demo

// SPDX-License-Identifier: MIT
// The records that the pipeline allocates. The traffic decides how long each of them lives.
#pragma once

#include "headers.hpp"

#include <cstddef>
#include <cstdint>

namespace demo
{

/// A packet buffer: this head, and the frame right behind it. Lives from its arrival until its data
/// were read: at once, or after the missing segment before it.
struct packet {
    std::uint64_t time_us;
    std::uint32_t copy;   // see flow_key
    std::uint32_t bytes;  // the frame's

    unsigned char* frame() noexcept
    {
        return reinterpret_cast<unsigned char*>(this + 1);
    }
};

// The blocks of the pools of packet buffers. Most frames are small.
struct small_packet {
    packet        head;
    unsigned char frame[240];
};

struct large_packet {
    packet        head;
    unsigned char frame[1520];  // the longest Ethernet frame, with a VLAN tag, is 1518
};

/// A part of a TCP stream: a run of bytes in a packet. Lives as its packet does.
struct segment {
    segment*      next;  // in its stream's list
    packet*       holder;
    std::uint32_t sequence;
    std::uint32_t offset;   // the data's place in the frame
    std::uint32_t bytes;    // as sent
    std::uint32_t here;     // as captured
    bool          is_last;  // it carries a FIN
};

/// One direction of a TCP connection.
struct stream {
    segment*      held;        // beyond a gap, in order of sequence
    segment*      ready;       // without a gap, not read yet, oldest first
    segment*      ready_last;  // unspecified if `ready` is null
    std::uint32_t held_count;
    std::uint32_t ready_count;
    std::uint32_t next;  // the sequence number that comes next
    bool          is_open;
    bool          is_finished;
};

// A check sum of all bytes read, which depends on their order and not on how they were cut.
struct fletcher {
    std::uint64_t sum;
    std::uint64_t sum_of_sums;

    void add(const unsigned char* bytes, std::size_t count) noexcept
    {
        for (std::size_t i = 0; i < count; i++) {
            sum += bytes[i] + 1u;
            sum_of_sums += sum;
        }
    }
};

/// A conversation of two hosts. Lives until both have said FIN, or one RST, or it was idle too
/// long.
struct flow {
    flow_key      key;
    flow*         chain;  // the next one in its bucket
    flow*         older;  // in order of last_us, a ring
    flow*         newer;
    std::uint64_t last_us;
    stream        streams[2];
    fletcher      check[2];
};

}  // namespace demo

// SPDX-License-Identifier: MIT
// Finds the Ethernet, IPv4, TCP and UDP headers in a frame.
#pragma once

#include <cstddef>
#include <cstdint>

namespace demo
{

/// The two ends of a conversation, the lower one first, so that both directions give the same key.
struct flow_key {
    std::uint32_t address[2];
    std::uint16_t port[2];
    std::uint32_t copy;  // which playing of the capture, so that no two of them share a flow
    std::uint8_t  protocol;

    bool operator==(const flow_key& other) const noexcept
    {
        return address[0] == other.address[0] && address[1] == other.address[1] &&
               port[0] == other.port[0] && port[1] == other.port[1] && copy == other.copy &&
               protocol == other.protocol;
    }
};

enum class transport { tcp, udp, other };

enum tcp_flag : unsigned { flag_fin = 1, flag_syn = 2, flag_rst = 4, flag_psh = 8 };

struct headers {
    transport     kind;      // `other`: the fields below mean nothing
    flow_key      key;       // copy: 0
    unsigned      side;      // which end of the key sent it
    std::uint32_t sequence;  // TCP: of the first byte of data
    unsigned      flags;     // TCP
    std::uint32_t data_offset;
    std::uint32_t data_bytes;  // as sent
    std::uint32_t data_here;   // as captured: no more than data_bytes
};

/// Never reads beyond `captured` bytes. Fragments, and headers cut short or wrong, are `other`.
headers find_headers(const unsigned char* frame, std::size_t captured) noexcept;

}  // namespace demo

// SPDX-License-Identifier: MIT
#include "headers.hpp"

#include <algorithm>
#include <utility>

namespace demo
{
namespace
{

constexpr std::size_t   ethernet_bytes = 14;
constexpr std::size_t   vlan_bytes     = 4;
constexpr std::size_t   ipv4_bytes_min = 20;
constexpr std::size_t   tcp_bytes_min  = 20;
constexpr std::size_t   udp_bytes      = 8;
constexpr std::uint16_t type_ipv4      = 0x0800;
constexpr std::uint16_t type_vlan      = 0x8100;
constexpr std::uint16_t is_fragment    = 0x3FFF;  // more fragments follow, or this is not the first
constexpr std::uint8_t  protocol_tcp   = 6;
constexpr std::uint8_t  protocol_udp   = 17;

std::uint16_t number_16(const unsigned char* at)
{
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}

std::uint32_t number_32(const unsigned char* at)
{
    return std::uint32_t{number_16(at)} << 16 | number_16(at + 2);
}

// The part of the frame not looked at yet. Padding and check sums behind the IP packet are cut off.
struct rest {
    const unsigned char* at;
    std::size_t          here;     // bytes captured
    std::size_t          on_wire;  // bytes sent

    bool skip(std::size_t bytes)
    {
        if (bytes > here || bytes > on_wire) {
            return false;
        }
        at += bytes;
        here -= bytes;
        on_wire -= bytes;
        return true;
    }
};

bool skip_ethernet(rest& left)
{
    if (left.here < ethernet_bytes + vlan_bytes) {
        return false;
    }
    const std::size_t tag = number_16(left.at + 12) == type_vlan ? vlan_bytes : 0;
    return number_16(left.at + 12 + tag) == type_ipv4 && left.skip(ethernet_bytes + tag);
}

bool skip_ipv4(rest& left, headers& out)
{
    if (left.here < ipv4_bytes_min || left.at[0] >> 4 != 4 ||
        (number_16(left.at + 6) & is_fragment) != 0) {
        return false;
    }
    const std::size_t header_bytes = (left.at[0] & 15u) * std::size_t{4};
    const std::size_t total_bytes  = number_16(left.at + 2);
    out.key.protocol               = left.at[9];
    out.key.address[0]             = number_32(left.at + 12);
    out.key.address[1]             = number_32(left.at + 16);
    left.on_wire = total_bytes != 0 ? total_bytes : left.here;  // 0: cut by the card
    left.here    = std::min(left.here, left.on_wire);
    return header_bytes >= ipv4_bytes_min && left.skip(header_bytes);
}

transport skip_tcp(rest& left, headers& out)
{
    if (left.here < tcp_bytes_min) {
        return transport::other;
    }
    const std::size_t header_bytes = (left.at[12] >> 4u) * std::size_t{4};
    out.sequence                   = number_32(left.at + 4);
    out.flags                      = left.at[13];
    return header_bytes >= tcp_bytes_min && left.skip(header_bytes) ? transport::tcp
                                                                    : transport::other;
}

transport skip_transport(rest& left, headers& out)
{
    if (left.here < udp_bytes) {
        return transport::other;
    }
    out.key.port[0] = number_16(left.at);
    out.key.port[1] = number_16(left.at + 2);
    if (out.key.protocol == protocol_tcp) {
        return skip_tcp(left, out);
    }
    return out.key.protocol == protocol_udp && left.skip(udp_bytes) ? transport::udp
                                                                    : transport::other;
}

void order_ends(headers& out)
{
    const auto end = [&out](int i) {
        return std::pair(out.key.address[i], out.key.port[i]);
    };
    if (end(1) < end(0)) {
        std::swap(out.key.address[0], out.key.address[1]);
        std::swap(out.key.port[0], out.key.port[1]);
        out.side = 1;
    }
}

}  // namespace

headers find_headers(const unsigned char* frame, std::size_t captured) noexcept
{
    headers out{};
    out.kind = transport::other;
    rest left{frame, captured, captured};
    if (skip_ethernet(left) && skip_ipv4(left, out)) {
        out.kind = skip_transport(left, out);
    }
    if (out.kind != transport::other) {
        order_ends(out);
        out.data_offset = static_cast<std::uint32_t>(left.at - frame);
        out.data_bytes  = static_cast<std::uint32_t>(left.on_wire);
        out.data_here   = static_cast<std::uint32_t>(left.here);
    }
    return out;
}

}  // namespace demo

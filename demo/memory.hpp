// SPDX-License-Identifier: MIT
// The sources of the records: a pipeline is a template over one of these classes. Each gives
//
//     packet*  make_packet(frame_bytes)        void drop(packet*)
//     segment* make_segment()                  void drop(segment*)
//     flow*    make_flow()                     void drop(flow*)
//
// make_...() returns null when there is no memory. Contents are unspecified.
#pragma once

#include "records.hpp"

#include "eggbox/fixed.h"

#include <array>
#include <cstddef>
#include <cstdlib>

namespace demo
{

/// malloc and free. A packet gets as many bytes as it needs.
class malloc_memory
{
  public:
    packet* make_packet(std::size_t frame_bytes)
    {
        return static_cast<packet*>(std::malloc(sizeof(packet) + frame_bytes));
    }

    segment* make_segment()
    {
        return static_cast<segment*>(std::malloc(sizeof(segment)));
    }

    flow* make_flow()
    {
        return static_cast<flow*>(std::malloc(sizeof(flow)));
    }

    void drop(void* record)
    {
        std::free(record);
    }
};

enum pool_index { pool_small, pool_large, pool_segments, pool_flows, pool_count };

struct pool_kind {
    const char* name;
    const char* type;
    std::size_t block_bytes;
    std::size_t capacity_max;
};

// Static pools cost only the pages that were touched, so there is no need to be stingy here.
constexpr std::array<pool_kind, pool_count> pool_kinds = {{
    {"small_packets", "struct small_packet", sizeof(small_packet), 65536},
    {"large_packets", "struct large_packet", sizeof(large_packet), 16384},
    {"segments", "struct segment", sizeof(segment), 65536},
    {"flows", "struct flow", sizeof(flow), 65536},
}};

/// Four fixed pools in static memory, with the default check or with live bits.
enum class pool_check { marks, live_bits };

/// Makes all four empty pools, each of `capacity` blocks or as many as there is memory for. They
/// are a process's only ones: the trials run in processes of their own.
std::array<egb_fixed, pool_count> make_pools(pool_check check, std::size_t capacity);

class pool_memory
{
  public:
    pool_memory(pool_check check, std::size_t capacity) : pools_(make_pools(check, capacity)) {}

    packet* make_packet(std::size_t frame_bytes)
    {
        return static_cast<packet*>(egb_fixed_alloc(&packets(frame_bytes)));
    }

    segment* make_segment()
    {
        return static_cast<segment*>(egb_fixed_alloc(&pools_[pool_segments]));
    }

    flow* make_flow()
    {
        return static_cast<flow*>(egb_fixed_alloc(&pools_[pool_flows]));
    }

    void drop(packet* record)
    {
        egb_fixed_free(&packets(record->bytes), record);
    }

    void drop(segment* record)
    {
        egb_fixed_free(&pools_[pool_segments], record);
    }

    void drop(flow* record)
    {
        egb_fixed_free(&pools_[pool_flows], record);
    }

    const egb_fixed& pool(std::size_t index) const
    {
        return pools_[index];
    }

  private:
    egb_fixed& packets(std::size_t frame_bytes)
    {
        return pools_[frame_bytes <= sizeof(small_packet::frame) ? pool_small : pool_large];
    }

    std::array<egb_fixed, pool_count> pools_;
};

}  // namespace demo

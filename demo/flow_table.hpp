// SPDX-License-Identifier: MIT
// Finds a flow by its key, and the flow that was idle for the longest time. Allocates no flows.
//
//     buckets: chains of flows whose keys hash alike
//     ring:    oldest <-> ... <-> newest, closed by `ring_`, which is no flow
#pragma once

#include "records.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo
{

class flow_table
{
  public:
    flow_table() : buckets_(bucket_count)
    {
        ring_.older = &ring_;
        ring_.newer = &ring_;
    }

    flow_table(const flow_table&)            = delete;
    flow_table& operator=(const flow_table&) = delete;

    flow* find(const flow_key& key) const noexcept
    {
        flow* each = buckets_[bucket(key)];
        while (each != nullptr && !(each->key == key)) {
            each = each->chain;
        }
        return each;
    }

    /// Null if there is none.
    flow* oldest() const noexcept
    {
        return ring_.newer == &ring_ ? nullptr : ring_.newer;
    }

    /// Adds a flow whose key and last_us are set, and not in the table.
    void add(flow& one) noexcept
    {
        flow*& first = buckets_[bucket(one.key)];
        one.chain    = first;
        first        = &one;
        link(one);
    }

    /// Makes it the newest.
    void touch(flow& one, std::uint64_t now_us) noexcept
    {
        one.last_us = now_us;
        unlink(one);
        link(one);
    }

    void remove(flow& one) noexcept
    {
        flow** at = &buckets_[bucket(one.key)];
        while (*at != &one) {
            at = &(*at)->chain;
        }
        *at = one.chain;
        unlink(one);
    }

  private:
    static constexpr std::size_t bucket_count = 16384;

    static std::size_t bucket(const flow_key& key) noexcept
    {
        std::uint64_t mixed = std::uint64_t{key.address[0]} << 32 | key.address[1];
        mixed *= UINT64_C(0x9E3779B97F4A7C15);
        mixed ^= mixed >> 32;
        mixed += std::uint64_t{key.copy} << 32 | std::uint64_t{key.port[0]} << 16 | key.port[1];
        mixed *= UINT64_C(0xD6E8FEB86659FD93);
        return static_cast<std::size_t>(mixed >> 40) % bucket_count;
    }

    void link(flow& one) noexcept
    {
        one.newer          = &ring_;
        one.older          = ring_.older;
        ring_.older->newer = &one;
        ring_.older        = &one;
    }

    void unlink(flow& one) noexcept
    {
        one.older->newer = one.newer;
        one.newer->older = one.older;
    }

    std::vector<flow*> buckets_;
    flow               ring_{};
};

}  // namespace demo

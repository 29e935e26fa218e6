// SPDX-License-Identifier: MIT
#include "live/live.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cstring>

namespace tool
{
namespace
{

// A pool counts blocks in magazines as in use until they are back. A process that was not forked
// has never used more blocks than it requested.
pool_record class_record(const egb_live_slot& slot, const egb_live_class& counts)
{
    const egb_live_pool& pool = slot.pools[counts.pool];
    pool_record          out;
    out.name            = live_text(pool.name, sizeof pool.name);
    out.parent          = "heap";
    out.level           = live_text(slot.level, sizeof slot.level);
    out.is_size_class   = true;
    out.block_bytes     = pool.block_bytes;
    out.stride_bytes    = pool.block_bytes;
    out.allocations     = counts.requests;
    out.requested_bytes = counts.requested_bytes;
    out.in_use          = pool.in_use;
    out.peak            = pool.peak;
    if (slot.is_forked == 0) {
        out.in_use = std::min(out.in_use, counts.requests);
        out.peak   = std::min(out.peak, counts.requests);
    }
    out.in_use_over = std::min<std::uint64_t>(pool.in_magazines_max, out.in_use);
    out.frees       = minus(counts.requests, out.in_use);
    out.failures    = minus(pool.failures, pool.failures_before);
    out.bytes_held  = pool.bytes_held;
    return out;
}

large_record large_of(const egb_live_large& from)
{
    large_record out;
    out.allocations  = from.allocations;
    out.frees        = from.frees;
    out.failures     = from.failures;
    out.in_use       = from.in_use;
    out.peak         = from.peak;
    out.bytes_in_use = from.bytes;
    out.peak_bytes   = from.bytes_peak;
    return out;
}

}  // namespace

std::string live_text(const char* text, std::size_t bytes_max)
{
    return {text, strnlen(text, bytes_max)};
}

std::uint64_t blocks_in_use(const egb_live_pool& pool)
{
    return minus(pool.in_use, pool.in_magazines);
}

process_record record_of(const egb_live_slot& slot)
{
    process_record out;
    out.program            = live_text(slot.program, sizeof slot.program);
    out.arguments          = {out.program};
    out.pid                = slot.pid;
    out.parent_pid         = slot.parent_pid;
    out.process_started    = slot.process_started;
    out.started_ns         = slot.started_ns;
    out.level              = live_text(slot.level, sizeof slot.level);
    out.library            = live_text(slot.library, sizeof slot.library);
    out.is_linked          = slot.is_linked != 0;
    out.is_measured        = slot.is_measured != 0;
    out.large              = large_of(slot.large);
    std::uint64_t failures = slot.large.failures;
    for (const egb_live_class& each : slot.classes) {
        if (each.pool != 0 && each.pool < EGB_LIVE_POOLS) {
            out.pools.push_back(class_record(slot, each));
            failures = plus(failures, out.pools.back().failures);
        }
    }
    if (failures != 0) {
        out.not_served.push_back({"there was no memory for them", failures});
    }
    return out;
}

}  // namespace tool

// SPDX-License-Identifier: MIT
// The pools of a process, as its slot in a live file describes them.
#pragma once

#include "live/live.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

struct pool_line {
    const egb_live_pool*  pool;
    const egb_live_class* counts;  // null: its requests are not counted
};

/// The pools that are in use or were, those that hold most first. They point into the slot.
std::vector<pool_line> pools_of(const egb_live_slot& slot);

/// All pools and large blocks of a process.
struct process_sum {
    std::uint64_t requests = 0;
    std::uint64_t in_use   = 0;  // bytes
    std::uint64_t held     = 0;
};

process_sum sum_of(const egb_live_slot& slot);

/// Whether there were large blocks, or requests for them.
bool has_large(const egb_live_slot& slot);

/// The program with its arguments, or the title that it wrote, and which library it is if that is
/// not malloc. Without control characters, and of bounded length.
std::string program_of(const egb_live_slot& slot);

/// How many pools more there may be than the slot has room for.
std::uint64_t pools_beyond(const egb_live_slot& slot);

}  // namespace tool

// SPDX-License-Identifier: MIT
// What the screen of `eggbox top` shows: lines from the last two looks at the live files.
#pragma once

#include "top/find.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tool
{

enum class order { held, in_use, rate, name };

const char* order_name(order by);
order       order_after(order by);

/// A process, or one of its pools. A process may have two libraries with pools.
struct row_key {
    std::uint64_t pid       = 0;
    bool          is_linked = false;
    std::uint64_t pool      = 0;  // 0: all of them

    bool operator<(const row_key& other) const
    {
        return std::tie(pid, is_linked, pool) < std::tie(other.pid, other.is_linked, other.pool);
    }
    bool operator==(const row_key& other) const
    {
        return !(*this < other) && !(other < *this);
    }
};

/// Requests at one moment, to know how many came until another one.
struct counted_requests {
    double                           at_s = 0;
    std::map<row_key, std::uint64_t> of;
};

counted_requests requests_in(const recorded_processes& found, double at_s);

struct view_options {
    order       by = order::held;
    row_key     of;      // whose pools are shown; no process: processes are
    std::string filter;  // part of a name
};

struct view_row {
    row_key     key;
    std::string text;
};

struct view {
    std::string           title;
    std::string           head;
    std::vector<view_row> rows;
};

/// Processes, or the pools of one process. Rates are those since `before`.
view view_of(
    const recorded_processes& found,
    const counted_requests&   before,
    const counted_requests&   now,
    const view_options&       wanted
);

}  // namespace tool

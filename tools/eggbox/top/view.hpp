// SPDX-License-Identifier: MIT
// The contents of the screen of `eggbox top`: lines from the last two looks at the live files.
#pragma once

#include "text/text.hpp"
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
    std::string   shared;         // the name of a pool that processes share; empty: it is none

    bool operator<(const row_key& other) const
    {
        return std::tie(pid, is_linked, pool, shared) <
               std::tie(other.pid, other.is_linked, other.pool, other.shared);
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
    order       by        = order::held;
    bool        is_shared = false;  // pools that processes share; else processes
    row_key     of;                 // whose pools, or attachments, are shown; none: all are
    std::string filter;             // part of a name
    std::size_t width = 0;          // columns of the screen; 0: as many as there are
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

/// A line before it is text.
struct line {
    row_key                  key;
    std::string              name;
    double                   rate;  // requests a second; below 0: not counted
    std::uint64_t            in_use;
    std::uint64_t            held;
    std::vector<std::string> cells;
};

/// Sorts the lines, without those that the filter leaves out, and puts them into columns. On a
/// narrow screen the columns of the heads in `spare` go, one after the other.
void fill(
    view&                           to,
    table                           columns,
    std::vector<line>               lines,
    const view_options&             wanted,
    const std::vector<std::string>& spare
);

std::string rate_text(double rate);

/// Processes, or the pools of one process. Rates are those since `before`.
view view_of(
    const recorded_processes& found,
    const counted_requests&   before,
    const counted_requests&   now,
    const view_options&       wanted
);

}  // namespace tool

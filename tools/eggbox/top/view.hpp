// SPDX-License-Identifier: MIT
// What the screen of `eggbox top` shows: lines from the last two looks at the live files.
#pragma once

#include "top/find.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool
{

enum class order { held, in_use, rate, name };

const char* order_name(order by);
order       order_after(order by);

/// Requests of pools at one moment, to know how many came until another one.
struct counted_requests {
    double                                                           at_s = 0;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> of;  // by process and pool
};

counted_requests requests_in(const recorded_processes& found, double at_s);

struct view_options {
    order         by  = order::held;
    std::uint64_t pid = 0;  // whose pools are shown; 0: processes are
    std::string   filter;   // part of a name
};

struct view_row {
    std::uint64_t pid;
    std::string   text;
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

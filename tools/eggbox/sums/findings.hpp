// SPDX-License-Identifier: MIT
// What was found in recorded runs, with the places: misuse, and blocks that nobody freed.
#pragma once

#include "records/write.hpp"

#include <string>
#include <vector>

namespace tool
{

/// All that one place leaked, in all processes and pools.
struct leak_total {
    place_record  site;
    std::uint64_t blocks    = 0;
    std::uint64_t bytes     = 0;
    std::uint64_t oldest_ms = 0;
};

/// The same misuse at the same places.
struct event_total {
    event_record  event;
    std::uint64_t count = 0;
};

struct findings {
    std::vector<event_total> events;  // in the order in which they were seen
    std::vector<leak_total>  leaks;   // most bytes first
    leak_sum                 all;     // of `leaks`, and of what no report lists
    leak_sum                 kept;    // by the C library and the loader: in neither
    leak_sum                 large;   // not freed either, but nobody notes who asked for them
    bool                     was_ended = false;  // a program, by a signal: its leaks are left out
};

findings find_all(const std::vector<run_record>& runs);

/// For people, as lines; more than they can read is in `where`. Nothing if nothing was looked for.
std::vector<std::string> event_lines(const findings& found, const std::string& where);
std::vector<std::string> leak_lines(const findings& found, const std::string& where);

/// Adds "leaks", "leaked" and "events".
void add_findings(json& to, const findings& found);

/// FILE:LINE (FUNCTION), or as much as is known.
std::string place_text(const place_record& place);

}  // namespace tool

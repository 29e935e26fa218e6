// SPDX-License-Identifier: MIT
// Misuse and leaks in recorded runs, with the places in the source.
#pragma once

#include "records/write.hpp"

#include <string>
#include <vector>

namespace tool
{

/// All leaks of one place or stack, over all processes and pools; or, in `allocated`, all that it
/// ever allocated.
using leak_total = site_record;

/// The same misuse at the same places.
struct event_total {
    event_record  event;
    std::uint64_t count = 0;
};

struct findings {
    std::vector<event_total> events;     // in order of appearance
    std::vector<leak_total>  leaks;      // most bytes first
    leak_sum                 all;        // `leaks` and the leaks that no report lists
    leak_sum                 indirect;   // the part of `all` to which a lost block leads
    leak_sum                 reachable;  // not in `leaks` or `all`; not known if nobody looked
    leak_sum                 kept;       // by the C library and the loader; not in `leaks` or `all`
    leak_sum                 suppressed;  // as the user wishes; not in `leaks` or `all`
    leak_sum                 large;       // large blocks, not freed; their places are not recorded
    std::vector<leak_total>  allocated;   // by samples, in use at the end or not; most bytes first
    sampling_record          sampling;    // `sum` has also what no report lists
    std::uint64_t            without_stack = 0;  // requests with their own place, without callers
    // Blocks in use when a signal ended their program, if nobody looked which of them it could
    // reach. They are not in `leaks` or `all`.
    std::vector<leak_total> held;
    leak_sum                held_sum;
    leak_sum                held_kept;          // as `kept`; not in `held_sum`
    leak_sum                held_suppressed;    // as `suppressed`; not in `held_sum`
    std::uint64_t           without_leaks = 0;  // processes that left no report, and so no leaks
};

findings find_all(const std::vector<run_record>& runs);

/// "sampled, 1 in 512 KiB, scaled; 12 samples". Empty without samples: all blocks are known.
std::string sampled_text(const sampling_record& sampling, std::uint64_t samples);

/// Lines of text. A long list is cut, and a line behind it says that the rest is in `where`. Lines
/// with sums may follow the list: large blocks and blocks that are still reachable, for example.
/// Empty if the runs did not look for such findings.
std::vector<std::string> event_lines(const findings& found, const std::string& where);
std::vector<std::string> leak_lines(const findings& found, const std::string& where);
std::vector<std::string> allocated_lines(const findings& found, const std::string& where);

/// Adds "leaks" and "events", and the members that are known of: "leaked", "indirect", "reachable",
/// "kept", "suppressed", "sampling", "allocated" and "without_stack". The member "large", which is
/// there already, gets "in_use" and "bytes_in_use".
void add_findings(json& to, const findings& found);

}  // namespace tool

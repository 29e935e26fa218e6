// SPDX-License-Identifier: MIT
// Sums over the processes of one or several recorded runs.
#pragma once

#include "records/records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool
{

/// All pools of one size class, or of one name, in all processes.
struct pool_total {
    std::string   name;
    bool          is_size_class   = false;
    std::uint64_t block_bytes     = 0;
    std::uint64_t align           = 0;  // a power of two that divides their distance
    std::uint64_t allocations     = 0;
    std::uint64_t failures        = 0;
    std::uint64_t in_use          = 0;  // not freed when the processes ended
    std::uint64_t peak            = 0;  // the largest of one pool
    std::size_t   peak_run        = 0;  // the run with this peak
    std::uint64_t bytes_held      = 0;  // the largest of one pool
    std::uint64_t measured_bytes  = 0;  // all blocks requested in measured processes
    std::uint64_t requested_bytes = 0;  // the requested part of measured_bytes
    std::size_t   runs            = 0;  // the runs in which a block of it was requested
    std::uint64_t pools           = 0;  // the most of this name and size in one process
};

struct totals {
    std::size_t   runs          = 0;
    std::uint64_t processes     = 0;
    std::uint64_t unreadable    = 0;
    std::uint64_t silent        = 0;  // processes on pools that left no report
    std::uint64_t no_report     = 0;  // processes with numbers from the live file
    std::uint64_t silent_linked = 0;  // processes whose linked library left none
    // A program links a copy of the library beside malloc's: `others` are the pools of that copy.
    bool                    has_beside = false;
    double                  duration_s = 0;  // sum over all runs
    std::vector<pool_total> classes;         // by size
    std::vector<pool_total> others;          // used pools that are no size classes, by name
    large_record            large;           // peaks: the largest of one process
    std::vector<pool_total> large_sizes;     // sizes of these that come again and again
    std::vector<counted>    not_served;
    std::vector<counted>    misuse;
    std::uint64_t           peak_resident_bytes = 0;  // the largest of one process
    std::uint64_t           minor_faults        = 0;
    std::uint64_t           major_faults        = 0;
    std::uint64_t           block_bytes_peak    = 0;  // the largest sum of the peaks of one process
    std::string             library;                  // versions of the library

    std::uint64_t from_classes() const;
    std::uint64_t from_others() const;
    std::uint64_t unserved() const;
    std::uint64_t requests() const;  // served, large and not served
};

totals sum_up(const std::vector<run_record>& runs);

/// Reads files and folders.
std::vector<run_record> read_reports(const std::vector<std::string>& paths);

std::uint64_t sum_of(const std::vector<counted>& all);

/// The share of the blocks' bytes that no request asked for; "-" if not measured.
std::string waste_text(const pool_total& pool);

}  // namespace tool

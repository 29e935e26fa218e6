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
    std::uint64_t allocations     = 0;
    std::uint64_t failures        = 0;
    std::uint64_t in_use          = 0;  // never freed, when the processes ended
    std::uint64_t peak            = 0;  // the largest of one process
    std::size_t   peak_run        = 0;  // the run in which that was
    std::uint64_t bytes_held      = 0;  // the largest of one process
    std::uint64_t measured_bytes  = 0;  // of blocks of measured processes
    std::uint64_t requested_bytes = 0;  // of these, asked for
    std::size_t   runs            = 0;  // in how many it was used
};

struct totals {
    std::size_t             runs       = 0;
    std::uint64_t           processes  = 0;
    std::uint64_t           unreadable = 0;
    double                  duration_s = 0;  // of all runs, one after the other
    std::vector<pool_total> classes;         // by size
    std::vector<pool_total> others;          // pools that are no size classes, if used; by name
    large_record            large;           // peaks: the largest of one process
    std::vector<counted>    not_served;
    std::vector<counted>    misuse;
    std::uint64_t           peak_resident_bytes = 0;  // the largest of one process
    std::uint64_t           minor_faults        = 0;
    std::uint64_t           major_faults        = 0;
    std::uint64_t           block_bytes_peak    = 0;  // of one process, if all peaks met
    std::string             library;                  // versions that served

    std::uint64_t from_classes() const;
    std::uint64_t unserved() const;
    std::uint64_t requests() const;  // all of which something is known
};

totals sum_up(const std::vector<run_record>& runs);

std::vector<run_record> read_reports(const std::vector<std::string>& files);

std::uint64_t sum_of(const std::vector<counted>& all);

/// What fraction of the bytes of blocks nobody asked for; "-" where it was not measured.
std::string waste_text(const pool_total& pool);

}  // namespace tool

// SPDX-License-Identifier: MIT
// A configuration: how many blocks of each size and pool the recorded peaks need.
#pragma once

#include "records/records.hpp"
#include "sums/totals.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

/// Every block has the alignment of malloc, so every block size is a multiple of it.
constexpr std::uint64_t block_align = 16;

struct size_row {
    std::string   name;        // the pool's name; empty: a size class
    std::string   identifier;  // the same for the source code, one for each pool
    std::uint64_t block_bytes = 0;
    std::uint64_t align       = block_align;
    std::uint64_t least_bytes = 0;  // smaller requests belong to a size that was left out
    std::uint64_t blocks      = 0;  // the peak and its headroom
    std::uint64_t peak        = 0;
    std::uint64_t requests    = 0;
    std::size_t   runs        = 0;  // the runs in which a block of it was requested
    std::string   waste;            // the share of the blocks' bytes that no request asked for
    std::string   reason;

    std::uint64_t stride() const;  // from one block to the next
    std::uint64_t bytes() const;   // the size of a static pool for this row
};

struct configuration {
    std::string           name;     // a C identifier: prefix of the emitted names
    std::string           program;  // for people
    std::size_t           runs             = 0;
    std::size_t           processes        = 0;
    double                duration_s       = 0;
    double                headroom_percent = 25;
    double                cover_percent    = 100;
    std::uint64_t         requests         = 0;  // all, with large ones and those not served
    std::uint64_t         covered          = 0;  // the part of `requests` that the rows serve
    std::vector<size_row> rows;                  // by size
    std::vector<size_row> left_out;              // sizes that the wanted share does not need
    std::vector<size_row> pools;                 // by name, and `large_pools` more for large blocks
    large_record          large;
    std::size_t           large_pools   = 0;  // the last of `pools`: one for each size
    std::uint64_t         planned_large = 0;  // requests of `large` whose sizes have pools
    std::uint64_t         unserved      = 0;  // recorded requests, neither from pools nor large

    std::uint64_t bytes() const;
    double        share() const;     // percent of the requests that the rows cover
    std::string   obstacle() const;  // why it cannot be source code; empty: it can
};

/// The prefix of the emitted names, unless the user gives one.
std::string usual_name(const std::string& program);

/// Throws failure if the runs have nothing to size.
configuration plan(
    const std::vector<run_record>& runs,
    const std::string&             name,
    double                         headroom_percent,
    double                         cover_percent
);

std::string size_page(const configuration& plan, const std::vector<std::string>& files);
std::string size_data(const configuration& plan);  // JSON

/// Headers. Each throws failure if there is an obstacle; size_in_compat() also if there is no pool.
std::string size_in_c(const configuration& plan);
std::string size_in_cpp(const configuration& plan);
std::string size_in_compat(const configuration& plan);  // for programs of the older libraries

/// The parts of headers for `pools`.
std::string pools_in_c(const configuration& plan);
std::string pools_in_cpp(const configuration& plan);
std::string pools_in_compat(const configuration& plan);

/// Reads the output of size_data(), or a header. Throws failure for other text.
configuration parse_configuration(const std::string& text, const std::string& path);

struct fit_row {
    std::string   name;  // the pool's name; empty: a size class
    std::uint64_t block_bytes = 0;
    std::uint64_t blocks      = 0;  // in the configuration; 0: it has no such size or pool
    std::uint64_t peak        = 0;  // in the new runs
    std::uint64_t refused     = 0;  // requests to a pool that had no block left

    bool fits() const
    {
        return peak <= blocks && refused == 0;
    }
};

struct fit {
    std::vector<fit_row> rows;   // every size of the configuration, and larger sizes of the runs
    std::vector<fit_row> pools;  // the same of pools
    double               share;  // percent of the new requests that the rows cover
    double               promised;
    bool                 fits() const;
};

/// Checks that the configuration could refuse no request of `now` that it covers.
fit check_fit(const configuration& earlier, const totals& now);

std::string fit_page(
    const fit&                      found,
    const std::string&              file,
    const totals&                   now,
    const std::vector<std::string>& reports
);
std::string fit_data(const fit& found);

}  // namespace tool

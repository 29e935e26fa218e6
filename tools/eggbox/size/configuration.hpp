// SPDX-License-Identifier: MIT
// A configuration: how many blocks of each size the recorded peaks need.
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
    std::uint64_t block_bytes = 0;
    std::uint64_t least_bytes = 0;  // smaller requests belong to a size that was left out
    std::uint64_t blocks      = 0;  // the peak and its headroom
    std::uint64_t peak        = 0;
    std::uint64_t requests    = 0;
    std::size_t   runs        = 0;  // the number of runs that requested the size
    std::string   waste;            // the share of the blocks' bytes that no request asked for
    std::string   reason;

    std::uint64_t bytes() const;  // of a static pool for this row
};

struct configuration {
    std::string              name;     // a C identifier: prefix of the emitted names
    std::string              program;  // for people
    std::size_t              runs             = 0;
    std::size_t              processes        = 0;
    double                   duration_s       = 0;
    double                   headroom_percent = 0;
    double                   cover_percent    = 0;
    std::uint64_t            requests         = 0;  // all, with large ones and those not served
    std::uint64_t            covered          = 0;  // the part of `requests` that the rows serve
    std::vector<size_row>    rows;                  // by size
    std::vector<size_row>    left_out;              // sizes that the wanted share does not need
    std::vector<size_row>    pools;                 // limits for pools that are no size classes
    std::vector<std::string> pool_names;
    large_record             large;
    std::uint64_t            unserved = 0;  // recorded requests, neither from pools nor large

    std::uint64_t bytes() const;
    double        share() const;  // percent of the requests that the rows cover
};

/// Throws failure if the runs have nothing to size.
configuration plan(
    const std::vector<run_record>& runs,
    const std::string&             name,
    double                         headroom_percent,
    double                         cover_percent
);

std::string size_page(const configuration& plan, const std::vector<std::string>& files);
std::string size_data(const configuration& plan);  // JSON
std::string size_in_c(const configuration& plan);  // a header
std::string size_in_cpp(const configuration& plan);

/// Reads the output of size_data(), size_in_c() or size_in_cpp(). Throws failure for other text.
configuration parse_configuration(const std::string& text, const std::string& path);

struct fit_row {
    std::uint64_t block_bytes = 0;
    std::uint64_t blocks      = 0;  // of the configuration; 0: it has no such size
    std::uint64_t peak        = 0;  // of the new runs
};

struct fit {
    std::vector<fit_row> rows;   // every size of the configuration, and larger sizes of the runs
    double               share;  // percent of the new requests that the rows cover
    double               promised;
    bool                 fits() const;
};

/// Checks that the configuration could refuse no request of `now` that it covers.
fit check_fit(const configuration& earlier, const totals& now);

std::string fit_page(const fit& found, const std::string& file, const totals& now);
std::string fit_data(const fit& found);

}  // namespace tool

// SPDX-License-Identifier: MIT
// From measured peaks to a configuration: how many blocks of which sizes.
#pragma once

#include "records/records.hpp"
#include "sums/totals.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

/// All blocks are as aligned as malloc's, so their sizes are multiples of this.
constexpr std::uint64_t block_align = 16;

struct size_row {
    std::uint64_t block_bytes = 0;
    std::uint64_t least_bytes = 0;  // smaller requests are of a size that was left out
    std::uint64_t blocks      = 0;  // the peak and its headroom
    std::uint64_t peak        = 0;
    std::uint64_t requests    = 0;
    std::size_t   runs        = 0;  // in how many the size was asked for
    std::string   waste;            // of the bytes of its blocks, what nobody asked for
    std::string   reason;

    std::uint64_t bytes() const;  // what a static pool of it takes
};

struct configuration {
    std::string              name;     // a C identifier: prefix of what is emitted
    std::string              program;  // for people
    std::size_t              runs             = 0;
    std::size_t              processes        = 0;
    double                   duration_s       = 0;
    double                   headroom_percent = 0;
    double                   cover_percent    = 0;
    std::uint64_t            requests         = 0;  // all, large ones and those not served included
    std::uint64_t            covered          = 0;  // of these, by the rows
    std::vector<size_row>    rows;                  // by size
    std::vector<size_row>    left_out;              // sizes the wanted share does not need
    std::vector<size_row>    pools;                 // limits for pools that are no size classes
    std::vector<std::string> pool_names;
    large_record             large;
    std::uint64_t            unserved = 0;  // neither from pools nor large, when recorded

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

/// Reads what size_data(), size_in_c() or size_in_cpp() made. Throws failure if it is none.
configuration parse_configuration(const std::string& text, const std::string& path);

struct fit_row {
    std::uint64_t block_bytes = 0;
    std::uint64_t blocks      = 0;  // of the configuration; 0: it has no such size
    std::uint64_t peak        = 0;  // of the new runs
};

struct fit {
    std::vector<fit_row> rows;   // every size of the configuration, and what is larger
    double               share;  // percent of the new requests that the rows cover
    double               promised;
    bool                 fits() const;
};

/// Whether no request of `now` that the configuration covers could be refused by it.
fit check_fit(const configuration& earlier, const totals& now);

std::string fit_page(const fit& found, const std::string& file, const totals& now);
std::string fit_data(const fit& found);

}  // namespace tool

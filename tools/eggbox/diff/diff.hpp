// SPDX-License-Identifier: MIT
// `eggbox report --diff`: what changed from one report to another.
#pragma once

#include "records/records.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

/// A part of a figure: a size class, a pool, a place, a kind of misuse.
struct change {
    std::string   what;
    std::uint64_t before = 0;
    std::uint64_t after  = 0;
};

struct figure_change {
    const char*         name     = "";     // "peak of blocks"
    bool                is_bytes = false;  // else a count
    change              all;
    std::vector<change> parts;  // those that changed, the most growth first
};

struct difference {
    std::vector<figure_change> figures;
    std::vector<std::string>   notes;  // why a figure is missing, or how the runs differ

    /// True if the part, or all of the figure, grew by more than `percent` of all that the figure
    /// was before. From nothing every growth is more.
    static bool is_above(const figure_change& figure, const change& part, double percent);

    /// The number of figures and parts of figures that grew by more than `percent`.
    std::size_t count_above(double percent) const;
};

/// Time grows with the length of the reports, times the logarithm of the number of their places.
difference
difference_of(const std::vector<run_record>& before, const std::vector<run_record>& after);

/// A number from 0 on, with or without a percent sign. Throws bad_usage for another text.
double percent_of(const std::string& text);

/// `percent`: the limit; negative: none.
std::string difference_page(const difference& of, double percent, const std::string& after_file);
std::string difference_data(const difference& of, double percent);  // JSON

}  // namespace tool

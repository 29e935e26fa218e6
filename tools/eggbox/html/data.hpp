// SPDX-License-Identifier: MIT
// The figures of the page, as its script reads them.
#pragma once

#include "records/records.hpp"
#include "json/writer.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tool
{

/// The limits of the page. A report may have any number of each.
constexpr std::size_t page_lines_max     = 50;     // lines of misuse, and lines of leaks
constexpr std::size_t page_pools_max     = 1000;   // with the most requests
constexpr std::size_t page_processes_max = 500;    // with the most requests
constexpr std::size_t page_stacks_max    = 2000;   // for each subject, with the largest figures
constexpr std::size_t page_frames_max    = 20000;  // in all stacks of a subject
constexpr std::size_t page_name_max      = 160;    // bytes of a name, before its "..."
constexpr std::size_t page_timelines_max = 8;      // those of the first runs that have one
constexpr std::size_t page_samples_max   = 1000;   // in a time line; `eggbox run` writes fewer

constexpr std::size_t page_timeline_pools_max = 8;  // in a time line; `eggbox run` writes no more

json page_data(const std::vector<run_record>& runs, const std::vector<std::string>& files);
json stacks_data(const std::vector<run_record>& runs);
json processes_data(const std::vector<run_record>& runs);

/// A name that may come from anywhere: short, and without control characters.
std::string page_name(const std::string& text);

}  // namespace tool

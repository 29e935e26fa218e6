// SPDX-License-Identifier: MIT
#include "html/data.hpp"

#include "sums/answer.hpp"
#include "sums/totals.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <limits>

namespace tool
{
namespace
{

constexpr double longest_s = 1e12;  // a report may have any time

// Zero if no process says when it began. Clocks of different runs have different beginnings.
std::uint64_t first_ns(const run_record& run)
{
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (const process_record& each : run.processes) {
        first = each.started_ns == 0 ? first : std::min(first, each.started_ns);
    }
    return first;
}

json process_data(const process_record& of, std::size_t run, std::uint64_t first)
{
    const totals sums = sum_up({run_record{{}, 0, 0, 0, {of}}});
    json         out  = {
        {"program", shortened(program_text(of), page_name_max)},
        {"run", run + 1},
        {"pid", of.pid},
        {"processes", of.processes},
        {"ended", of.no_report.empty() ? "with its report" : page_name(of.no_report)},
        {"requests", sums.requests()},
        {"to_own_pools", sums.from_others()},
        {"peak_bytes", sums.block_bytes_peak},
    };
    if (of.no_report.empty() || of.duration_s > 0) {
        out["duration_s"] = std::min(of.duration_s, longest_s);
    }
    if (of.no_report.empty()) {
        out["page_faults"] = plus(of.minor_faults, of.major_faults);
    }
    if (of.peak_resident_bytes != 0) {
        out["peak_resident_bytes"] = of.peak_resident_bytes;
        out["is_resident_least"]   = !of.no_report.empty();
    }
    // A record of several processes has the sum of their times.
    if (of.started_ns != 0 && of.processes == 1) {
        out["start_s"] = static_cast<double>(of.started_ns - first) / 1e9;
    }
    if (of.leaked.is_known) {
        out["leaked_bytes"] = of.leaked.bytes;
    }
    return out;
}

json silent_data(const silent_record& of, std::size_t run)
{
    return {
        {"program", page_name(of.program)},
        {"run", run + 1},
        {"pid", of.pid},
        {"processes", of.processes},
        {"ended", "without a report: " + page_name(of.reason)},
        {"requests", nullptr},
    };
}

std::vector<json> rows_of(const std::vector<run_record>& runs)
{
    std::vector<json> rows;
    for (std::size_t i = 0; i < runs.size(); i++) {
        const std::uint64_t first = first_ns(runs[i]);
        for (const process_record& each : runs[i].processes) {
            if (!each.is_beside) {
                rows.push_back(process_data(each, i, first));
            }
        }
        for (const silent_record& each : runs[i].silent) {
            rows.push_back(silent_data(each, i));
        }
    }
    return rows;
}

std::uint64_t number_in(const json& row, const char* name)
{
    const auto found = row.find(name);
    return found == row.end() || found->is_null() ? 0 : found->get<std::uint64_t>();
}

}  // namespace

json processes_data(const std::vector<run_record>& runs)
{
    std::vector<json> rows = rows_of(runs);
    std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
        return number_in(a, "requests") > number_in(b, "requests");
    });
    std::uint64_t processes = 0;
    std::uint64_t requests  = 0;
    while (rows.size() > page_processes_max) {
        processes = plus(processes, number_in(rows.back(), "processes"));
        requests  = plus(requests, number_in(rows.back(), "requests"));
        rows.pop_back();
    }
    return {{"rows", rows}, {"folded", processes}, {"folded_requests", requests}};
}

}  // namespace tool

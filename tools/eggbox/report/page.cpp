// SPDX-License-Identifier: MIT
#include "report/page.hpp"

#include "records/marks.hpp"
#include "records/write.hpp"
#include "sums/answer.hpp"
#include "sums/findings.hpp"
#include "sums/totals.hpp"
#include "text/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{
namespace
{

std::string found_text(const findings& found)
{
    std::string out;
    for (const std::string& line : event_lines(found, "`eggbox report --json`")) {
        out += line + "\n";
    }
    for (const std::string& line : leak_lines(found, "`eggbox report --json`")) {
        out += line + "\n";
    }
    for (const std::string& line : allocated_lines(found, "`eggbox report --json`")) {
        out += line + "\n";
    }
    return out.empty() ? "" : "\n" + out;
}

std::string classes_text(const totals& sums)
{
    table out{{"size class", "requests", "share", "peak in use", "bytes at peak", "held", "waste"}};
    const double all = static_cast<double>(sums.requests());
    for (const pool_total& each : sums.classes) {
        out.add(
            {grouped(each.block_bytes),
             grouped(each.allocations),
             percent_text(static_cast<double>(each.allocations), all),
             grouped(each.peak),
             bytes_text(times(each.peak, each.block_bytes)),
             bytes_text(each.bytes_held),
             waste_text(each)}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

std::string others_text(const totals& sums)
{
    table out{{"pool", "block", "requests", "peak in use", "held", "refused"}};
    for (const pool_total& each : sums.others) {
        out.add(
            {shown(each.name),
             grouped(each.block_bytes),
             grouped(each.allocations),
             grouped(each.peak),
             bytes_text(each.bytes_held),
             grouped(each.failures)}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

std::string rest_text(const totals& sums)
{
    std::string out;
    table       rest{{"not from pools", "requests", "why"}, true};
    if (sums.large.allocations > 0) {
        rest.add(
            {"large",
             grouped(sums.large.allocations),
             fmt::format(
                 "larger than every size class, served by the system; peak {} in {}",
                 bytes_text(sums.large.peak_bytes),
                 number_of(sums.large.peak, "block", "blocks")
             )}
        );
    }
    for (const counted& each : sums.not_served) {
        rest.add({"not served", grouped(each.count), shown(each.what)});
    }
    return rest.empty() ? "" : "\n" + rest.text();
}

struct process_line {
    const process_record* process;
    std::uint64_t         requests;
};

// Without a report, the most that was seen while it ran.
std::string resident_cell(const process_record& of)
{
    return of.peak_resident_bytes == 0
               ? "-"
               : (of.no_report.empty() ? "" : ">= ") + bytes_text(of.peak_resident_bytes);
}

// Lists the processes with the most requests: a shell script can have thousands of processes.
std::string process_text(const std::vector<run_record>& runs)
{
    constexpr std::size_t     lines_max = 10;
    std::vector<process_line> lines;
    std::uint64_t             processes = 0;
    for (const run_record& run : runs) {
        for (const process_record& each : run.processes) {
            if (each.is_beside) {
                continue;
            }
            lines.push_back({&each, sum_up({run_record{{}, 0, 0, 0, {each}}}).requests()});
            processes = plus(processes, each.processes);
        }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
        return a.requests > b.requests;
    });
    table out{{"process", "time", "requests", "resident", "faults", "program"}, true};
    for (std::size_t i = 0; i < std::min(lines.size(), lines_max); i++) {
        const process_record& each        = *lines[i].process;
        const bool            is_reported = each.no_report.empty();
        processes -= each.processes;
        out.add(
            {std::to_string(each.pid),
             is_reported ? seconds_text(each.duration_s) : "-",
             grouped(lines[i].requests),
             resident_cell(each),
             is_reported ? grouped(plus(each.minor_faults, each.major_faults)) : "-",
             program_text(each)}
        );
    }
    return "\n" + out.text() +
           (lines.size() > lines_max ? fmt::format(
                                           "... and {} with fewer requests\n",
                                           number_of(processes, "more process", "more processes")
                                       )
                                     : "");
}

// The processes that left no report, and why: one record for each program and reason, those of most
// processes first.
std::vector<silent_record> silent_of(const std::vector<run_record>& runs)
{
    silent_groups groups;
    for (const run_record& run : runs) {
        for (const silent_record& each : run.silent) {
            groups.add(each);
        }
    }
    std::vector<silent_record> out = groups.all();
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        return a.processes > b.processes;
    });
    return out;
}

std::string silent_text(const std::vector<run_record>& runs)
{
    constexpr std::size_t lines_max = 10;
    std::uint64_t         more      = 0;
    std::size_t           lines     = 0;
    table                 reasons{{"program", "processes", "reason"}, true};
    for (const silent_record& each : silent_of(runs)) {
        if (lines++ < lines_max) {
            reasons.add({shown(each.program), grouped(each.processes), shown(each.reason)});
        } else {
            more = plus(more, each.processes);
        }
    }
    return (reasons.empty() ? "" : "\n" + reasons.text()) +
           (more == 0 ? ""
                      : fmt::format(
                            "... and {} without a report\n",
                            number_of(more, "more process", "more processes")
                        ));
}

json silent_json(const std::vector<run_record>& runs)
{
    json out = json::array();
    for (const silent_record& each : silent_of(runs)) {
        out.push_back({
            {"program", each.program},
            {"processes", each.processes},
            {"reason", each.reason},
            {"is_linked", each.is_linked},
        });
    }
    return out;
}

std::string answer_text(const answer& of)
{
    std::string out = headline(of.headline) + "\n";
    for (const std::string& line : of.lines) {
        out += line + "\n";
    }
    return out;
}

std::string next_text(const answer& of)
{
    return of.next.empty() ? "" : "\n" + of.next + "\n";
}

json pool_total_json(const pool_total& pool)
{
    return {
        {"name", pool.name},
        {"block_bytes", pool.block_bytes},
        {"requests", pool.allocations},
        {"peak", pool.peak},
        {"in_use_at_end", pool.in_use},
        {"bytes_held", pool.bytes_held},
        {"measured_bytes", pool.measured_bytes},
        {"requested_bytes", pool.requested_bytes},
        {"refused", pool.failures},
    };
}

json pools_json(const std::vector<pool_total>& pools)
{
    json out = json::array();
    for (const pool_total& each : pools) {
        out.push_back(pool_total_json(each));
    }
    return out;
}

}  // namespace

std::string report_page(const std::vector<run_record>& runs, const std::vector<std::string>& files)
{
    const totals sums  = sum_up(runs);
    const answer first = answer_of(sums, runs, files);
    if (sums.processes == 0) {
        return answer_text(first) + silent_text(runs) + next_text(first);
    }
    return answer_text(first) + found_text(find_all(runs)) + classes_text(sums) +
           others_text(sums) + rest_text(sums) + process_text(runs) + silent_text(runs) +
           "\nRequests are sums over all processes.\n"
           "Each peak and byte count is the largest of one pool or, for large blocks, of one "
           "process.\n"
           "Waste is the share of block bytes that no request asked for; \"-\": not measured.\n" +
           next_text(first);
}

std::string report_data(const std::vector<run_record>& runs)
{
    const totals sums = sum_up(runs);
    json         out  = {
        {"schema", schema},
        {"kind", "eggbox-summary"},
        {"command", runs.front().command},
        {"runs", sums.runs},
        {"processes", sums.processes},
        {"unreadable", sums.unreadable},
        {"silent_processes", sums.silent},
        {"silent_linked", sums.silent_linked},
        {"silent", silent_json(runs)},
        {"duration_s", sums.duration_s},
        {"library", sums.library},
        {"requests", sums.requests()},
        {"from_pools", sums.from_classes()},
        {"peak_resident_bytes", sums.peak_resident_bytes},
        {"minor_faults", sums.minor_faults},
        {"major_faults", sums.major_faults},
        {"size_classes", pools_json(sums.classes)},
        {"pools", pools_json(sums.others)},
        {"large",
                  {{"requests", sums.large.allocations},
                   {"peak", sums.large.peak},
                   {"peak_bytes", sums.large.peak_bytes},
                   {"refused", sums.large.failures}}},
        {"not_served", counted_json(sums.not_served, "reason")},
        {"misuse", counted_json(sums.misuse, "kind")},
    };
    add_findings(out, find_all(runs));
    return json_text(out);
}

}  // namespace tool

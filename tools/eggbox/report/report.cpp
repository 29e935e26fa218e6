// SPDX-License-Identifier: MIT
#include "report/report.hpp"

#include "diff/diff.hpp"
#include "export/export.hpp"
#include "html/html.hpp"
#include "process/report_file.hpp"
#include "records/write.hpp"
#include "report/page.hpp"
#include "sums/answer.hpp"
#include "sums/findings.hpp"
#include "sums/suppress.hpp"
#include "sums/totals.hpp"
#include "sums/wrappers.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

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
        const process_record& each = *lines[i].process;
        processes -= each.processes;
        out.add(
            {std::to_string(each.pid),
             seconds_text(each.duration_s),
             grouped(lines[i].requests),
             bytes_text(each.peak_resident_bytes),
             grouped(plus(each.minor_faults, each.major_faults)),
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

// All that is known of processes that were on pools if none of them left a report.
std::string silent_text(const std::vector<run_record>& runs)
{
    table reasons{{"program", "processes", "reason"}, true};
    for (const run_record& run : runs) {
        for (const silent_record& each : run.silent) {
            reasons.add({shown(each.program), grouped(each.processes), shown(each.reason)});
        }
    }
    return reasons.empty() ? "" : "\n" + reasons.text();
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

json pool_json(const pool_total& pool)
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
        out.push_back(pool_json(each));
    }
    return out;
}

// Without the leaks that the user does not want to hear of.
std::vector<run_record>
unfolded_runs(const report_options& wanted, const std::vector<std::string>& files)
{
    std::vector<run_record> runs = read_reports(files);
    if (!wanted.suppress.empty()) {
        suppress_leaks(runs, read_suppressions(wanted.suppress));
    }
    if (wanted.is_all) {
        unfold_wrappers(runs);
    }
    return runs;
}

std::vector<run_record> runs_of(const report_options& wanted)
{
    std::vector<run_record> runs = unfolded_runs(wanted, wanted.files);
    if (!wanted.is_all) {
        fold_wrappers(runs, wrappers_in(runs));
    }
    return runs;
}

int export_command(const report_options& wanted)
{
    if (is_binary(wanted.format) && isatty(STDOUT_FILENO) != 0) {
        throw bad_usage(wanted.format + " is not text; send it to a file with >");
    }
    print(exported(runs_of(wanted), wanted.format, wanted.what));
    return exit_done;
}

int diff_command(const report_options& wanted)
{
    if (wanted.files.size() != 2) {
        throw bad_usage("--diff takes two reports, OLD and NEW");
    }
    const double            percent = wanted.fail_above ? percent_of(*wanted.fail_above) : -1;
    std::vector<run_record> before  = unfolded_runs(wanted, {wanted.files.front()});
    std::vector<run_record> after   = unfolded_runs(wanted, {wanted.files.back()});
    if (!wanted.is_all) {  // a place has one name in both
        std::set<std::string> wrappers = wrappers_in(before);
        wrappers.merge(wrappers_in(after));
        fold_wrappers(before, wrappers);
        fold_wrappers(after, wrappers);
    }
    const difference found = difference_of(before, after);
    print(
        wanted.json ? difference_data(found, percent)
                    : difference_page(found, percent, wanted.files.back())
    );
    return percent >= 0 && found.count_above(percent) > 0 ? exit_limit : exit_done;
}

int html_command(const report_options& wanted)
{
    const std::string page = html_page(runs_of(wanted), wanted.files);
    report_file       file{wanted.html};
    const std::string problem = file.write(page);
    if (!problem.empty()) {
        throw failure(fmt::format("{}: cannot be written: {}", shown(wanted.html), problem));
    }
    return exit_done;
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
           others_text(sums) + rest_text(sums) + process_text(runs) +
           "\nEach peak and byte count is the maximum over single processes. Waste is the share of "
           "block\nbytes that no request asked for; \"-\": not measured.\n" +
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

int report_command(const report_options& wanted)
{
    if (!wanted.format.empty()) {
        return export_command(wanted);
    }
    if (!wanted.html.empty()) {
        return html_command(wanted);
    }
    if (wanted.diff) {
        return diff_command(wanted);
    }
    const std::vector<run_record> runs = runs_of(wanted);
    print(wanted.json ? report_data(runs) : report_page(runs, wanted.files));
    return exit_done;
}

}  // namespace tool

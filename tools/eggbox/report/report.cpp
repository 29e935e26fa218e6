// SPDX-License-Identifier: MIT
#include "report/report.hpp"

#include "diff/diff.hpp"
#include "export/export.hpp"
#include "records/write.hpp"
#include "report/page.hpp"
#include "sums/findings.hpp"
#include "sums/totals.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

namespace tool
{
namespace
{

std::string own_pools_text(const totals& sums)
{
    return fmt::format(
        "{} to {} of its own",
        number_of(sums.from_others(), "request", "requests"),
        number_of(sums.others.size(), "pool", "pools")
    );
}

// A program that is not on pools, but uses some of its own, has no other requests.
bool has_own_pools_alone(const totals& sums)
{
    return sums.requests() == 0 && !sums.others.empty();
}

std::string served_text(const totals& sums)
{
    return has_own_pools_alone(sums) ? own_pools_text(sums)
                                     : fmt::format(
                                           "{} of {} served from pools",
                                           percent_text(
                                               static_cast<double>(sums.from_classes()),
                                               static_cast<double>(sums.requests())
                                           ),
                                           number_of(sums.requests(), "request", "requests")
                                       );
}

std::string answer(const totals& sums, const std::vector<run_record>& runs)
{
    std::string out = headline(fmt::format(
        "{}: {}.",
        runs.front().command.empty() ? "a program" : shown(runs.front().command.front()),
        served_text(sums)
    ));
    out += fmt::format(
        "\n{}, {}, {}; peak resident {}; {} page faults, {} of them from disk.\n",
        number_of(sums.runs, "run", "runs"),
        number_of(sums.processes, "process", "processes"),
        seconds_text(sums.duration_s),
        bytes_text(sums.peak_resident_bytes),
        grouped(plus(sums.minor_faults, sums.major_faults)),
        grouped(sums.major_faults)
    );
    if (!sums.others.empty() && !has_own_pools_alone(sums)) {
        out +=
            own_pools_text(sums) + (sums.has_beside ? ", by the library that it links.\n" : ".\n");
    }
    for (const counted& each : sums.misuse) {
        out += fmt::format(
            "MISUSE: {}, {}.\n", shown(each.what), number_of(each.count, "time", "times")
        );
    }
    if (sums.unreadable > 0) {
        out += fmt::format(
            "The figures omit {} without a readable report.\n",
            number_of(sums.unreadable, "process", "processes")
        );
    }
    if (sums.silent > 0) {
        out += fmt::format(
            "The figures omit {} without a report.\n",
            number_of(sums.silent, "process", "processes")
        );
    }
    if (sums.no_report > 0) {
        out += fmt::format(
            "{} left no report: the numbers are those of the last moment, and blocks in use may be "
            "fewer.\n",
            number_of(sums.no_report, "process", "processes")
        );
    }
    if (sums.silent_linked > 0) {
        out += fmt::format(
            "The figures omit the pools of {} that did not end by exit().\n",
            number_of(sums.silent_linked, "process", "processes")
        );
    }
    return out;
}

std::string found_text(const findings& found)
{
    std::string out;
    for (const std::string& line : event_lines(found, "`eggbox report --json`")) {
        out += line + "\n";
    }
    for (const std::string& line : leak_lines(found, "`eggbox report --json`")) {
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

// A server often writes a title over its arguments. The arguments behind the title are empty then.
std::vector<std::string> words_of(const process_record& of)
{
    std::vector<std::string> words = of.arguments;
    while (words.size() > 1 && words.back().empty()) {
        words.pop_back();
    }
    return words.empty() ? std::vector{of.program} : words;
}

std::string arguments_text(const process_record& of)
{
    std::string all = shell_quoted(words_of(of));
    std::size_t end = 100;
    if (all.size() > end) {
        while (end > 0 && (static_cast<unsigned char>(all[end]) & 0xC0) == 0x80) {
            end--;  // do not cut a character
        }
        all = all.substr(0, end) + "...";
    }
    return shown(all);
}

std::string program_text(const process_record& of)
{
    return of.processes == 1
               ? arguments_text(of)
               : fmt::format("{} processes of {}", grouped(of.processes), shown(of.program));
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
std::string silence(const std::vector<run_record>& runs)
{
    std::string out = headline("No numbers: no process that was on pools left a report.") + "\n\n";
    table       reasons{{"program", "processes", "reason"}, true};
    for (const run_record& run : runs) {
        for (const silent_record& each : run.silent) {
            reasons.add({shown(each.program), grouped(each.processes), shown(each.reason)});
        }
    }
    return out + reasons.text();
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

int export_command(const report_options& wanted)
{
    if (is_binary(wanted.format) && isatty(STDOUT_FILENO) != 0) {
        throw bad_usage(wanted.format + " is not text; send it to a file with >");
    }
    print(exported(read_reports(wanted.files), wanted.format, wanted.what));
    return exit_done;
}

int diff_command(const report_options& wanted)
{
    if (wanted.files.size() != 2) {
        throw bad_usage("--diff takes two reports, OLD and NEW");
    }
    const double     percent = wanted.fail_above ? percent_of(*wanted.fail_above) : -1;
    const difference found =
        difference_of(read_runs(wanted.files.front()), read_runs(wanted.files.back()));
    print(
        wanted.json ? difference_data(found, percent)
                    : difference_page(found, percent, wanted.files.back())
    );
    return percent >= 0 && found.count_above(percent) > 0 ? exit_limit : exit_done;
}

}  // namespace

std::string report_page(const std::vector<run_record>& runs, const std::vector<std::string>& files)
{
    const totals sums = sum_up(runs);
    if (sums.processes == 0 && plus(sums.silent, sums.silent_linked) > 0) {
        return silence(runs);
    }
    if (sums.processes == 0) {
        return headline("Nothing ran on pools: no process wrote a report.") + "\n" +
               (runs.front().command.empty()
                    ? ""
                    : "\nNext: eggbox doctor " + shell_quoted(runs.front().command.front()) + "\n");
    }
    return answer(sums, runs) + found_text(find_all(runs)) + classes_text(sums) +
           others_text(sums) + rest_text(sums) + process_text(runs) +
           "\nEach peak and byte count is the maximum over single processes. Waste is the share of "
           "block\nbytes that no request asked for; \"-\": not measured.\n" +
           (sums.classes.empty() && sums.others.empty()
                ? "\nThere is nothing to size: no pool served a request.\n"
                : "\nNext: eggbox size " + shell_quoted(files) + "\n");
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
    if (wanted.diff) {
        return diff_command(wanted);
    }
    const std::vector<run_record> runs = read_reports(wanted.files);
    print(wanted.json ? report_data(runs) : report_page(runs, wanted.files));
    return exit_done;
}

}  // namespace tool

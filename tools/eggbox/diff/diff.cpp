// SPDX-License-Identifier: MIT
#include "diff/diff.hpp"

#include "sums/findings.hpp"
#include "sums/stacks.hpp"
#include "sums/totals.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace tool
{
namespace
{

/// Parts by a key that is the same in both reports.
using parts_map = std::map<std::string, change>;

using part_value = std::uint64_t change::*;

void add_part(
    parts_map& to, const std::string& key, std::string what, part_value side, std::uint64_t value
)
{
    change& part = to[key];
    part.what    = std::move(what);
    part.*side   = plus(part.*side, value);
}

std::uint64_t growth(const change& part)
{
    return minus(part.after, part.before);
}

figure_change figure_of(
    const char* name, bool is_bytes, std::uint64_t before, std::uint64_t after, parts_map parts
)
{
    figure_change out{name, is_bytes, {"all", before, after}, {}};
    for (auto& [key, part] : parts) {
        if (part.before != part.after) {
            out.parts.push_back(std::move(part));
        }
    }
    std::sort(out.parts.begin(), out.parts.end(), [](const change& a, const change& b) {
        return growth(a) != growth(b) ? growth(a) > growth(b) : a.what < b.what;
    });
    return out;
}

// ---- pools --------------------------------------------------------------------------------------

std::uint64_t peak_bytes(const pool_total& pool)
{
    return times(pool.peak, pool.block_bytes);
}

std::uint64_t requests(const pool_total& pool)
{
    return pool.allocations;
}

using pool_value = std::uint64_t (*)(const pool_total&);

void add_pools(parts_map& to, const totals& of, part_value side, pool_value value)
{
    for (const pool_total& each : of.classes) {
        const std::string what = fmt::format("size class {}", grouped(each.block_bytes));
        add_part(to, what, what, side, value(each));
    }
    for (const pool_total& each : of.others) {
        const std::string what = fmt::format(
            "pool {}, {}", shown(each.name), number_of(each.block_bytes, "byte", "bytes")
        );
        add_part(to, what, what, side, value(each));
    }
}

parts_map pools_of(const totals& before, const totals& after, pool_value value)
{
    parts_map out;
    add_pools(out, before, &change::before, value);
    add_pools(out, after, &change::after, value);
    return out;
}

void add_larges(parts_map& to, std::uint64_t before, std::uint64_t after)
{
    to["large"] = {"large blocks, from the system", before, after};
}

figure_change peaks(const totals& before, const totals& after)
{
    parts_map parts = pools_of(before, after, peak_bytes);
    add_larges(parts, before.large.peak_bytes, after.large.peak_bytes);
    return figure_of(
        "peak of blocks", true, before.block_bytes_peak, after.block_bytes_peak, parts
    );
}

figure_change all_requests(const totals& before, const totals& after)
{
    parts_map parts = pools_of(before, after, requests);
    add_larges(parts, before.large.allocations, after.large.allocations);
    for (const counted& each : before.not_served) {
        add_part(parts, "not\n" + each.what, shown(each.what), &change::before, each.count);
    }
    for (const counted& each : after.not_served) {
        add_part(parts, "not\n" + each.what, shown(each.what), &change::after, each.count);
    }
    return figure_of(
        "requests",
        false,
        plus(before.requests(), before.from_others()),
        plus(after.requests(), after.from_others()),
        parts
    );
}

// ---- findings -----------------------------------------------------------------------------------

figure_change misuses(const totals& before, const totals& after)
{
    parts_map parts;
    for (const counted& each : before.misuse) {
        add_part(parts, each.what, shown(each.what), &change::before, each.count);
    }
    for (const counted& each : after.misuse) {
        add_part(parts, each.what, shown(each.what), &change::after, each.count);
    }
    return figure_of("misuse", false, sum_of(before.misuse), sum_of(after.misuse), parts);
}

// The functions and files, without lines: these move with every change of the source.
std::string site_key(const leak_total& leak)
{
    std::string out;
    for (const place_record& each :
         leak.stack.empty() ? stack_record{leak.site} : shown_calls(leak.stack)) {
        out += call_name(each) + "\n" + (each.function.empty() ? "" : each.file) + "\n";
    }
    return out;
}

std::string site_text(const leak_total& leak)
{
    constexpr std::size_t calls_max = 8;
    return leak.stack.empty() ? place_text(leak.site) : stack_text(leak.stack, calls_max);
}

void add_leaks(parts_map& to, const findings& of, part_value side)
{
    for (const leak_total& each : of.leaks) {
        add_part(to, site_key(each), site_text(each), side, each.bytes);
    }
}

// Without all leaks of both, a difference would be one of the records.
std::string why_no_leaks(const char* side, const findings& of)
{
    return of.held_sum.is_known
               ? fmt::format("leaks are not compared: a signal ended a program of {}", side)
           : !of.all.is_known
               ? fmt::format(
                     "leaks are not compared: {} did not run with --check track or sample", side
                 )
               : "";
}

void add_leaks(difference& to, const findings& before, const findings& after)
{
    for (const std::string& why : {why_no_leaks("OLD", before), why_no_leaks("NEW", after)}) {
        if (!why.empty()) {
            to.notes.push_back(why);
            return;
        }
    }
    if (before.all.samples != 0 || after.all.samples != 0) {
        to.notes.emplace_back("leaks are estimates from samples: a small change may be chance");
    }
    parts_map parts;
    add_leaks(parts, before, &change::before);
    add_leaks(parts, after, &change::after);
    to.figures.push_back(figure_of("leaked", true, before.all.bytes, after.all.bytes, parts));
}

// ---- notes --------------------------------------------------------------------------------------

std::string levels_of(const std::vector<run_record>& runs)
{
    std::set<std::string> levels;
    for (const run_record& run : runs) {
        for (const process_record& each : run.processes) {
            levels.insert(shown(each.level));
        }
    }
    return fmt::format("{}", fmt::join(levels, " and "));
}

void add_notes(
    difference& to, const std::vector<run_record>& before, const std::vector<run_record>& after
)
{
    if (before.size() != after.size()) {
        to.notes.push_back(fmt::format(
            "OLD has {}, NEW has {}: requests, leaks and misuse are sums over them",
            number_of(before.size(), "run", "runs"),
            number_of(after.size(), "run", "runs")
        ));
    }
    const std::string level_before = levels_of(before);
    const std::string level_after  = levels_of(after);
    if (level_before != level_after) {
        to.notes.push_back(fmt::format(
            "OLD ran at level {}, NEW at level {}: memory differs by that alone",
            level_before,
            level_after
        ));
    }
}

std::uint64_t reported_resident(const std::vector<run_record>& runs)
{
    std::uint64_t out = 0;
    for (const run_record& run : runs) {
        for (const process_record& each : run.processes) {
            out = std::max(out, each.no_report.empty() ? each.peak_resident_bytes : 0);
        }
    }
    return out;
}

// Processes without a report are left out: `eggbox run` saw their memory at some moments only, and
// the same program shows another number in each run.
void add_resident(
    difference& to, const std::vector<run_record>& before, const std::vector<run_record>& after
)
{
    const std::uint64_t old_peak = reported_resident(before);
    const std::uint64_t new_peak = reported_resident(after);
    const std::uint64_t left_out = plus(sum_up(before).no_report, sum_up(after).no_report);
    const bool          has_both = old_peak != 0 && new_peak != 0;
    if (left_out == 0 || has_both) {
        to.figures.push_back(figure_of("peak resident", true, old_peak, new_peak, {}));
    }
    if (left_out > 0) {
        to.notes.push_back(fmt::format(
            "peak resident is {}: {} left no report",
            has_both ? "that of the processes with a report" : "not compared",
            number_of(left_out, "process", "processes")
        ));
    }
}

void require_processes(const char* side, const totals& of)
{
    if (of.processes == 0) {
        throw failure(fmt::format("{} has no figures: no process wrote a report", side));
    }
}

}  // namespace

bool difference::is_above(const figure_change& figure, const change& part, double percent)
{
    const double grown = static_cast<double>(growth(part));
    return grown > 0 && grown * 100 > percent * static_cast<double>(figure.all.before);
}

std::size_t difference::count_above(double percent) const
{
    std::size_t out = 0;
    for (const figure_change& figure : figures) {
        out += is_above(figure, figure.all, percent) ? 1U : 0U;
        for (const change& part : figure.parts) {
            out += is_above(figure, part, percent) ? 1U : 0U;
        }
    }
    return out;
}

difference
difference_of(const std::vector<run_record>& before, const std::vector<run_record>& after)
{
    const totals sums_before = sum_up(before);
    const totals sums_after  = sum_up(after);
    require_processes("OLD", sums_before);
    require_processes("NEW", sums_after);
    difference out;
    add_resident(out, before, after);
    out.figures.push_back(peaks(sums_before, sums_after));
    out.figures.push_back(all_requests(sums_before, sums_after));
    out.figures.push_back(misuses(sums_before, sums_after));
    add_leaks(out, find_all(before), find_all(after));
    add_notes(out, before, after);
    return out;
}

double percent_of(const std::string& text)
{
    const std::string number = text.substr(0, text.find('%'));
    if (number.empty() || number.size() > 9 || number.front() == '.' ||
        number.find_first_not_of("0123456789.") != std::string::npos ||
        std::count(number.begin(), number.end(), '.') > 1 || text.size() > number.size() + 1) {
        throw bad_usage(
            fmt::format("\"{}\" is no share; use a number of percent, such as 5%", shown(text))
        );
    }
    return std::stod(number);
}

}  // namespace tool

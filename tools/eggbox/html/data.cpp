// SPDX-License-Identifier: MIT
#include "html/data.hpp"

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

json lines_data(const std::vector<std::string>& lines)
{
    json out = json::array();
    for (std::size_t i = 0; i < std::min(lines.size(), page_lines_max); i++) {
        out.push_back(shortened(lines[i], 2000));
    }
    if (lines.size() > page_lines_max) {
        out.push_back(fmt::format(
            "... and {}", number_of(lines.size() - page_lines_max, "more line", "more lines")
        ));
    }
    return out;
}

json answer_data(
    const totals& sums, const std::vector<run_record>& runs, const std::vector<std::string>& files
)
{
    const answer of = answer_of(sums, runs, files);
    return {
        {"headline", shortened(of.headline, 2000)},
        {"lines", lines_data(of.lines)},
        {"next", shortened(of.next, 2000)},
    };
}

json totals_data(const totals& sums, const findings& found)
{
    json out = {
        {"runs", sums.runs},
        {"processes", sums.processes},
        {"silent_processes", sums.silent},
        {"duration_s", sums.duration_s},
        {"library", page_name(sums.library)},
        {"requests", sums.requests()},
        {"from_pools", sums.from_classes()},
        {"to_own_pools", sums.from_others()},
        {"peak_resident_bytes", sums.peak_resident_bytes},
        {"is_resident_least", sums.no_report != 0},
        {"misuse", sum_of(sums.misuse)},
    };
    if (found.all.is_known) {
        out["leaked_blocks"] = found.all.blocks;
        out["leaked_bytes"]  = found.all.bytes;
    }
    return out;
}

// ---- pools --------------------------------------------------------------------------------------

json pool_data(const pool_total& of)
{
    const std::string name = of.is_size_class ? grouped(of.block_bytes) + " B" : page_name(of.name);
    json              out  = {
        {"name", name},
        {"kind", of.is_size_class ? "size class" : "pool"},
        {"block_bytes", of.block_bytes},
        {"requests", of.allocations},
        {"peak", of.peak},
        {"peak_bytes", times(of.peak, of.block_bytes)},
        {"bytes_held", of.bytes_held},
        {"in_use_at_end", of.in_use},
        {"refused", of.failures},
    };
    if (of.measured_bytes > 0) {
        out["measured_bytes"] = of.measured_bytes;
        out["waste_bytes"]    = minus(of.measured_bytes, of.requested_bytes);
    }
    return out;
}

json rest_row(const std::string& name, const char* kind, std::uint64_t requests)
{
    return {{"name", page_name(name)}, {"kind", kind}, {"requests", requests}};
}

std::vector<json> pool_rows(const totals& sums)
{
    std::vector<json> rows;
    for (const auto* pools : {&sums.classes, &sums.others}) {
        for (const pool_total& each : *pools) {
            rows.push_back(pool_data(each));
        }
    }
    if (sums.large.allocations > 0) {
        json row = rest_row("large blocks", "system", sums.large.allocations);
        row.update({
            {"peak", sums.large.peak},
            {"peak_bytes", sums.large.peak_bytes},
            {"in_use_at_end", sums.large.in_use},
            {"refused", sums.large.failures},
        });
        rows.push_back(std::move(row));
    }
    for (const counted& each : sums.not_served) {
        rows.push_back(rest_row(each.what, "not served", each.count));
    }
    return rows;
}

std::uint64_t requests_of(const json& row)
{
    return row.at("requests").get<std::uint64_t>();
}

json pools_data(const totals& sums)
{
    std::vector<json> rows = pool_rows(sums);
    std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
        return requests_of(a) > requests_of(b);
    });
    std::uint64_t folded   = 0;
    std::uint64_t requests = 0;
    while (rows.size() > page_pools_max) {
        requests = plus(requests, requests_of(rows.back()));
        folded++;
        rows.pop_back();
    }
    return {{"rows", rows}, {"folded", folded}, {"folded_requests", requests}};
}

// ---- memory over time ---------------------------------------------------------------------------

json timeline_data(const timeline_record& of, std::size_t run)
{
    json out = {
        {"run", run + 1},
        {"at_s", of.at_s},
        {"processes", of.processes},
        {"bytes_in_use", of.bytes_in_use},
        {"bytes_held", of.bytes_held},
        {"bytes_resident", of.bytes_resident},
        {"pools", json::array()},
    };
    for (const timeline_pool& each : of.pools) {
        if (out["pools"].size() < page_timeline_pools_max) {
            out["pools"].push_back(
                {{"name", page_name(each.name)}, {"bytes_in_use", each.bytes_in_use}}
            );
        }
    }
    return out;
}

struct time_lines {
    json        shown     = json::array();
    std::size_t more_runs = 0;
    std::size_t too_long  = 0;  // runs
    std::size_t pools     = 0;  // left out of the time lines in `shown`
};

time_lines time_lines_of(const std::vector<run_record>& runs)
{
    time_lines out;
    for (std::size_t i = 0; i < runs.size(); i++) {
        const timeline_record& of      = runs[i].timeline;
        const std::size_t      samples = of.at_s.size();
        if (samples > page_samples_max) {
            out.too_long++;
        } else if (samples > 0 && out.shown.size() == page_timelines_max) {
            out.more_runs++;
        } else if (samples > 0) {
            out.shown.push_back(timeline_data(of, i));
            out.pools += of.pools.size() - out.shown.back()["pools"].size();
        }
    }
    return out;
}

// A sentence; empty if nothing is left out.
std::string left_out_text(const time_lines& of)
{
    std::string out;
    const auto  add = [&](std::size_t count, const char* one, const char* many) {
        if (count > 0) {
            out += (out.empty() ? "Left out: " : ", ") + number_of(count, one, many);
        }
    };
    const std::string longer = " with more than " + grouped(page_samples_max) + " samples";
    add(of.more_runs, "more run", "more runs");
    add(of.too_long, ("run" + longer).c_str(), ("runs" + longer).c_str());
    add(of.pools, "pool", "pools");
    return out.empty() ? "" : out + ".";
}

}  // namespace

std::string page_name(const std::string& text)
{
    return shortened(shown(shortened(text, page_name_max)), page_name_max);
}

json page_data(const std::vector<run_record>& runs, const std::vector<std::string>& files)
{
    const totals   sums  = sum_up(runs);
    const findings found = find_all(runs);
    time_lines     lines = time_lines_of(runs);
    return {
        {"schema", schema},
        {"kind", "eggbox-page"},
        {"command", shown(shortened(shell_quoted(runs.front().command), 1000))},
        {"answer", answer_data(sums, runs, files)},
        {"totals", totals_data(sums, found)},
        {"misuse", lines_data(event_lines(found, "`eggbox report --json`"))},
        {"leaks", lines_data(leak_lines(found, "`eggbox report --json`"))},
        {"allocated", lines_data(allocated_lines(found, "`eggbox report --json`"))},
        {"over_time_left_out", left_out_text(lines)},
        {"over_time", std::move(lines.shown)},
        {"stacks", stacks_data(runs)},
        {"pools", pools_data(sums)},
        {"processes", processes_data(runs)},
    };
}

}  // namespace tool

// SPDX-License-Identifier: MIT
#include "export/formats.hpp"
#include "sums/totals.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <limits>

namespace tool
{
namespace
{

// A record of several processes has the sum of their times.
bool has_a_time(const process_record& process)
{
    return process.started_ns != 0 && process.processes == 1 && !process.is_beside;
}

json figures_of(const process_record& process)
{
    const totals sums = sum_up({run_record{{}, 0, 0, 0, {process}}});
    json         out  = {
        {"command", arguments_text(process.arguments)},
        {"parent", process.parent_pid},
        {"requests", sums.requests()},
        {"requests to own pools", sums.from_others()},
        {"peak resident bytes", process.peak_resident_bytes},
        {"peak bytes of blocks", sums.block_bytes_peak},
        {"misuse", sum_of(sums.misuse)},
    };
    if (process.leaked.is_known) {
        out["bytes in use at the end"] = process.leaked.bytes;
    }
    return out;
}

json slice_of(const process_record& process, std::uint64_t first_ns)
{
    constexpr double longest_s = 1e12;  // a report may have any time
    const auto       start_ns  = static_cast<double>(process.started_ns - first_ns);
    return {
        {"ph", "X"},
        {"name", process.program},
        {"cat", "process"},
        {"pid", process.pid},
        {"tid", process.pid},
        {"ts", start_ns / 1e3},
        {"dur", std::min(process.duration_s, longest_s) * 1e6},
        {"args", figures_of(process)},
    };
}

json name_of(const process_record& process)
{
    return {
        {"ph", "M"},
        {"name", "process_name"},
        {"pid", process.pid},
        {"args", {{"name", process.program}}},
    };
}

// The memory of all processes of the run, as tracks of counters of the process that is shown first.
void add_counters(json& events, const run_record& run, std::uint64_t first_ns)
{
    constexpr double       longest_s = 1e12;  // a report may have any time
    const timeline_record& all       = run.timeline;
    if (all.started_ns == 0 || run.processes.empty()) {
        return;
    }
    const double start_us =
        (static_cast<double>(all.started_ns) - static_cast<double>(first_ns)) / 1e3;
    for (std::size_t i = 0; i < all.at_s.size(); i++) {
        events.push_back({
            {"ph", "C"},
            {"name", "bytes"},
            {"pid", run.processes.front().pid},
            {"ts", start_us + std::min(all.at_s[i], longest_s) * 1e6},
            {"args",
             {{"in use", all.bytes_in_use[i]},
              {"held", all.bytes_held[i]},
              {"resident", all.bytes_resident[i]}}},
        });
    }
}

}  // namespace

std::string perfetto_text(const std::vector<run_record>& runs)
{
    std::vector<const process_record*> timed;
    std::uint64_t                      first_ns = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t                      left_out = 0;
    for (const run_record& run : runs) {
        for (const process_record& process : run.processes) {
            if (has_a_time(process)) {
                timed.push_back(&process);
                first_ns = std::min(first_ns, process.started_ns);
            } else if (!process.is_beside) {
                left_out = plus(left_out, process.processes);
            }
        }
    }
    if (timed.empty()) {
        throw failure("the report does not say when its processes began");
    }
    json events = json::array();
    for (const process_record* process : timed) {
        events.push_back(name_of(*process));
        events.push_back(slice_of(*process, first_ns));
    }
    for (const run_record& run : runs) {
        add_counters(events, run, first_ns);
    }
    return json_text({
        {"displayTimeUnit", "ms"},
        {"otherData", {{"exporter", "eggbox"}, {"processes without a time", left_out}}},
        {"traceEvents", std::move(events)},
    });
}

}  // namespace tool

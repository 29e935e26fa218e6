// SPDX-License-Identifier: MIT
#include "sums/answer.hpp"

#include "text/text.hpp"

#include <algorithm>

#include <fmt/format.h>

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

// A process tells of its page faults in its report alone.
std::string faults_text(const totals& sums)
{
    return fmt::format(
        "{} page faults{}, {} of them from disk",
        grouped(plus(sums.minor_faults, sums.major_faults)),
        sums.no_report == 0 ? "" : " of those with a report",
        grouped(sums.major_faults)
    );
}

std::string resources_text(const totals& sums)
{
    return fmt::format(
        "{}, {}, {}{}{}.",
        number_of(sums.runs, "run", "runs"),
        number_of(sums.processes, "process", "processes"),
        seconds_text(sums.duration_s),
        sums.peak_resident_bytes == 0 ? "" : "; " + resident_text(sums),
        sums.processes <= sums.no_report ? "" : "; " + faults_text(sums)
    );
}

void add_omissions(std::vector<std::string>& to, const totals& sums)
{
    const auto add = [&](const char* text, std::uint64_t count) {
        if (count > 0) {
            to.push_back(fmt::format(fmt::runtime(text), number_of(count, "process", "processes")));
        }
    };
    add("The figures omit {} without a readable report.", sums.unreadable);
    add("The figures omit {} without a report.", sums.silent);
    add("{} left no report: the numbers are those of the last moment, and blocks in use may be "
        "fewer.",
        sums.no_report);
    add("The figures omit the pools of {} that did not end by exit().", sums.silent_linked);
}

// Only for a single run: each run has a highest moment of its own.
void add_highest_moment(std::vector<std::string>& to, const std::vector<run_record>& runs)
{
    const timeline_record& all = runs.front().timeline;
    if (runs.size() != 1 || all.at_s.empty()) {
        return;
    }
    const auto most = std::max_element(all.bytes_in_use.begin(), all.bytes_in_use.end());
    const auto at   = static_cast<std::size_t>(most - all.bytes_in_use.begin());
    if (*most == 0) {  // the program ended before the first look, or has never requested any
        return;
    }
    to.push_back(fmt::format(
        "Highest at {}: {} in use, {} held, {} resident, in {}.",
        seconds_text(all.at_s[at]),
        bytes_text(*most),
        bytes_text(all.bytes_held[at]),
        bytes_text(all.bytes_resident[at]),
        number_of(all.processes[at], "process", "processes")
    ));
}

std::vector<std::string> lines_of(const totals& sums, const std::vector<run_record>& runs)
{
    std::vector<std::string> out = {resources_text(sums)};
    add_highest_moment(out, runs);
    if (!sums.others.empty() && !has_own_pools_alone(sums)) {
        out.push_back(
            own_pools_text(sums) + (sums.has_beside ? ", by the library that it links." : ".")
        );
    }
    for (const counted& each : sums.misuse) {
        out.push_back(
            fmt::format("MISUSE: {}, {}.", shown(each.what), number_of(each.count, "time", "times"))
        );
    }
    add_omissions(out, sums);
    return out;
}

std::string name_of(const std::vector<run_record>& runs)
{
    return runs.front().command.empty() ? "" : runs.front().command.front();
}

}  // namespace

answer answer_of(
    const totals& sums, const std::vector<run_record>& runs, const std::vector<std::string>& files
)
{
    const std::string name = name_of(runs);
    if (sums.processes == 0 && plus(sums.silent, sums.silent_linked) > 0) {
        return {"No numbers: no process that was on pools left a report.", {}, ""};
    }
    if (sums.processes == 0) {
        return {
            "Nothing ran on pools: no process wrote a report.",
            {},
            name.empty() ? "" : "Next: eggbox doctor " + shell_quoted(name)
        };
    }
    return {
        fmt::format("{}: {}.", name.empty() ? "a program" : shown(name), served_text(sums)),
        lines_of(sums, runs),
        sums.classes.empty() && sums.others.empty()
            ? "There is nothing to size: no pool served a request."
            : "Next: eggbox size " + shell_quoted(files)
    };
}

std::string resident_text(const totals& sums)
{
    return (sums.no_report == 0 ? "peak resident " : "peak resident at least ") +
           bytes_text(sums.peak_resident_bytes);
}

std::string program_text(const process_record& of)
{
    return of.processes == 1
               ? shown(shortened(
                     arguments_text(of.arguments.empty() ? std::vector{of.program} : of.arguments),
                     100
                 ))
               : fmt::format("{} processes of {}", grouped(of.processes), shown(of.program));
}

}  // namespace tool

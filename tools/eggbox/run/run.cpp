// SPDX-License-Identifier: MIT
#include "run/run.hpp"

#include "preload/judge.hpp"
#include "preload/library.hpp"
#include "process/process.hpp"
#include "process/temporary.hpp"
#include "records/write.hpp"
#include "run/harvest.hpp"
#include "run/symbols.hpp"
#include "sums/findings.hpp"
#include "sums/totals.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

// Opens the report before the program runs, so that a path that cannot be written fails at once
// and not after an hour of work.
class report_file
{
  public:
    explicit report_file(const std::string& wanted)
    {
        path_ = wanted.empty() ? temporary_name() + ".json" : wanted;
        file_ = wanted.empty() ? mkostemps(path_.data(), 5, O_CLOEXEC)
                               : open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (file_ < 0) {
            throw failure(
                fmt::format("{}: cannot be written: {}", shown(path_), std::strerror(errno))
            );
        }
    }

    ~report_file()
    {
        close(file_);
    }

    report_file(const report_file&)            = delete;
    report_file& operator=(const report_file&) = delete;

    void write(const std::string& text) const
    {
        int error =
            ftruncate(file_, 0) != 0 && errno != EINVAL ? errno : 0;  // a pipe cannot be cut
        for (std::size_t at = 0; at < text.size() && error == 0;) {
            const ssize_t written = ::write(file_, text.data() + at, text.size() - at);
            at += written > 0 ? static_cast<std::size_t>(written) : 0;
            error = written < 0 && errno != EINTR ? errno : 0;
        }
        if (error != 0) {
            throw failure(
                fmt::format("{}: cannot be written: {}", shown(path_), std::strerror(error))
            );
        }
    }

    const std::string& path() const
    {
        return path_;
    }

  private:
    std::string path_;
    int         file_ = -1;
};

bool took_effect(const run_record& run, const process_end& end)
{
    return !run.processes.empty() &&
           run.processes.front().pid == static_cast<std::uint64_t>(end.pid) &&
           !run.processes.front().library.empty();
}

std::string why_not(const verdict& judged, const process_end& end)
{
    if (const finding* const blocker = judged.blocker()) {
        return blocker->text;
    }
    if (end.signal() != 0) {
        return fmt::format("{} ended process {}, which wrote no report", end.text(), end.pid);
    }
    return "no obstacle is known, but the process wrote no report: it ended without its exit "
           "handlers, or it called exec and the new program cannot be served";
}

void say_served(const totals& sums, const run_record& run, const std::string& library)
{
    const process_record& first = run.processes.front();
    say(fmt::format(
        "{} of {} served from pools, in {}; peak resident {}",
        grouped(sums.from_classes()),
        number_of(sums.requests(), "request", "requests"),
        number_of(sums.processes, "process", "processes"),
        bytes_text(sums.peak_resident_bytes)
    ));
    say(fmt::format(
        "took effect: {} {} in {}, process {}",
        shown(library),
        shown(first.library),
        shown(first.program),
        first.pid
    ));
    if (sums.large.allocations > 0) {
        say(fmt::format(
            "{} served by the system",
            number_of(sums.large.allocations, "large request", "large requests")
        ));
    }
    for (const counted& each : sums.not_served) {
        say(fmt::format(
            "{} not served: {}", number_of(each.count, "request", "requests"), shown(each.what)
        ));
    }
    for (const counted& each : sums.misuse) {
        say(fmt::format("MISUSE: {}, {}", shown(each.what), number_of(each.count, "time", "times"))
        );
    }
}

void say_not_served(const verdict& judged, std::uint64_t children, const process_end& end)
{
    const bool is_known = judged.blocker() != nullptr || end.signal() == 0;
    say(fmt::format(
        "{}: {}: {}",
        is_known ? "NOT on pools" : "unknown",
        shown(judged.asked),
        why_not(judged, end)
    ));
    if (children > 0) {
        say(fmt::format("{} ran on pools", number_of(children, "child process", "child processes"))
        );
    }
}

void say_found(const findings& found, const std::string& report)
{
    for (const std::string& line : event_lines(found, shown(report))) {
        say(line);
    }
    for (const std::string& line : leak_lines(found, shown(report))) {
        say(line);
    }
}

// After misuse the next command is a run at level "track", which knows more about each block.
std::string next_command(
    const run_options& wanted, const run_record& run, const totals& sums, const std::string& report
)
{
    if (run.processes.empty()) {
        return "doctor " + shell_quoted(wanted.command.front());
    }
    const bool is_tracked =
        std::any_of(run.processes.begin(), run.processes.end(), [](const process_record& each) {
            return each.level == "track" || each.level == "mixed";
        });
    return sums.misuse.empty() || is_tracked
               ? "report " + shell_quoted(report)
               : "run --check track -- " + shell_quoted(wanted.command);
}

void say_json(
    const totals&      sums,
    const findings&    found,
    const verdict&     judged,
    const run_record&  run,
    const process_end& end,
    const std::string& report
)
{
    const bool served = took_effect(run, end);
    json       line   = {
        {"schema", schema},
        {"kind", "eggbox-run"},
        {"took_effect", served},
        {"reason", served ? "" : why_not(judged, end)},
        {"exit_status", end.exit_status()},
        {"processes", sums.processes},
        {"requests", sums.requests()},
        {"from_pools", sums.from_classes()},
        {"peak_resident_bytes", sums.peak_resident_bytes},
        {"misuse", sum_of(sums.misuse)},
        {"report", report},
    };
    if (found.all.is_known) {
        line["leaked"] = leaked_json(found.all);
    }
    std::fputs(json_line(line).c_str(), stderr);
}

}  // namespace

int run_command(const run_options& wanted)
{
    const std::string library = find_malloc_library();
    const std::string preload = preload_value(library);
    const verdict     judged  = judge(wanted.command.front(), library);
    if (!judged.can_run()) {
        throw failure(fmt::format("{}: {}", shown(judged.asked), judged.blocker()->text));
    }
    const report_file      report{wanted.report};
    const temporary_folder folder;
    environment            changes = {{"LD_PRELOAD", preload}, {"EGGBOX_REPORT", folder.path()}};
    if (!wanted.check.empty()) {
        changes.emplace_back("EGGBOX_CHECK", wanted.check);
    }
    if (!wanted.guard_pages.empty()) {
        changes.emplace_back("EGGBOX_GUARD_PAGES", wanted.guard_pages);
    }
    harvest           processes{folder.path()};
    const process_end end = run_through(wanted.command, changes, [&] { return processes.look(); });

    run_record run;
    run.command     = wanted.command;
    run.exit_status = end.exit_status();
    run.wall_s      = end.wall_s;
    processes.finish(run, static_cast<std::uint64_t>(end.pid));
    find_sources(run);
    report.write(report_text(run));

    const totals   sums  = sum_up({run});
    const findings found = find_all({run});
    if (wanted.json) {
        say_json(sums, found, judged, run, end, report.path());
    } else {
        took_effect(run, end) ? say_served(sums, run, library)
                              : say_not_served(judged, sums.processes, end);
        say_found(found, report.path());
        say("next: eggbox " + next_command(wanted, run, sums, report.path()));
    }
    std::error_code ignored;
    fs::remove_all(folder.path(), ignored);  // end_like() calls no destructor
    end_like(end);
}

}  // namespace tool

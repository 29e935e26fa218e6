// SPDX-License-Identifier: MIT
#include "run/run.hpp"

#include "live/live.hpp"
#include "preload/judge.hpp"
#include "preload/library.hpp"
#include "process/process.hpp"
#include "process/report_file.hpp"
#include "process/temporary.hpp"
#include "records/write.hpp"
#include "run/harvest.hpp"
#include "run/sampler.hpp"
#include "run/symbols.hpp"
#include "sums/answer.hpp"
#include "sums/findings.hpp"
#include "sums/suppress.hpp"
#include "sums/totals.hpp"
#include "sums/wrappers.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

struct outcome {
    verdict     judged;
    process_end end;
    run_record  run;
    std::string trouble;  // why no file of a process could be read; empty: nothing is known
    std::string report;   // the file; empty: it could not be written

    std::uint64_t refused = 0;  // processes that found no place in the live file

    std::uint64_t first() const
    {
        return static_cast<std::uint64_t>(end.pid);
    }

    // The first process, if its numbers are known. The library is in a program with a malloc of its
    // own, too, and no request comes to it.
    bool has_numbers() const
    {
        return !run.processes.empty() && run.processes.front().pid == first() &&
               !run.processes.front().library.empty() && !run.processes.front().is_linked &&
               (judged.can_be_served() || run.processes.front().requests() != 0);
    }

    // That the first process left no report, though the library was in it; null: not so.
    const silent_record* silence() const
    {
        const auto found =
            std::find_if(run.silent.begin(), run.silent.end(), [&](const silent_record& each) {
                return each.pid == first() && !each.is_linked;
            });
        return has_numbers() || found == run.silent.end() ? nullptr : &*found;
    }

    // The mark of a program with a malloc of its own proves nothing.
    bool was_on_pools() const
    {
        return judged.can_be_served() && silence() != nullptr;
    }

    bool took_effect() const
    {
        return has_numbers() || was_on_pools();
    }
};

std::string why_no_numbers(const outcome& of)
{
    if (of.was_on_pools()) {
        return of.silence()->reason;
    }
    if (const finding* const blocker = of.judged.blocker()) {
        return blocker->text;
    }
    if (!of.trouble.empty()) {
        return "the folder of the reports cannot be read: " + of.trouble;
    }
    if (of.run.unreadable > 0) {
        return "a report cannot be read";
    }
    return fmt::format(
        "no obstacle is known, but the library did not begin in process {}, which ended with {}",
        of.end.pid,
        of.end.text()
    );
}

// The program's own pools are those of a library that it links, wherever malloc is served.
void say_own_pools(const totals& sums)
{
    if (!sums.others.empty()) {
        say(fmt::format(
            "{} to {} of the library that the program links",
            number_of(sums.from_others(), "request", "requests"),
            number_of(sums.others.size(), "pool", "pools")
        ));
    }
}

// That the summary is not whole, before all else that it says.
void say_what_is_missing(const outcome& of, const totals& sums)
{
    if (sums.silent > 0) {
        say(fmt::format(
            "NOT whole: {} no numbers",
            sums.silent == 1 ? "1 process has" : grouped(sums.silent) + " processes have"
        ));
    }
    if (of.refused > 0) {  // the child of a fork is one, and the program that it becomes another
        say(fmt::format(
            "NOT whole: {} could not be recorded before the end, because {} others were: a report "
            "at exit is all that is known there",
            of.refused == 1 ? "1 process" : "up to " + grouped(of.refused) + " processes",
            grouped(EGB_LIVE_SLOTS_MAX)
        ));
    }
}

// The most bytes of blocks that it had in use, if all its peaks came at once.
std::uint64_t peak_bytes_of(const process_record& process)
{
    std::uint64_t out = process.large.peak_bytes;
    for (const pool_record& each : process.pools) {
        out = plus(out, times(each.peak, each.block_bytes));
    }
    return out;
}

std::string in_use_text(const process_record& process)
{
    std::uint64_t most = process.large.in_use;
    std::uint64_t over = 0;
    for (const pool_record& each : process.pools) {
        most = plus(most, each.in_use);
        over = plus(over, each.in_use_over);
    }
    return over == 0 ? number_of(most, "block", "blocks")
                     : fmt::format("{} to {} blocks", grouped(minus(most, over)), grouped(most));
}

// For a process with numbers in the live file alone.
std::string no_report_text(const process_record& process)
{
    const totals sums = sum_up({run_record{{}, 0, 0, 0, {process}}});
    return fmt::format(
        "{} of {} left no report: {}; until then {}, peak {}, {} in use at the end",
        process.processes == 1 ? fmt::format("process {}", process.pid)
                               : grouped(process.processes) + " processes",
        shown(process.program),
        shown(process.no_report),
        number_of(sums.requests(), "request", "requests"),
        bytes_text(peak_bytes_of(process)),
        in_use_text(process)
    );
}

// A script may have many.
void say_without_report(const outcome& of)
{
    constexpr std::size_t lines_max = 5;
    std::size_t           lines     = 0;
    std::uint64_t         more      = 0;
    for (const process_record& each : of.run.processes) {
        if (each.no_report.empty()) {
            continue;
        }
        if (lines++ < lines_max) {
            say(no_report_text(each));
        } else {
            more = plus(more, each.processes);
        }
    }
    if (more > 0) {
        say(fmt::format(
            "{} left no report; {} counted until {} end",
            number_of(more, "further process", "further processes"),
            more == 1 ? "it is" : "they are",
            more == 1 ? "its" : "their"
        ));
    }
}

void say_served(const totals& sums, const outcome& of, const std::string& library)
{
    const process_record& first = of.run.processes.front();
    say(fmt::format(
        "{} of {} served from pools, in {}{}{}",
        grouped(sums.from_classes()),
        number_of(sums.requests(), "request", "requests"),
        sums.silent == 0 ? "" : grouped(sums.processes) + " of ",
        number_of(plus(sums.processes, sums.silent), "process", "processes"),
        sums.peak_resident_bytes == 0 ? "" : "; " + resident_text(sums)
    ));
    say(fmt::format(
        "took effect: {} {} in {}process {}",
        shown(library),
        shown(first.library),
        first.program.empty() ? "" : shown(first.program) + ", ",  // known from /proc alone
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
    say_own_pools(sums);
    for (const counted& each : sums.misuse) {
        say(fmt::format("MISUSE: {}, {}", shown(each.what), number_of(each.count, "time", "times"))
        );
    }
}

// The processes beside the first one that left a report.
std::uint64_t other_processes(const outcome& of, const totals& sums)
{
    const std::vector<process_record>& all = of.run.processes;
    return sums.processes - (!all.empty() && all.front().pid == of.first() ? 1 : 0);
}

void say_no_numbers(const outcome& of, const totals& sums)
{
    if (of.was_on_pools()) {
        say(fmt::format(
            "no numbers: {} was on pools, process {}, but left no report: {}",
            shown(of.judged.asked),
            of.end.pid,
            why_no_numbers(of)
        ));
    } else {
        const bool is_known =
            of.judged.blocker() != nullptr || (of.trouble.empty() && of.run.unreadable == 0);
        say(fmt::format(
            "{}: {}: {}",
            is_known ? "NOT on pools" : "unknown",
            shown(of.judged.asked),
            why_no_numbers(of)
        ));
    }
    say_own_pools(sums);
    if (const std::uint64_t others = other_processes(of, sums); others > 0) {
        say(fmt::format("{} left a report", number_of(others, "child process", "child processes")));
    }
}

// Those beside the first one. A script may have many.
void say_silent(const outcome& of)
{
    constexpr std::size_t lines_max = 5;
    std::size_t           lines     = 0;
    std::uint64_t         more      = 0;
    for (const silent_record& each : of.run.silent) {
        if (&each == of.silence()) {
            continue;
        }
        if (lines++ < lines_max) {
            say(fmt::format(
                "no numbers of {}{} of {}, {}without a report: {}",
                each.is_linked ? "the library that the program links in " : "",
                each.processes == 1 ? fmt::format("process {}", each.pid)
                                    : grouped(each.processes) + " processes",
                shown(each.program),
                each.is_linked ? "" : "on pools but ",
                shown(each.reason)
            ));
        } else {
            more = plus(more, each.processes);
        }
    }
    if (more > 0) {
        say(fmt::format(
            "no numbers of {}, for other reasons or of other programs",
            number_of(more, "further process", "further processes")
        ));
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

bool is_tracked(const process_record& of)
{
    return of.level == "track" || of.level == "mixed";
}

// Whether it looked for writes beside its blocks.
bool is_guarded(const process_record& of)
{
    return of.level == "guard" || is_tracked(of);
}

// After misuse the next command is a run at level "track", which knows more about each block. After
// a crash it is a run that finds misuse where it happens. Empty: there is nothing better to do.
std::string next_command(const run_options& wanted, const outcome& of, const totals& sums)
{
    const std::vector<process_record>& all     = of.run.processes;
    const std::string                  command = " -- " + shell_quoted(wanted.command);
    const bool has_nothing                     = sums.requests() == 0 && sums.from_others() == 0;
    if (!of.took_effect() && has_nothing && of.trouble.empty() && of.run.unreadable == 0) {
        return "doctor " + shell_quoted(wanted.command.front());
    }
    const int  signal    = of.end.signal();
    const bool is_crash  = signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT;
    const bool was_plain = wanted.check.empty() && std::none_of(all.begin(), all.end(), is_guarded);
    if (is_crash && was_plain && sums.misuse.empty()) {
        return "run --check guard" + command;
    }
    if (!sums.misuse.empty() && !std::any_of(all.begin(), all.end(), is_tracked)) {
        return "run --check track" + command;
    }
    return all.empty() || of.report.empty() ? "" : "report " + shell_quoted(of.report);
}

void say_json(const outcome& of, const totals& sums, const findings& found)
{
    json line = {
        {"schema", schema},
        {"kind", "eggbox-run"},
        {"took_effect", of.took_effect()},
        {"reason", of.has_numbers() ? "" : why_no_numbers(of)},
        {"exit_status", of.end.exit_status()},
        {"processes", sums.processes},
        {"silent_processes", sums.silent},
        {"processes_without_report", sums.no_report},
        {"requests", sums.requests()},
        {"from_pools", sums.from_classes()},
        {"to_own_pools", sums.from_others()},
        {"peak_resident_bytes", sums.peak_resident_bytes},
        {"misuse", sum_of(sums.misuse)},
        {"report", of.report},
    };
    if (found.all.is_known) {
        line["leaked"] = leaked_json(found.all);
    }
    if (found.reachable.is_known) {
        line["indirect"]  = leaked_json(found.indirect);
        line["reachable"] = leaked_json(found.reachable);
    }
    std::fputs(json_line(line).c_str(), stderr);
}

void say_text(
    const run_options& wanted,
    const outcome&     of,
    const totals&      sums,
    const findings&    found,
    const std::string& library
)
{
    say_what_is_missing(of, sums);
    of.has_numbers() ? say_served(sums, of, library) : say_no_numbers(of, sums);
    say_without_report(of);
    say_silent(of);
    say_found(found, of.report);
    const std::string next = next_command(wanted, of, sums);
    if (!next.empty()) {
        say("next: eggbox " + next);
    }
}

// A period of samples alone asks for samples. An empty variable is none for the library, too.
std::string level_for(const run_options& wanted)
{
    const bool        has_period_alone = wanted.check.empty() && !wanted.sample.empty();
    const char* const level            = std::getenv("EGGBOX_CHECK");
    const bool        has_none         = level == nullptr || level[0] == '\0';
    return has_period_alone && has_none ? "sample" : wanted.check;
}

environment changes_for(
    const run_options& wanted,
    const std::string& preload,
    const std::string& folder,
    const live_file&   live
)
{
    environment out = {
        {"LD_PRELOAD", preload}, {"EGGBOX_REPORT", folder}, {"EGGBOX_LIVE", live.variable()}
    };
    const std::string level = level_for(wanted);
    if (!level.empty()) {
        out.emplace_back("EGGBOX_CHECK", level);
    }
    if (!wanted.sample.empty()) {
        out.emplace_back("EGGBOX_SAMPLE", wanted.sample);
    }
    if (!wanted.guard_pages.empty()) {
        out.emplace_back("EGGBOX_GUARD_PAGES", wanted.guard_pages);
    }
    return out;
}

// The report has all leaks; the summary says nothing of some.
findings findings_of(const run_record& run, const std::vector<std::string>& quiet)
{
    std::vector<run_record> runs = {run};
    suppress_leaks(runs, quiet);
    fold_wrappers(runs, wrappers_in(runs));
    return find_all(runs);
}

// The work of `eggbox run` while the program runs, each part at its own time.
class watch
{
  public:
    watch(harvest& processes, const live_file& live) : processes_(&processes), samples_(live) {}

    moment look()
    {
        const moment now        = std::chrono::steady_clock::now();
        const moment sample_due = samples_.look(now);
        if (now >= harvest_due_) {
            const bool has_more = processes_->look();
            harvest_due_        = has_more ? now : now + between_looks;
        } else if (now >= note_due_) {
            processes_->note();
            note_wait_ = 2 * note_wait_;
            note_due_  = now + note_wait_;
        }
        return std::min({sample_due, harvest_due_, note_due_});
    }

    timeline_record timeline() const
    {
        return samples_.timeline();
    }

  private:
    static constexpr std::chrono::milliseconds between_looks{500};

    harvest* processes_;
    sampler  samples_;
    moment   harvest_due_ = std::chrono::steady_clock::now() + between_looks;

    // The program may be killed before the first look, which takes what ended processes have left.
    std::chrono::milliseconds note_wait_{20};
    moment                    note_due_ = std::chrono::steady_clock::now() + note_wait_;
};

}  // namespace

int run_command(const run_options& wanted)
{
    const std::string library = find_malloc_library();
    const std::string preload = preload_value(library);
    outcome           of      = {};
    of.judged                 = judge(wanted.command.front(), library);
    if (!of.judged.can_run()) {
        throw failure(fmt::format("{}: {}", shown(of.judged.asked), of.judged.blocker()->text));
    }
    const std::vector<std::string> quiet =
        wanted.suppress.empty() ? std::vector<std::string>{} : read_suppressions(wanted.suppress);
    report_file      report{wanted.report};
    temporary_folder folder;
    live_file        live;
    if (!live.is_there()) {
        say(fmt::format(
            "processes that leave no report will have no numbers: there is no memory for them "
            "that outlives a process: {}",
            live.trouble()
        ));
    }
    harvest processes{folder.path(), 1000, 200000, &live};
    watch   watching{processes, live};
    try {
        of.end =
            run_through(wanted.command, changes_for(wanted, preload, folder.path(), live), [&] {
                return watching.look();
            });
    } catch (const not_executed& error) {
        const finding* const blocker = of.judged.blocker();
        throw failure(error.what() + (blocker == nullptr ? "" : ": " + blocker->text));
    }

    of.run.command     = wanted.command;
    of.run.exit_status = of.end.exit_status();
    of.run.wall_s      = of.end.wall_s;
    of.run.timeline    = watching.timeline();
    processes.finish(of.run, of.first(), how_it_ended(of.end));
    of.trouble = processes.trouble();
    of.refused = live.refused();
    find_sources(of.run);
    const std::string error = report.write(report_text(of.run));
    if (error.empty()) {
        of.report = report.path();
    } else {
        say(fmt::format("{}: cannot be written: {}", shown(report.path()), error));
    }

    const totals   sums  = sum_up({of.run});
    const findings found = findings_of(of.run, quiet);
    wanted.json ? say_json(of, sums, found) : say_text(wanted, of, sums, found, library);
    folder.remove();  // end_like() calls no destructor
    end_like(of.end);
}

}  // namespace tool

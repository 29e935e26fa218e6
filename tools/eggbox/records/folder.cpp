// SPDX-License-Identifier: MIT
#include "records/marks.hpp"
#include "records/records.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

// <pid>-<start time>, as report.h says it. Other files in the folder are not ours.
bool is_name_of_process(const fs::path& path)
{
    const std::string stem = path.stem();
    const std::size_t dash = stem.find_first_not_of("0123456789");
    return dash != 0 && dash < stem.size() - 1 && stem[dash] == '-' &&
           stem.find_first_not_of("0123456789", dash + 1) == std::string::npos;
}

bool is_mark(const fs::path& path)
{
    const std::string ending = path.extension();
    return ending == begun_ending || ending == linked_ending || ending == failed_ending;
}

// The files of the processes that left a report or a mark, by number.
std::map<std::uint64_t, std::vector<std::string>> files_in(const std::string& folder)
{
    std::map<std::uint64_t, std::vector<std::string>> out;
    std::error_code                                   error, gone;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const fs::path& path = at->path();
        if (is_name_of_process(path) &&
            (is_mark(path) ? at->is_symlink(gone)
                           : path.extension() == report_ending && at->is_regular_file(gone))) {
            out[pid_of_name(path)].push_back(path);
        }
    }
    if (error) {
        throw failure(fmt::format("{}: cannot be read: {}", shown(folder), error.message()));
    }
    return out;
}

[[noreturn]] void say_there_is_none(const std::string& folder)
{
    throw failure(fmt::format(
        "{}: no process has left a report there: start the program with EGGBOX_REPORT={}, or "
        "let it call egb_report_write()",
        shown(folder),
        shell_quoted(folder)
    ));
}

// A process that ended since the folder was listed has its report in place of the mark.
bool is_still_there(const silent_mark& mark)
{
    std::error_code error;
    return fs::is_symlink(fs::symlink_status(mark.path, error));
}

// Those of one number: a process may have left marks of several programs, and the numbers are used
// again. Only the program that began last may still run.
void judge(silent_groups& to, std::vector<silent_mark> those)
{
    const auto last = std::max_element(those.begin(), those.end(), [](auto& a, auto& b) {
        return start_of_mark(a.path) < start_of_mark(b.path);
    });
    if (last != those.end() && is_running(*last)) {
        last->record.reason = "still running";
    }
    for (const silent_mark& each : those) {
        if (is_still_there(each)) {
            to.add(each.record);
        }
    }
}

// Puts them into the last run, or into one of their own if no process left a report.
void put_into(std::vector<run_record>& runs, std::vector<silent_record> silent)
{
    if (runs.empty() && !silent.empty()) {
        runs.push_back({});
        runs.front().command = {silent.front().program};
    }
    if (!runs.empty()) {
        runs.back().silent = std::move(silent);
    }
}

bool began_earlier(const run_record& a, const run_record& b)
{
    const process_record& one   = a.processes.front();
    const process_record& other = b.processes.front();
    return std::pair{one.started_ns, one.pid} < std::pair{other.started_ns, other.pid};
}

}  // namespace

std::vector<run_record> read_runs(const std::string& path)
{
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        return {read_report(path)};
    }
    std::vector<run_record> out;
    silent_groups           silent;
    for (const auto& [pid, files] : files_in(path)) {
        const process_files         its = sort_files(files, silence_reason(unseen_end, true));
        std::vector<process_record> records;
        for (const std::string& file : its.reports) {
            records.push_back(read_process(file));
        }
        for (std::vector<process_record>& each : whole_processes(std::move(records))) {
            out.push_back(run_of(std::move(each)));
        }
        judge(silent, its.silent);
    }
    std::sort(out.begin(), out.end(), began_earlier);
    put_into(out, silent.all());
    if (out.empty()) {
        say_there_is_none(path);
    }
    return out;
}

}  // namespace tool

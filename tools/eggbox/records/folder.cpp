// SPDX-License-Identifier: MIT
#include "records/records.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

// <pid>-<start time>.json, as report.h says it. Other files in the folder are not ours.
bool is_report_name(const fs::path& path)
{
    const std::string stem = path.stem();
    const std::size_t dash = stem.find_first_not_of("0123456789");
    return path.extension() == ".json" && dash != 0 && dash < stem.size() - 1 &&
           stem[dash] == '-' && stem.find_first_not_of("0123456789", dash + 1) == std::string::npos;
}

std::vector<std::string> reports_in(const std::string& folder)
{
    std::vector<std::string> out;
    std::error_code          error, gone;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (is_report_name(at->path()) && at->is_regular_file(gone)) {
            out.push_back(at->path());
        }
    }
    if (error) {
        throw failure(fmt::format("{}: cannot be read: {}", shown(folder), error.message()));
    }
    if (out.empty()) {
        throw failure(fmt::format(
            "{}: no process has written a report there; see egb_report_write() in report.h",
            shown(folder)
        ));
    }
    return out;
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
    std::map<std::uint64_t, std::vector<process_record>> by_pid;
    for (const std::string& file : reports_in(path)) {
        process_record process = read_process(file);
        by_pid[process.pid].push_back(std::move(process));
    }
    std::vector<run_record> out;
    for (auto& [pid, files] : by_pid) {
        for (std::vector<process_record>& each : whole_processes(std::move(files))) {
            out.push_back(run_of(std::move(each)));
        }
    }
    std::sort(out.begin(), out.end(), began_earlier);
    return out;
}

}  // namespace tool

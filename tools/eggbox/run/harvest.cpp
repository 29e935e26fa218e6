// SPDX-License-Identifier: MIT
#include "run/harvest.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t files_at_once = 100;  // about 20 ms, and signals wait for that time

// True if the process, or a new one with the same number, is running. A running process may write
// its file once more.
bool is_there(std::uint64_t pid)
{
    return kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

// The system reuses process numbers, so the start time must agree as well.
bool is_same_process(const process_record& a, const process_record& b)
{
    return a.pid == b.pid && a.process_started == b.process_started && a.process_started != 0;
}

bool began_earlier(const process_record& a, const process_record& b)
{
    return a.started_ns < b.started_ns;
}

bool has_lower_pid(const process_record& a, const process_record& b)
{
    return a.pid < b.pid;
}

}  // namespace

harvest::harvest(std::string folder, std::size_t apart_max)
    : folder_(std::move(folder)), apart_max_(apart_max)
{
}

// A file has a name without ".json" until it is complete.
harvest::file_names harvest::list() const
{
    file_names      out;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
        if (entry.path().extension() == ".json") {
            const std::string name = entry.path().filename().string();
            out[std::strtoull(name.c_str(), nullptr, 10)].push_back(entry.path().string());
        }
    }
    return out;
}

void harvest::add(process_record process)
{
    if (apart_.size() < apart_max_) {
        apart_.push_back(std::move(process));
        return;
    }
    const auto [group, is_new] = together_.try_emplace(process.program, process);
    if (!is_new) {
        join(group->second, process);
    }
}

// Reads all files of one process number. A process killed while writing leaves an incomplete file;
// its other files still count.
void harvest::take(const std::vector<std::string>& files)
{
    std::vector<process_record> programs;
    for (const std::string& file : files) {
        try {
            programs.push_back(read_process(file));
        } catch (const failure& error) {
            complaints_.emplace_back(error.what());
        }
        std::error_code ignored;
        fs::remove(file, ignored);
    }
    std::sort(programs.begin(), programs.end(), began_earlier);
    for (std::size_t i = 0; i < programs.size();) {
        process_record process = programs[i++];
        while (i < programs.size() && is_same_process(process, programs[i])) {
            become(process, programs[i++]);
        }
        add(std::move(process));
    }
}

// A file is complete if the process had ended before the folder was listed. Therefore one look()
// notes the ended processes, and the next one reads their files.
bool harvest::look()
{
    std::set<std::uint64_t> ended;
    std::size_t             taken = 0;
    for (const auto& [pid, files] : list()) {
        if (ended_.count(pid) != 0 && taken < files_at_once) {
            take(files);
            taken += files.size();
        } else if (!is_there(pid)) {
            ended.insert(pid);
        }
    }
    ended_ = std::move(ended);
    return !ended_.empty();
}

void harvest::finish(run_record& run, std::uint64_t first)
{
    file_names left = list();
    // The first process gets a record of its own even if it wrote last.
    const auto found = left.find(first);
    if (found != left.end()) {
        apart_max_++;
        take(found->second);
        left.erase(found);
    }
    for (const auto& [pid, files] : left) {
        take(files);
    }
    for (const std::string& each : complaints_) {
        say(each);
    }
    run.unreadable = complaints_.size();
    run.processes  = std::move(apart_);
    std::sort(run.processes.begin(), run.processes.end(), has_lower_pid);
    std::stable_partition(
        run.processes.begin(),
        run.processes.end(),
        [&](const process_record& each) { return each.pid == first; }
    );
    for (auto& [program, group] : together_) {
        run.processes.push_back(std::move(group));
    }
}

}  // namespace tool

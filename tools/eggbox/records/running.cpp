// SPDX-License-Identifier: MIT
// Whether the process that left a mark still runs.
#include "records/marks.hpp"
#include "text/listing.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include <unistd.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

double seconds_of(clockid_t clock)
{
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The system counts from its start, and while it sleeps; marks have the clock that stands then.
double seconds_of_ticks(std::uint64_t ticks)
{
    return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)) -
           (seconds_of(CLOCK_BOOTTIME) - seconds_of(CLOCK_MONOTONIC));
}

// The process goes on as long as it has a thread, also without its first one.
bool has_threads(std::uint64_t pid, const std::string& state)
{
    std::error_code error;
    return (state != "Z" && state != "X") ||
           entries_of(fmt::format("/proc/{}/task", pid), error).size() > 1;
}

// Whether a process with this number runs that did not begin later.
bool is_number_of(std::uint64_t pid, double began)
{
    constexpr int     fields_between = 18;  // after the state, before the start
    constexpr double  rounding       = 0.1;
    std::ifstream     file{fmt::format("/proc/{}/stat", pid)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t name_end = text.rfind(") ");  // the name in front of it may hold anything
    if (name_end == std::string::npos) {
        return false;
    }
    std::istringstream fields{text.substr(name_end + 2)};
    std::string        state, field;
    fields >> state;
    for (int i = 0; i < fields_between; i++) {
        fields >> field;
    }
    std::uint64_t ticks = 0;
    fields >> ticks;
    return has_threads(pid, state) && seconds_of_ticks(ticks) <= began + rounding;
}

}  // namespace

std::uint64_t start_of_mark(const std::string& path)
{
    const std::string stem = fs::path{path}.stem();
    return std::strtoull(stem.c_str() + stem.find('-') + 1, nullptr, 10);
}

bool is_running(const silent_mark& mark)
{
    if (!is_number_of(mark.record.pid, static_cast<double>(start_of_mark(mark.path)) / 1e9)) {
        return false;
    }
    std::error_code   error;
    const std::string now =
        fs::read_symlink(fmt::format("/proc/{}/exe", mark.record.pid), error).string();
    return error || now == mark.record.program || now == mark.record.program + " (deleted)";
}

}  // namespace tool

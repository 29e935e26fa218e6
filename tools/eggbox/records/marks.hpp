// SPDX-License-Identifier: MIT
// Room records: the marks that processes leave beside their reports in a folder, as
// docs/report-format.md describes them. A name has the number of the process in front, and an
// ending.
#pragma once

#include "records/records.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tool
{

constexpr const char* report_ending = ".json";
constexpr const char* begun_ending  = ".begun";   // a link to the program
constexpr const char* linked_ending = ".linked";  // the same, by a library that a program links
constexpr const char* failed_ending = ".failed";  // a link to the number of an error

/// The number that the name of such a file begins with.
std::uint64_t pid_of_name(const std::string& path);

/// Processes without a report: one record for each program and reason.
class silent_groups
{
  public:
    /// Adds the number of processes to the record of the same program and reason.
    void add(const silent_record& more);

    /// By program and reason.
    std::vector<silent_record> all() const;

  private:
    std::map<std::tuple<std::string, std::string, bool>, silent_record> groups_;
};

/// A program that left a mark and no report.
struct silent_mark {
    std::string   path;
    silent_record record;
};

/// The files of one process number: all reports, and the programs that left none. `reason`: for a
/// program that does not say itself why its report is missing.
struct process_files {
    std::vector<std::string> reports;
    std::vector<silent_mark> silent;
};

process_files sort_files(const std::vector<std::string>& files, const std::string& reason);

/// When the program of a mark began, in nanoseconds of the clock that is never set back.
std::uint64_t start_of_mark(const std::string& path);

/// Whether the program of a mark is likely to run still: a process with its number runs this
/// program, or one that cannot be read, and did not begin later than the mark was made.
bool is_running(const silent_mark& mark);

/// The reason why there is no report, by the number of the system's error; 0: a lock was held.
std::string failure_reason(int error);

/// How a process ended that nobody saw end.
constexpr const char* unseen_end = "a signal or a system call of its own ended it";

/// Why a process has no report, by its end. `may_lack_rights`: the end does not explain it alone.
std::string silence_reason(const std::string& end, bool may_lack_rights);

}  // namespace tool

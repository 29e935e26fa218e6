// SPDX-License-Identifier: MIT
// Collects the files of each process while the run goes on: its report, or the marks of one that
// left none; and the slots of the live file of processes that left no report. A shell script may
// start any number of processes; disk use and the report must not grow with that number.
#pragma once

#include "live/live.hpp"
#include "process/process.hpp"
#include "records/marks.hpp"
#include "records/records.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tool
{

/// How a process without a report ended, as a clause. `may_lack_rights`: perhaps the process tried
/// to write a report and had no right to.
struct seen_end {
    std::string text;
    bool        may_lack_rights;
};

/// The end of a process whose status its parent has seen.
seen_end how_it_ended(const process_end& end);

/// Data of the system about a process while it ran.
struct seen_running {
    std::vector<std::string> arguments;
    std::uint64_t            peak_resident_bytes = 0;
};

class harvest
{
  public:
    /// `folder`: the processes write their files there. The first process and up to `apart_max`
    /// others get a record each. Further processes share a record if they agree in their program,
    /// in whether the program links the library, in why they left no report, and in the signal that
    /// ended those that left one. The stacks of
    /// leaks have `stacked_max` places in all, and those of the first process as many. `live`: has
    /// the numbers of processes that leave no report; null: there are none.
    explicit harvest(
        std::string folder,
        std::size_t apart_max   = 1000,
        std::size_t stacked_max = 200000,
        live_file*  live        = nullptr
    );

    /// Notes what the system tells of the processes that run. look() does it, too.
    void note();

    /// Reads and removes a limited number of files of ended processes. True if more may be left.
    bool look();

    /// Reads all remaining files and fills in `run`. `first`: the process that was started first;
    /// `its_end`: how it ended.
    void finish(run_record& run, std::uint64_t first, const seen_end& its_end);

    /// Why no file could be read at all, as the system says it. Empty: nothing is known against it.
    const std::string& trouble() const
    {
        return trouble_;
    }

  private:
    using file_names = std::map<std::uint64_t, std::vector<std::string>>;  // by pid

    file_names list();

    std::set<std::uint64_t> ended_now();
    void take(std::uint64_t pid, const std::vector<std::string>& files, const seen_end& end);
    void
    take_reports(const std::vector<std::string>& files, std::vector<process_record> without_report);
    void take_slot(std::uint32_t place, bool has_ended, file_names* left);
    void keep_report(const live_slot& slot, const std::string& stem, file_names* left);
    void take_counts(const live_slot& slot, const std::string& stem, file_names* left);
    void take_slots(file_names* left);
    void note_running(std::uint32_t place);
    void take_lost_without(
        const file_names& files, const std::function<seen_end(std::uint64_t)>& end_of
    );

    process_record              read(const std::string& path) const;
    void                        remove(const std::string& path);
    bool                        says_all(const std::string& path, process_record& record) const;
    std::vector<process_record> slots_of(std::uint64_t pid, const std::string& reason);
    void                        limit_stacks(process_record& process);
    void                        add(process_record process);
    void                        add_silent(run_record& run) const;

    std::string                                          folder_;
    std::size_t                                          apart_max_;
    std::size_t                                          stacked_max_;
    std::size_t                                          stacked_left_;  // places of stacks
    live_file*                                           live_;
    std::map<std::uint64_t, std::vector<process_record>> lost_;  // from slots, to be taken
    std::map<std::string, std::string>                   kept_;  // from the live file, by path
    std::map<std::pair<std::uint32_t, std::uint64_t>, seen_running>
                                running_;  // at the last look, by place and start of the program
    std::set<std::uint64_t>     ended_;    // processes that had ended at the last look()
    std::vector<process_record> apart_;
    std::map<std::tuple<std::string, bool, std::string, int>, process_record>
        together_;  // by program, library, why there is no report, and signal that ended it
    silent_groups            silent_;
    std::vector<std::string> complaints_;
    std::string              trouble_;
};

}  // namespace tool

// SPDX-License-Identifier: MIT
// Collects the report file of each process while the run goes on. A shell script may start any
// number of processes; disk use and the report must not grow with that number.
#pragma once

#include "records/records.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tool
{

class harvest
{
  public:
    /// `folder`: the processes write their files there. The first process and up to `apart_max`
    /// others get a record each; further processes share one record per program.
    explicit harvest(std::string folder, std::size_t apart_max = 1000);

    /// Reads and removes a limited number of files of ended processes. True if more may be left.
    bool look();

    /// Reads all remaining files and fills in `run`. `first`: the process that was started first.
    void finish(run_record& run, std::uint64_t first);

  private:
    using file_names = std::map<std::uint64_t, std::vector<std::string>>;  // by pid

    file_names list() const;
    void       take(const std::vector<std::string>& files);
    void       add(process_record process);

    std::string                           folder_;
    std::size_t                           apart_max_;
    std::set<std::uint64_t>               ended_;  // processes that had ended at the last look()
    std::vector<process_record>           apart_;
    std::map<std::string, process_record> together_;  // by program
    std::vector<std::string>              complaints_;
};

}  // namespace tool

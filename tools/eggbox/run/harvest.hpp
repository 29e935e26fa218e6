// SPDX-License-Identifier: MIT
// Takes in what the processes of a run write, one file each, while it goes on: a shell script may
// have any number of them, and what they leave on disk and in the report must not grow with it.
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
    /// Looks into `folder`. Up to `apart_max` processes get a record of their own, besides the one
    /// that was started first; of the others those of one program have one together.
    explicit harvest(std::string folder, std::size_t apart_max = 1000);

    /// Takes in, and removes, files of processes that have ended: not many at once. Says whether
    /// there may be more of them.
    bool look();

    /// Takes in all that is left. `first`: the process that was started first.
    void finish(run_record& run, std::uint64_t first);

  private:
    using file_names = std::map<std::uint64_t, std::vector<std::string>>;  // by pid

    file_names list() const;
    void       take(const std::vector<std::string>& files);
    void       add(process_record process);

    std::string                           folder_;
    std::size_t                           apart_max_;
    std::set<std::uint64_t>               ended_;  // before the folder was last looked into
    std::vector<process_record>           apart_;
    std::map<std::string, process_record> together_;  // by program
    std::vector<std::string>              complaints_;
};

}  // namespace tool

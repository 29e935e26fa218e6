// SPDX-License-Identifier: MIT
// Memory over time: what all processes of a run have, again and again, from the live file. The
// programs do nothing for it.
#pragma once

#include "live/live.hpp"
#include "records/records.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool
{

class sampler
{
  public:
    using clock = std::chrono::steady_clock;

    /// The time of the samples counts from now on.
    explicit sampler(const live_file& live);

    /// Takes a sample if one is due. Returns when the next one is.
    clock::time_point look(clock::time_point now);

    /// All samples, 250 to 500 of a long run: when there are 500 every second one goes, and from
    /// then on the time between two of them is twice as long. It has the pools that once had
    /// most bytes in use.
    timeline_record timeline() const;

  private:
    using bytes_by_pool = std::map<std::size_t, std::uint64_t>;  // by its place in names_

    struct sample {
        double        at_s      = 0;
        std::uint64_t processes = 0;
        std::uint64_t in_use    = 0;
        std::uint64_t held      = 0;
        std::uint64_t resident  = 0;
        bytes_by_pool pools;
    };

    void                     add(sample& to, const egb_live_slot& slot);
    void                     add_pool(sample& to, const std::string& name, std::uint64_t bytes);
    sample                   take();
    void                     halve();
    std::vector<std::size_t> largest_pools() const;

    const live_file*                   live_;
    clock::time_point                  begin_;
    clock::time_point                  due_;
    clock::duration                    interval_;
    std::vector<sample>                samples_;
    std::map<std::string, std::size_t> names_;
};

}  // namespace tool

// SPDX-License-Identifier: MIT
// The live file: counts of processes in memory that outlives them (eggbox/live.h). Any process that
// has it may write nonsense there, so the reader checks all values, and uses them only as numbers
// or names.
#pragma once

#include "records/records.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "eggbox/live.h"

namespace tool
{

/// A slot in use, copied. Its texts may lack the final zero.
struct live_slot {
    std::uint32_t place;
    egb_live_slot data;
};

class live_file
{
  public:
    /// A new one, whose descriptor the programs inherit that are started from now on. If the system
    /// refuses, is_there() is false and trouble() says why.
    live_file();

    /// One that another process has open, to read. Throws failure: it cannot be opened, or it is no
    /// live file that this command knows.
    explicit live_file(const std::string& path);

    ~live_file();

    live_file(const live_file&)            = delete;
    live_file& operator=(const live_file&) = delete;

    bool is_there() const
    {
        return header_ != nullptr;
    }

    const std::string& trouble() const
    {
        return trouble_;
    }

    /// The value of EGGBOX_LIVE for programs; empty: there is no file.
    std::string variable() const;

    /// The number of the `eggbox run` that made the file. 0: it is the file of another process.
    std::uint32_t run() const
    {
        return header_->is_harvested != 0 ? header_->maker : 0;
    }

    /// Processes that found no slot free, and how many slots there are.
    std::uint64_t refused() const;
    std::uint32_t slots() const
    {
        return slots_;
    }

    /// The places of the slots that processes have, and perhaps of some that were released. The
    /// slots are only looked through when one was claimed since the last call.
    const std::vector<std::uint32_t>& places() const;

    /// Makes places() look through the slots again: a process may have been killed after it claimed
    /// a slot and before it counted the claim.
    void forget_places();

    /// The number of the process that has the slot; 0: none.
    std::uint32_t pid_at(std::uint32_t place) const;

    live_slot copy(std::uint32_t place) const;

    /// The report that the process has written behind the slots; empty: there is none.
    std::string report_of(const live_slot& slot) const;

    /// Makes the slot free for another process, if it still belongs to this one.
    void release(std::uint32_t place, std::uint32_t pid);

  private:
    void           make_room_for_reports();
    std::uint64_t  place_of_report(std::uint32_t place) const;
    bool           map(bool is_writable);
    egb_live_slot* slot(std::uint32_t place) const;

    int              file_   = -1;
    egb_live_header* header_ = nullptr;
    std::uint32_t    slots_  = 0;
    std::uint64_t    bytes_  = 0;  // without reports
    std::string      trouble_;

    mutable std::vector<std::uint32_t> places_;
    mutable std::uint32_t              claims_seen_ = 0;
    mutable bool                       has_places_  = false;
};

/// A text of a slot, up to its end.
std::string live_text(const char* text, std::size_t bytes_max);

/// The blocks that callers have, as far as free blocks in magazines were counted.
std::uint64_t blocks_in_use(const egb_live_pool& pool);

/// The record of a process that left no report, made from its slot.
process_record record_of(const egb_live_slot& slot);

}  // namespace tool

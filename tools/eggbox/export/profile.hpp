// SPDX-License-Identifier: MIT
// The data of a report about one subject, in the form that other tools read: stacks with figures.
#pragma once

#include "records/records.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

enum class subject {
    leaked,     // blocks that were never freed, by the calls that allocated them
    in_use,     // blocks in use when a signal ended the program, if nobody looked for leaks
    allocated,  // all blocks of a run at level "sample", by those calls: an estimate
    peak,       // the largest number of blocks in use, by program and pool
    requests,   // requests, by program and pool
};

/// A call of a function, or, for `peak` and `requests`, a program or a pool.
struct profile_frame {
    std::string   name;
    std::string   file;  // the source file; empty: unknown
    std::uint64_t line = 0;
    std::string   module;
    std::uint64_t address    = 0;      // in the module; without a module: absolute
    bool          is_inlined = false;  // into the next frame

    bool operator<(const profile_frame& other) const;
};

struct profile_sample {
    std::vector<profile_frame> frames;  // the innermost first; at least one
    std::uint64_t              count = 0;
    std::uint64_t              bytes = 0;
};

struct profile {
    const char*                 title      = "";  // "blocks that were never freed"
    const char*                 count_name = "";  // "leaked_blocks"
    const char*                 bytes_name = "";  // "leaked_bytes"; empty: the report has no bytes
    std::vector<profile_sample> samples;          // no two have the same frames
    std::string                 estimate;         // from which samples; empty: exact numbers
    std::string                 command;
    std::uint64_t               pid        = 0;
    double                      duration_s = 0;

    bool has_bytes() const
    {
        return *bytes_name != '\0';
    }

    /// The bytes, or the count if the report has no bytes.
    std::uint64_t weight(const profile_sample& sample) const
    {
        return has_bytes() ? sample.bytes : sample.count;
    }
};

/// No name in it has control characters. Throws failure if the runs did not record the subject.
profile profile_of(const std::vector<run_record>& runs, subject wanted);

}  // namespace tool

// SPDX-License-Identifier: MIT
// The sentences that a report begins and ends with, and the names of its processes.
#pragma once

#include "sums/totals.hpp"

#include <string>
#include <vector>

namespace tool
{

/// Names in it have no control characters.
struct answer {
    std::string              headline;  // one sentence
    std::vector<std::string> lines;  // details: sums, misuse, and processes that the figures omit
    std::string              next;   // the next command, or why there is none; may be empty
};

/// `sums` are those of the runs, which came from `files`.
answer answer_of(
    const totals& sums, const std::vector<run_record>& runs, const std::vector<std::string>& files
);

/// "peak resident 2.00 MiB", or at least so much: for a process without a report `eggbox run` has
/// only the numbers that it saw while the process ran.
std::string resident_text(const totals& sums);

/// The command of a process, cut behind 100 bytes; for a record of several processes their number.
std::string program_text(const process_record& of);

}  // namespace tool

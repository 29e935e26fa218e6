// SPDX-License-Identifier: MIT
// Finds the running processes that have a live file. Needs no more rights than to read /proc.
#pragma once

#include "live/live.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

struct recorded_processes {
    std::vector<egb_live_slot> slots;        // by number
    std::vector<std::string>   problems;     // with the file of the process that is asked for
    std::uint64_t              refused = 0;  // processes that found no slot, in all files
};

/// The processes that `wanted` names: a number, or the name or path of a program; empty: all. The
/// number of an `eggbox run` names all its processes.
recorded_processes find_recorded(const std::string& wanted);

/// The name of a running process, as the system has it; empty: there is no such process.
std::string running_name(std::uint64_t pid);

/// The numbers of all running processes.
std::vector<std::uint64_t> running_processes();

}  // namespace tool

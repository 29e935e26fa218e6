// SPDX-License-Identifier: MIT
// `eggbox compare`: measures a program on several allocators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

struct compare_options {
    std::vector<std::string> command;
    std::vector<std::string> with;   // further preload libraries
    std::string              input;  // file for the program's stdin; empty: nothing to read
    std::uint32_t            runs           = 10;
    std::uint32_t            warmup         = 1;
    bool                     check_output   = false;
    bool                     ignore_failure = false;
    bool                     json           = false;
    bool                     hyperfine      = false;
};

/// Returns the exit status of the command.
int compare_command(const compare_options& wanted);

}  // namespace tool

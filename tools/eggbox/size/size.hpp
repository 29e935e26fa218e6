// SPDX-License-Identifier: MIT
// `eggbox size`: computes how many blocks of each size recorded runs need.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct size_options {
    std::vector<std::string> files;
    std::string              emit;   // "c", "cpp", "compat", "json" or empty: a table for people
    std::string              check;  // an earlier configuration to check the runs against
    std::string              name;   // prefix of the emitted names; empty: from the program's name
    double                   cover_percent    = 100;
    double                   headroom_percent = 25;
    bool                     json             = false;
};

/// Returns the exit status of the command.
int size_command(const size_options& wanted);

}  // namespace tool

// SPDX-License-Identifier: MIT
// `eggbox size`: says how many blocks of which sizes recorded runs need.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct size_options {
    std::vector<std::string> files;
    std::string              emit;   // "c", "cpp", "json" or empty: a table for people
    std::string              check;  // an earlier configuration to hold the runs against
    std::string              name;   // prefix of what is emitted; empty: the program's
    double                   cover_percent    = 100;
    double                   headroom_percent = 25;
    bool                     json             = false;
};

/// Returns what the command exits with.
int size_command(const size_options& wanted);

}  // namespace tool

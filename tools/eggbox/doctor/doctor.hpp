// SPDX-License-Identifier: MIT
// `eggbox doctor`: says whether a program can run on pools.
#pragma once

#include <string>

namespace tool
{

struct doctor_options {
    std::string program;
    bool        json = false;
};

/// Returns what the command exits with.
int doctor_command(const doctor_options& wanted);

}  // namespace tool

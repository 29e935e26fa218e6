// SPDX-License-Identifier: MIT
// `eggbox doctor`: checks whether a program can run on pools.
#pragma once

#include <string>

namespace tool
{

struct doctor_options {
    std::string program;
    bool        json = false;
};

/// Returns the exit status of the command.
int doctor_command(const doctor_options& wanted);

}  // namespace tool

// SPDX-License-Identifier: MIT
// `eggbox report`: summarizes recorded runs.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct report_options {
    std::vector<std::string> files;
    bool                     json = false;
};

/// Returns the exit status of the command.
int report_command(const report_options& wanted);

}  // namespace tool

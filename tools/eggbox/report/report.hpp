// SPDX-License-Identifier: MIT
// `eggbox report`: says what happened in recorded runs.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct report_options {
    std::vector<std::string> files;
    bool                     json = false;
};

/// Returns what the command exits with.
int report_command(const report_options& wanted);

}  // namespace tool

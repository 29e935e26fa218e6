// SPDX-License-Identifier: MIT
// `eggbox top`: the pools of running processes.
#pragma once

#include <string>

namespace tool
{

struct top_options {
    std::string process;  // a number or a name; empty: all
    bool        once        = false;
    bool        json        = false;
    bool        openmetrics = false;
};

/// Reads the live files of running processes, once or until the user ends it, and does nothing to
/// the processes. Returns the exit status. Throws failure if the process is not there, or not
/// recorded, or its file makes no sense.
int top_command(const top_options& wanted);

}  // namespace tool

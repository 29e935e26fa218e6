// SPDX-License-Identifier: MIT
// `eggbox report`: summarizes recorded runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tool
{

struct report_options {
    std::vector<std::string>   files;
    std::string                format;        // a format of another tool; empty: text
    std::string                what;          // the subject of such a file; empty: leaks
    bool                       diff = false;  // the files are OLD and NEW
    std::optional<std::string> fail_above;    // a limit of growth, in percent
    std::string                html;          // write a page for a browser to this file
    std::string                suppress;      // a file of leaks to leave out; empty: none
    bool                       json   = false;
    bool                       is_all = false;  // stacks with the calls that only allocate
};

/// Returns the exit status of the command.
int report_command(const report_options& wanted);

}  // namespace tool

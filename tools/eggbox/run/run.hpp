// SPDX-License-Identifier: MIT
// `eggbox run`: runs a program on pools and records its requests.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct run_options {
    std::vector<std::string> command;      // the program and its arguments
    std::string              report;       // file to write; empty: a temporary one
    std::string              check;        // level for EGGBOX_CHECK; empty: leave it alone
    std::string              sample;       // for EGGBOX_SAMPLE; empty: leave it alone
    std::string              guard_pages;  // for EGGBOX_GUARD_PAGES; empty: leave it alone
    std::string              suppress;     // file of leaks to say nothing of; empty: none
    bool                     json = false;
};

/// Does not return once the program has run: the command ends with the same status or signal.
int run_command(const run_options& wanted);

}  // namespace tool

// SPDX-License-Identifier: MIT
// The subcommands, and what the command line told them. Each is one file, and returns what the
// command exits with.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool
{

enum exit_status { exit_done = 0, exit_usage = 1, exit_failure = 2, exit_limit = 3 };

/// Ends the command with exit_failure; its text is all that the user gets.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Ends the command with exit_usage.
struct bad_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct run_options {
    std::vector<std::string> command;      // the program and its arguments
    std::string              report;       // file to write; empty: a temporary one
    std::string              check;        // level for EGGBOX_CHECK; empty: leave it alone
    std::string              guard_pages;  // for EGGBOX_GUARD_PAGES; empty: leave it alone
    bool                     json = false;
};

struct report_options {
    std::vector<std::string> files;
    bool                     json = false;
};

struct size_options {
    std::vector<std::string> files;
    std::string              emit;   // "c", "cpp", "json" or empty: a table for people
    std::string              check;  // an earlier configuration to hold the runs against
    std::string              name;   // prefix of what is emitted; empty: the program's
    double                   cover_percent    = 100;
    double                   headroom_percent = 25;
    bool                     json             = false;
};

struct compare_options {
    std::vector<std::string> command;
    std::vector<std::string> with;   // further preload libraries
    std::string              input;  // file for the program's stdin; empty: nothing to read
    std::uint32_t            runs           = 10;
    std::uint32_t            warmup         = 1;
    bool                     check_output   = false;
    bool                     ignore_failure = false;
    bool                     json           = false;
};

struct doctor_options {
    std::string program;
    bool        json = false;
};

int run_command(const run_options& wanted);
int report_command(const report_options& wanted);
int size_command(const size_options& wanted);
int compare_command(const compare_options& wanted);
int doctor_command(const doctor_options& wanted);

}  // namespace tool

// SPDX-License-Identifier: MIT
// Runs another program transparently: its input, output, arguments, signals and exit status are the
// same as without eggbox.
#pragma once

#include "text/failure.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tool
{

using moment      = std::chrono::steady_clock::time_point;
using environment = std::vector<std::pair<std::string, std::string>>;

struct process_end {
    pid_t  pid;
    int    status;  // of wait()
    double wall_s;

    int         exit_status() const;  // 128 + n: ended by signal n
    int         signal() const;       // 0: none
    std::string text() const;         // "exit status 1", "signal 9 (Killed)"
};

/// The system does not execute the program.
struct not_executed : failure {
    using failure::failure;
};

/// Runs `command`, found as a shell finds it, with `changes` to the environment, and waits for it.
/// Signals sent to this process are passed on, except those of the terminal, which the program gets
/// directly. If the terminal stops the program, this process stops too. `meanwhile` is called while
/// the program runs, and returns the moment of its next call. If the moment is more than a second
/// away, the call comes after a second. Signals wait until `meanwhile` returns.
///
/// Throws failure if there can be no process, and not_executed if it cannot become the program.
process_end run_through(
    const std::vector<std::string>& command,
    const environment&              changes,
    const std::function<moment()>&  meanwhile
);

/// Ends this process as the program ended: with the same exit status, or by the same signal.
[[noreturn]] void end_like(const process_end& end);

/// The words as an argument array for execvp(), valid as long as `words`.
std::vector<char*> argument_pointers(const std::vector<std::string>& words);

}  // namespace tool

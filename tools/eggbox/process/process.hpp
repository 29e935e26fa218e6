// SPDX-License-Identifier: MIT
// Runs another program so that it does not notice: its input, output, arguments, signals and exit
// status are as if it had been run directly.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tool
{

using environment = std::vector<std::pair<std::string, std::string>>;

struct process_end {
    pid_t  pid;
    int    status;  // as from wait
    double wall_s;

    int         exit_status() const;  // 128 and the signal's number: ended by it
    int         signal() const;       // 0: none
    std::string text() const;         // "exit status 1", "signal 9 (Killed)"
};

/// Runs `command`, found as a shell finds it, with `changes` to the environment, and waits for it.
/// Signals that are sent to us meanwhile are passed on; those that the terminal sends the program
/// gets by itself. When the terminal stops it we stop as well. Now and then `meanwhile` is called,
/// and again at once if it says true: signals wait for it.
///
/// Throws failure if it cannot be started.
process_end run_through(
    const std::vector<std::string>& command,
    const environment&              changes,
    const std::function<bool()>&    meanwhile
);

/// Ends this process as that one ended: with its exit status, or by the same signal.
[[noreturn]] void end_like(const process_end& end);

/// The same words as execvp() wants them; they live as long as `words`.
std::vector<char*> argument_pointers(const std::vector<std::string>& words);

}  // namespace tool

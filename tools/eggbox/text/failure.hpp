// SPDX-License-Identifier: MIT
// How the command ends: the exit statuses, and the exceptions that carry a message to the user.
#pragma once

#include <stdexcept>

namespace tool
{

enum exit_status { exit_done = 0, exit_usage = 1, exit_failure = 2, exit_limit = 3 };

/// Ends the command with exit_failure. The user gets the text and nothing else.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Ends the command with exit_usage.
struct bad_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace tool

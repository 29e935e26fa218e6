// SPDX-License-Identifier: MIT
// `eggbox ls` and `eggbox gc`: pools that processes share.
#pragma once

namespace tool
{

struct shared_options {
    bool json = false;
};

/// Return the exit status of the command.
int ls_command(const shared_options& wanted);
int gc_command(const shared_options& wanted);

}  // namespace tool

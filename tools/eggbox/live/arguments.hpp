// SPDX-License-Identifier: MIT
// What a running process was started with. A program may write a title there: postgres and nginx
// have one program and name each process by its task.
#pragma once

#include <string>
#include <vector>

#include "eggbox/live.h"

namespace tool
{

/// The arguments of the process that has the slot, the program first, as the system knows them now;
/// of long ones the first 4 KiB. Empty: the process has ended or is another program by now, or the
/// system does not tell this user.
std::vector<std::string> arguments_now(const egb_live_slot& slot);

}  // namespace tool

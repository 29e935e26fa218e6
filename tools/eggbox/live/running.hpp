// SPDX-License-Identifier: MIT
// Data of the system about a process that runs. Its arguments may be a title that it wrote there:
// postgres and nginx have one program and name each process by its task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eggbox/live.h"

namespace tool
{

/// The arguments of the process that has the slot, the program first, as the system knows them now;
/// of long ones the first 4 KiB. Empty: the process has ended or is another program by now, or the
/// system does not tell this user.
std::vector<std::string> arguments_now(const egb_live_slot& slot);

/// The most memory that this program has had until now. 0: as above.
std::uint64_t peak_resident_now(const egb_live_slot& slot);

}  // namespace tool

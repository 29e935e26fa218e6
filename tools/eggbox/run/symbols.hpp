// SPDX-License-Identifier: MIT
// From an address in a program or library to the line of the source.
#pragma once

#include "records/records.hpp"

namespace tool
{

/// Adds function, file and line to every place in `run`, as far as the files that the processes
/// ran have them. They are looked into here and now: tomorrow they may be others.
void find_sources(run_record& run);

}  // namespace tool

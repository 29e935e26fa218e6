// SPDX-License-Identifier: MIT
// Finds the source line of an address in a program or library.
#pragma once

#include "records/records.hpp"

namespace tool
{

/// Adds function, file and line to every place in `run`, as far as the program files have debug
/// information. Call it right after the run: the files may change later.
void find_sources(run_record& run);

}  // namespace tool

// SPDX-License-Identifier: MIT
// Functions that only allocate for their callers, found by their positions in many stacks: a
// program may call its wrapper as it likes.
#pragma once

#include "records/records.hpp"

#include <set>
#include <string>
#include <vector>

namespace tool
{

/// The wrappers in the stacks of leaks, besides those that have the name of one. A wrapper is the
/// innermost call of each stack that it is in, allocates at one or two of its lines, and does it
/// for many callers and in several sizes. A function that makes objects of one kind has one size,
/// and main() has no caller.
std::set<std::string> wrappers_in(const std::vector<run_record>& runs);

/// From now on stacks are shown without these functions in front; or whole, wrappers by name too.
void fold_wrappers(std::vector<run_record>& runs, const std::set<std::string>& wrappers);
void unfold_wrappers(std::vector<run_record>& runs);

}  // namespace tool

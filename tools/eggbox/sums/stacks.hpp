// SPDX-License-Identifier: MIT
// Stacks of calls as a line of text.
#pragma once

#include "records/records.hpp"

#include <string>

namespace tool
{

/// Whether the function only allocates for its caller, as malloc() and its wrappers do.
bool only_allocates(const place_record& place);

/// Whether the function only starts main() or a thread.
bool only_starts(const place_record& place);

/// FILE:LINE (FUNCTION), or the part of it that is known.
std::string place_text(const place_record& place);

/// FUNCTION FILE:LINE < FUNCTION FILE:LINE < ..., the innermost first. Left out are the functions
/// that only allocate for their caller, and those of the C and C++ libraries outside main() or the
/// function of a thread; but never the whole stack. If there are more than `most` places, the outer
/// ones are only counted. Empty for an unknown stack.
std::string stack_text(const stack_record& stack, std::size_t most);

/// The calls that stack_text() shows.
stack_record shown_calls(const stack_record& stack);

/// The name of the function as people call it, without parameters and template arguments. Without a
/// name FILE:LINE or MODULE+OFFSET, without folders.
std::string call_name(const place_record& place);

}  // namespace tool

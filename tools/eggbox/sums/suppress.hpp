// SPDX-License-Identifier: MIT
// Leaks that the user does not want to hear of, in a file as LeakSanitizer takes it.
#pragma once

#include "records/records.hpp"

#include <string>
#include <vector>

namespace tool
{

/// The patterns of a file: lines of `leak:PATTERN`, empty lines, and comments that begin with #.
/// Throws failure for other lines, and if the file cannot be read.
std::vector<std::string> read_suppressions(const std::string& path);

/// Whether the pattern is in the text. In it `*` stands for any text; at its ends `^` and `$` stand
/// for the ends of the text. O(pattern times text).
bool has_pattern(const std::string& text, const std::string& pattern);

/// Moves the leaks with a pattern in the function, the file or the module of one of their calls to
/// the sum `suppressed` of their process.
void suppress_leaks(std::vector<run_record>& runs, const std::vector<std::string>& patterns);

}  // namespace tool

// SPDX-License-Identifier: MIT
// Recorded runs in the formats of other tools.
#pragma once

#include "records/records.hpp"

#include <string>
#include <vector>

namespace tool
{

/// The file for the other tool. Empty `what`: "leaked". Throws bad_usage if a name is unknown, or
/// the format cannot show that subject. Throws failure if the runs did not record it. Time grows
/// with the length of the report, times the logarithm of the number of its places.
std::string
exported(const std::vector<run_record>& runs, const std::string& format, const std::string& what);

/// True for a format that is not text. Throws bad_usage if the name is unknown.
bool is_binary(const std::string& format);

}  // namespace tool

// SPDX-License-Identifier: MIT
// `eggbox report --html`: recorded runs as one page for a browser, which loads nothing else.
#pragma once

#include "records/records.hpp"

#include <string>
#include <vector>

namespace tool
{

/// The page. Its length has a limit: long lists are cut, and the page says how much is left out.
/// Time grows with the length of the report, times the logarithm of the number of its places.
std::string html_page(const std::vector<run_record>& runs, const std::vector<std::string>& files);

}  // namespace tool

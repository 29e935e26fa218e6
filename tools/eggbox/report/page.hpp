// SPDX-License-Identifier: MIT
// The output of `eggbox report`.
#pragma once

#include "records/records.hpp"

#include <string>
#include <vector>

namespace tool
{

std::string report_page(const std::vector<run_record>& runs, const std::vector<std::string>& files);
std::string report_data(const std::vector<run_record>& runs);  // JSON

}  // namespace tool

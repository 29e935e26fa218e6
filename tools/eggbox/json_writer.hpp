// SPDX-License-Identifier: MIT
// JSON as the commands print it: members in the order they were written, two blanks a level. Only
// ASCII: on a terminal no other character may have its way.
#pragma once

#include "records.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tool
{

using json = nlohmann::ordered_json;

json        counted_json(const std::vector<counted>& all, const char* name);
json        place_json(const place_record& place);
json        event_json(const event_record& event);
json        leaked_json(const leak_sum& sum);
std::string json_text(const json& value);  // bytes that are no UTF-8 become U+FFFD
std::string json_line(const json& value);

}  // namespace tool

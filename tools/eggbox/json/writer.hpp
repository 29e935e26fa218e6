// SPDX-License-Identifier: MIT
// JSON as the command prints it: members in the order they were written, two blanks a level, and
// ASCII alone, so that no text can move a terminal's cursor.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tool
{

using json = nlohmann::ordered_json;

constexpr int schema = 1;  // of every file that this command writes or reads

std::string json_text(const json& value);  // bytes that are not UTF-8 become U+FFFD
std::string json_line(const json& value);

}  // namespace tool

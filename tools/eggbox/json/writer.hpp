// SPDX-License-Identifier: MIT
// Prints JSON. Members keep their order. The output is ASCII only, so that no text can move the
// cursor of a terminal.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tool
{

using json = nlohmann::ordered_json;

constexpr int schema = 1;  // the version of every file that the command writes or reads

/// With a line end. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const json& value);  // lines, with two blanks per level
std::string json_line(const json& value);  // one line

}  // namespace tool

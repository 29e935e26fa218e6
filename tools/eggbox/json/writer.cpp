// SPDX-License-Identifier: MIT
#include "json/writer.hpp"

namespace tool
{

std::string json_text(const json& value)
{
    return value.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

std::string json_line(const json& value)
{
    return value.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace tool

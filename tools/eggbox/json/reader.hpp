// SPDX-License-Identifier: MIT
// Reads untrusted JSON: each call returns a checked value, or throws a failure that names the
// place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tool
{

/// A place in a file of JSON.
class json_place
{
  public:
    json_place(const nlohmann::json& value, std::string file, std::string place = "")
        : value_(&value), file_(std::move(file)), place_(std::move(place))
    {
    }

    json_place              member(const char* name) const;  // throws if missing
    void                    require_object() const;
    bool                    has(const char* name) const;
    std::vector<json_place> elements() const;
    std::string             text() const;
    std::uint64_t           count() const;   // a whole number, 0 or more
    std::int64_t            whole() const;   // a whole number
    double                  number() const;  // 0 or more, and finite
    bool                    truth() const;

    [[noreturn]] void refuse(const std::string& why) const;

  private:
    const nlohmann::json* value_;
    std::string           file_;
    std::string           place_;  // "processes[0].pid"; empty: the whole
};

/// Parses `text`. Throws failure if it is not JSON, or nested deeper than any eggbox file.
nlohmann::json parse_json(const std::string& text, const std::string& path);

/// Throws failure unless the value has this `kind` and the known schema.
void require_kind(const json_place& top, const char* kind);

}  // namespace tool

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

class json_elements;

/// A place in a file of JSON.
class json_place
{
  public:
    json_place(const nlohmann::json& value, std::string file, std::string place = "")
        : value_(&value), file_(std::move(file)), place_(std::move(place))
    {
    }

    json_place    member(const char* name) const;  // throws if missing
    void          require_object() const;
    bool          has(const char* name) const;
    json_elements elements() const;
    std::string   text() const;
    std::uint64_t count() const;   // a whole number, 0 or more
    std::int64_t  whole() const;   // a whole number
    double        number() const;  // 0 or more, and finite
    bool          truth() const;

    [[noreturn]] void refuse(const std::string& why) const;

  private:
    friend class json_elements;

    const nlohmann::json* value_;
    std::string           file_;
    std::string           place_;  // "processes[0].pid"; empty: the whole
};

/// The elements of a list, one at a time: there may be millions.
class json_elements
{
  public:
    class iterator
    {
      public:
        iterator(const json_place& list, std::size_t index) : list_(&list), index_(index) {}

        json_place operator*() const;

        iterator& operator++()
        {
            index_++;
            return *this;
        }

        bool operator!=(const iterator& other) const
        {
            return index_ != other.index_;
        }

      private:
        const json_place* list_;
        std::size_t       index_;
    };

    explicit json_elements(json_place list) : list_(std::move(list)) {}

    iterator begin() const
    {
        return {list_, 0};
    }

    iterator end() const
    {
        return {list_, list_.value_->size()};
    }

  private:
    json_place list_;
};

/// Parses `text`. Throws failure if it is not JSON, or if it is nested deeper, or has more values,
/// than any eggbox file. Time and memory grow with the length of the text, whatever it is.
nlohmann::json parse_json(const std::string& text, const std::string& path);

/// Throws failure unless the value has this `kind` and the known schema.
void require_kind(const json_place& top, const char* kind);

}  // namespace tool

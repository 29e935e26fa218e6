// SPDX-License-Identifier: MIT
// The protocol buffer is written by hand: it needs two of the encoding's kinds of fields.
#include "export/formats.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace tool
{
namespace
{

class message
{
  public:
    void number(unsigned field, std::uint64_t value)
    {
        if (value != 0) {  // absent is 0
            put(field << 3U);
            put(value);
        }
    }

    void bytes(unsigned field, const std::string& value)
    {
        put(field << 3U | 2U);
        put(value.size());
        out_ += value;
    }

    void numbers(unsigned field, const std::vector<std::uint64_t>& values)
    {
        message packed;
        for (const std::uint64_t each : values) {
            packed.put(each);
        }
        bytes(field, packed.text());
    }

    void append(const message& other)
    {
        out_ += other.out_;
    }

    const std::string& text() const
    {
        return out_;
    }

  private:
    // Seven bits a byte, the lowest first; the top bit says that more follow.
    void put(std::uint64_t value)
    {
        for (; value >= 0x80; value >>= 7U) {
            out_ += static_cast<char>(value | 0x80U);
        }
        out_ += static_cast<char>(value);
    }

    std::string out_;
};

// The format has signed numbers.
std::uint64_t as_signed(std::uint64_t value)
{
    return std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max());
}

enum profile_field {
    field_sample_type    = 1,
    field_sample         = 2,
    field_mapping        = 3,
    field_location       = 4,
    field_function       = 5,
    field_string         = 6,
    field_duration       = 10,
    field_comment        = 13,
    field_default_sample = 14,
};

/// Each distinct entry once, with a number from 1 on, in its field of the profile.
class numbered
{
  public:
    explicit numbered(profile_field field) : field_(field) {}

    std::uint64_t number_of(const message& entry)
    {
        const auto [at, is_new] = numbers_.try_emplace(entry.text(), numbers_.size() + 1);
        if (is_new) {
            message with_number;
            with_number.number(1, at->second);
            with_number.append(entry);
            all_.bytes(field_, with_number.text());
        }
        return at->second;
    }

    const message& all() const
    {
        return all_;
    }

  private:
    profile_field                        field_;
    std::map<std::string, std::uint64_t> numbers_;
    message                              all_;
};

class writer
{
  public:
    explicit writer(const profile& of) : of_(of)
    {
        (void)string("");  // number 0, as the format wants it
    }

    std::string text()
    {
        message out;
        add_type(out, of_.count_name, "count");
        if (of_.has_bytes()) {
            add_type(out, of_.bytes_name, "bytes");
        }
        for (const profile_sample& each : of_.samples) {
            out.bytes(field_sample, sample(each).text());
        }
        out.number(field_duration, duration_ns());
        out.number(field_comment, string(of_.command));
        out.number(field_default_sample, string(of_.has_bytes() ? of_.bytes_name : of_.count_name));
        out.append(mappings_.all());
        out.append(locations_.all());
        out.append(functions_.all());
        out.append(strings_);
        return out.text();
    }

  private:
    std::uint64_t string(const std::string& text)
    {
        const auto [at, is_new] = string_numbers_.try_emplace(text, string_numbers_.size());
        if (is_new) {
            strings_.bytes(field_string, text);
        }
        return at->second;
    }

    std::uint64_t duration_ns() const
    {
        return as_signed(static_cast<std::uint64_t>(std::min(of_.duration_s, 9e9) * 1e9));
    }

    void add_type(message& to, const char* name, const char* unit)
    {
        message type;
        type.number(1, string(name));
        type.number(2, string(unit));
        to.bytes(field_sample_type, type.text());
    }

    std::uint64_t mapping_of(const profile_frame& frame)
    {
        if (frame.module.empty()) {
            return 0;
        }
        message mapping;
        mapping.number(5, string(frame.module));
        // It has functions, files, lines and inlined calls: no tool needs to look for them.
        for (const unsigned field : {7U, 8U, 9U, 10U}) {
            mapping.number(field, 1);
        }
        return mappings_.number_of(mapping);
    }

    message line(const profile_frame& frame)
    {
        message function;
        function.number(2, string(frame.name));
        function.number(3, string(frame.name));
        function.number(4, string(frame.file));
        message out;
        out.number(1, functions_.number_of(function));
        out.number(2, as_signed(frame.line));
        return out;
    }

    // A call with the functions that are inlined there is one location.
    message sample(const profile_sample& of)
    {
        std::vector<std::uint64_t> places;
        message                    lines;
        for (const profile_frame& frame : of.frames) {
            lines.bytes(4, line(frame).text());
            if (!frame.is_inlined || &frame == &of.frames.back()) {
                message location;
                location.number(2, mapping_of(frame));
                location.number(3, frame.address);
                location.append(lines);
                places.push_back(locations_.number_of(location));
                lines = {};
            }
        }
        message out;
        out.numbers(1, places);
        out.numbers(
            2,
            of_.has_bytes() ? std::vector<std::uint64_t>{as_signed(of.count), as_signed(of.bytes)}
                            : std::vector<std::uint64_t>{as_signed(of.count)}
        );
        return out;
    }

    const profile&                       of_;
    std::map<std::string, std::uint64_t> string_numbers_;
    message                              strings_;
    numbered                             mappings_{field_mapping};
    numbered                             locations_{field_location};
    numbered                             functions_{field_function};
};

}  // namespace

std::string pprof_bytes(const profile& of)
{
    return writer(of).text();
}

}  // namespace tool

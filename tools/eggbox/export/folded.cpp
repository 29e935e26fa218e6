// SPDX-License-Identifier: MIT
#include "export/formats.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{
namespace
{

std::string last_part(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

// A semicolon ends a call.
std::string without_semicolons(std::string text)
{
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

std::string with_line(const profile_frame& frame)
{
    return frame.file.empty()
               ? frame.name
               : fmt::format("{} {}:{}", frame.name, last_part(frame.file), frame.line);
}

std::string with_file(const profile_frame& frame)
{
    return frame.file.empty() ? frame.name
                              : fmt::format("{} ({})", frame.name, last_part(frame.file));
}

// "heap 64" becomes "heap_64": a line with two numbers at its end is a difference of two profiles.
std::string without_number_at_end(std::string text)
{
    const std::size_t blank = text.find_last_not_of("0123456789.");
    if (blank != std::string::npos && blank + 1 < text.size() && text[blank] == ' ') {
        text[blank] = '_';
    }
    return text;
}

}  // namespace

std::string folded_text(const profile& of)
{
    std::string out;
    for (const profile_sample& sample : of.samples) {
        for (auto at = sample.frames.rbegin(); at != sample.frames.rend(); ++at) {
            out += (at == sample.frames.rbegin() ? "" : ";") +
                   without_number_at_end(without_semicolons(with_line(*at)));
        }
        out += fmt::format(" {}\n", of.weight(sample));
    }
    return out;
}

std::string heaptrack_text(const profile& of)
{
    std::string out;
    for (const profile_sample& sample : of.samples) {
        for (auto at = sample.frames.rbegin(); at != sample.frames.rend(); ++at) {
            out += without_semicolons(with_file(*at)) + ";";
        }
        out += fmt::format(" {}\n", of.weight(sample));
    }
    return out;
}

}  // namespace tool

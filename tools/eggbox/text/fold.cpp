// SPDX-License-Identifier: MIT
#include "text/fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tool
{
namespace
{

bool begins_character(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

struct range {
    char32_t first;
    char32_t last;
};

template <std::size_t count>
bool is_in(const range (&ranges)[count], char32_t character)
{
    return std::any_of(std::begin(ranges), std::end(ranges), [&](const range& each) {
        return each.first <= character && character <= each.last;
    });
}

// The character of UTF-8 that begins at `at`.
char32_t character_at(const std::string& text, std::size_t at)
{
    const auto first = static_cast<unsigned char>(text[at]);
    char32_t   out   = first < 0xC0   ? first
                       : first < 0xE0 ? first & 0x1FU
                       : first < 0xF0 ? first & 0x0FU
                                      : first & 0x07U;
    while (++at < text.size() && !begins_character(text[at])) {
        out = (out << 6U) | (static_cast<unsigned char>(text[at]) & 0x3FU);
    }
    return out;
}

// The columns that a terminal gives to a character, whatever the locale is: two to those of East
// Asia and to pictures, none to marks that stand above another character.
std::size_t width_at(const std::string& text, std::size_t at)
{
    static constexpr range marks[] = {
        {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}
    };
    static constexpr range wide[] = {
        {0x1100, 0x115F},
        {0x2E80, 0x303E},
        {0x3041, 0xA4CF},
        {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},
        {0xFE30, 0xFE6F},
        {0xFF00, 0xFF60},
        {0xFFE0, 0xFFE6},
        {0x1F300, 0x1F64F},
        {0x1F900, 0x1F9FF},
        {0x20000, 0x3FFFD},
    };
    if (!begins_character(text[at])) {
        return 0;
    }
    const char32_t character = character_at(text, at);
    return character < 0x0300 ? 1 : is_in(marks, character) ? 0 : is_in(wide, character) ? 2 : 1;
}

// The first bytes of a text that take no more than `width` columns, and at least one character.
std::size_t bytes_in(const std::string& text, std::size_t width)
{
    std::size_t at    = 0;
    std::size_t taken = 0;
    for (; at < text.size(); at++) {
        taken += width_at(text, at);
        if (taken > width && at > 0 && begins_character(text[at])) {
            break;
        }
    }
    return at;
}

bool is_command(const std::string& line)
{
    const std::size_t start = line.compare(0, 8, "eggbox: ") == 0 ? 8 : 0;
    return line.compare(start + 1, 5, "ext: ") == 0;
}

// The later lines have so many blanks in front.
std::string folded_line(const std::string& line, std::size_t width, std::size_t before)
{
    std::string out;
    std::size_t taken = 0;  // columns of the last line
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
        const std::size_t end  = std::min(line.find(' ', word), line.size());
        const std::string part = line.substr(at, end - at);
        if (at > 0 && taken + columns(part) > width) {
            out += "\n" + std::string(before, ' ') + line.substr(word, end - word);
            taken = before + columns(line.substr(word, end - word));
        } else {
            out += part;
            taken += columns(part);
        }
        at = end;
    }
    return out;
}

}  // namespace

std::size_t terminal_width(int file)
{
    winsize size = {};
    return isatty(file) != 0 && ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t columns(const std::string& text)
{
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); at++) {
        if (text.compare(at, 2, "\x1b[") == 0) {
            at = std::min(text.find('m', at), text.size());
        } else {
            count += width_at(text, at);
        }
    }
    return count;
}

std::string cut_to(const std::string& text, std::size_t width)
{
    return columns(text) <= width ? text : text.substr(0, bytes_in(text, width));
}

std::vector<std::string> lines_of(const std::string& text, std::size_t width)
{
    std::vector<std::string> out{""};
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end  = std::min(text.find(' ', at), text.size());
        std::string       word = text.substr(at, end - at);
        at                     = end + 1;
        if (!out.back().empty() && columns(out.back()) + 1 + columns(word) > width) {
            out.emplace_back();
        }
        while (columns(word) > width && bytes_in(word, width) < word.size()) {
            const std::size_t part = bytes_in(word, width);
            out.back()             = word.substr(0, part);
            out.emplace_back();
            word.erase(0, part);
        }
        out.back() += (out.back().empty() ? "" : " ") + word;
    }
    return out;
}

std::string folded(const std::string& text, std::size_t width, std::size_t hang)
{
    std::string out;
    for (std::size_t at = 0; width > 0 && at < text.size();) {
        const std::size_t end    = std::min(text.find('\n', at), text.size());
        const std::string line   = text.substr(at, end - at);
        const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
        const std::size_t before = hang > 0 ? hang : blanks > 0 ? blanks + 2 : 0;
        out += columns(line) <= width || is_command(line)
                   ? line
                   : folded_line(line, width, std::min(before, width / 2));
        out += end < text.size() ? "\n" : "";
        at = end + 1;
    }
    return width > 0 ? out : text;
}

}  // namespace tool

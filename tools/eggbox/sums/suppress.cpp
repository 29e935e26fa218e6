// SPDX-License-Identifier: MIT
#include "sums/suppress.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

namespace tool
{
namespace
{

const std::string prefix = "leak:";

std::string trimmed(const std::string& line)
{
    constexpr const char* blank = " \t\r";
    const std::size_t     first = line.find_first_not_of(blank);
    return first == std::string::npos
               ? ""
               : line.substr(first, line.find_last_not_of(blank) + 1 - first);
}

// True if the pattern matches the whole text. When the rest of the pattern does not fit, the last *
// takes one character more.
bool fits(const std::string& text, const std::string& pattern)
{
    std::size_t at = 0, in_pattern = 0, star = std::string::npos, star_at = 0;
    while (at < text.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star    = in_pattern++;
            star_at = at;
        } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
            at++;
            in_pattern++;
        } else if (star != std::string::npos) {
            in_pattern = star + 1;
            at         = ++star_at;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == std::string::npos;
}

bool is_in(const place_record& place, const std::string& pattern)
{
    return has_pattern(place.function, pattern) || has_pattern(place.file, pattern) ||
           has_pattern(place.module, pattern);
}

bool is_suppressed(const leak_record& leak, const std::vector<std::string>& patterns)
{
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return is_in(leak.site, pattern) ||
               std::any_of(leak.stack.begin(), leak.stack.end(), [&](const place_record& place) {
                   return is_in(place, pattern);
               });
    });
}

void change(
    leak_sum& sum, const leak_record& by, std::uint64_t (*how)(std::uint64_t, std::uint64_t)
)
{
    sum.places  = how(sum.places, 1);
    sum.blocks  = how(sum.blocks, by.blocks);
    sum.bytes   = how(sum.bytes, by.bytes);
    sum.samples = how(sum.samples, by.samples);
}

void suppress_in(process_record& process, const std::vector<std::string>& patterns)
{
    const auto kept = std::stable_partition(
        process.leaks.begin(),
        process.leaks.end(),
        [&](const leak_record& each) { return !is_suppressed(each, patterns); }
    );
    for (auto each = kept; each != process.leaks.end(); ++each) {
        const bool is_lost = each->reach != block_reach::still_reachable;
        change(is_lost ? process.leaked : process.reachable, *each, minus);
        if (is_lost) {
            change(process.suppressed, *each, plus);
        }
        if (each->reach == block_reach::indirectly_lost) {
            change(process.indirect, *each, minus);
        }
    }
    process.leaks.erase(kept, process.leaks.end());
}

}  // namespace

std::vector<std::string> read_suppressions(const std::string& path)
{
    std::vector<std::string> out;
    std::istringstream       lines{read_file(path)};
    std::string              line;
    for (std::size_t number = 1; std::getline(lines, line); number++) {
        const std::string text = trimmed(line);
        if (text.empty() || text[0] == '#') {
            continue;
        }
        if (text.rfind(prefix, 0) != 0 || text.size() == prefix.size()) {
            throw failure(fmt::format(
                "{}:{}: expected \"leak:PATTERN\", found \"{}\"", shown(path), number, shown(text)
            ));
        }
        out.push_back(text.substr(prefix.size()));
    }
    return out;
}

bool has_pattern(const std::string& text, const std::string& pattern)
{
    const bool        from_start = !pattern.empty() && pattern.front() == '^';
    const bool        to_end     = pattern.size() > from_start && pattern.back() == '$';
    const std::string inner      = pattern.substr(from_start, pattern.size() - from_start - to_end);
    return !text.empty() && fits(text, (from_start ? "" : "*") + inner + (to_end ? "" : "*"));
}

void suppress_leaks(std::vector<run_record>& runs, const std::vector<std::string>& patterns)
{
    for (run_record& run : runs) {
        for (process_record& process : run.processes) {
            suppress_in(process, patterns);
        }
    }
}

}  // namespace tool

// SPDX-License-Identifier: MIT
// How numbers, names and tables look, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

std::string grouped(std::uint64_t number);            // 1,234,567
std::string bytes_text(std::uint64_t bytes);          // 1.21 MiB
std::string seconds_text(double seconds);             // 12.3 ms
std::string percent_text(double part, double whole);  // 12.5 %; "-" of nothing
std::string number_of(std::uint64_t count, const char* one, const char* many);

/// `text` with nothing in it that could move a terminal's cursor: it may come from a stranger.
std::string shown(const std::string& text);

/// As a shell must be told: what a terminal would take amiss in the form $'...'.
std::string shell_quoted(const std::string& word);
std::string shell_quoted(const std::vector<std::string>& words);

/// Stops at the largest number instead of wrapping: a report may hold any.
std::uint64_t plus(std::uint64_t a, std::uint64_t b);
std::uint64_t times(std::uint64_t a, std::uint64_t b);

/// Columns as wide as they need; the first one to the left, the others to the right, but for the
/// last one if `is_last_left`.
class table
{
  public:
    explicit table(std::vector<std::string> head, bool is_last_left = false);
    void add(std::vector<std::string> row);
    bool empty() const
    {
        return rows_.size() == 1;
    }
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
    bool                                  is_last_left_;
};

/// Bold, if stdout is a terminal that wants it: NO_COLOR, TERM=dumb.
std::string headline(const std::string& text);

/// Prints data on stdout. Throws failure if it cannot be written.
void print(const std::string& text);

/// Says something to the user, on stderr, as "eggbox: ...".
void say(const std::string& text);

}  // namespace tool

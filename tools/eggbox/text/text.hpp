// SPDX-License-Identifier: MIT
// Numbers, names and tables as text, and output to the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

std::string grouped(std::uint64_t number);            // 1,234,567
std::string bytes_text(std::uint64_t bytes);          // 1.21 MiB
std::string seconds_text(double seconds);             // 12.34 ms, 123.4 ms, 1.23 s
std::string percent_text(double part, double whole);  // 12.5 %; "-" if whole is 0
std::string number_of(std::uint64_t count, const char* one, const char* many);

/// `text` with control characters escaped. Untrusted text must not move the cursor of a terminal.
std::string shown(const std::string& text);

/// `text`, or its first `most` bytes and "...". No character is cut.
std::string shortened(const std::string& text, std::size_t most);

/// Quoted for a shell; in the form $'...' if it has control characters.
std::string shell_quoted(const std::string& word);
std::string shell_quoted(const std::vector<std::string>& words);

/// The arguments of a process as it has them: quoted for a shell, or the title that it wrote over
/// them, as it is. Empty words behind the last one are what a title has cleared.
std::string arguments_text(std::vector<std::string> words);

/// Saturating: a report may hold any number.
std::uint64_t plus(std::uint64_t a, std::uint64_t b);
std::uint64_t minus(std::uint64_t a, std::uint64_t b);
std::uint64_t times(std::uint64_t a, std::uint64_t b);

/// A table with columns as wide as their contents. The first column is left-aligned, and the last
/// one if `is_last_left`; all others are right-aligned.
class table
{
  public:
    explicit table(std::vector<std::string> head, bool is_last_left = false);
    void add(std::vector<std::string> row);
    bool ends_with_text() const
    {
        return is_last_left_;
    }

    bool empty() const
    {
        return rows_.size() == 1;
    }

    /// The same without the column of that head, which each row has. It is neither the first nor
    /// the last.
    table without(const std::string& head) const;

    /// In the width of the terminal, if stdout is one.
    std::string text() const;

    /// In that width; 0: as wide as it is. A last column of text then has several lines. If the
    /// other columns do not fit, the table becomes several, each with the first column.
    std::string text(std::size_t width) const;

  private:
    std::vector<std::size_t> widths() const;
    std::string              row_text(
                     const std::vector<std::string>& row,
                     const std::vector<std::size_t>& which,
                     const std::vector<std::size_t>& widths
                 ) const;

    std::vector<std::vector<std::string>> rows_;
    bool                                  is_last_left_;
};

/// Bold if stdout is a terminal, unless NO_COLOR is set to a text, or TERM is "dumb" or not set.
std::string headline(const std::string& text);

/// From now on a write that the system refuses is an error, and no signal ends the command. The
/// programs that it starts get these signals as the command did.
void go_on_after_refused_writes();

/// No file that is opened from now on gets the number of a standard stream that is closed: messages
/// would go into that file. For the programs that are started, the stream is closed as ever.
void keep_closed_streams();

/// Prints data on stdout. Throws failure if it cannot be written. If its reader has gone, as `head`
/// does, ends the command by SIGPIPE, as other commands end.
void print(const std::string& text);

/// Sentences and tables for stdout: in the width of the terminal, if it is one.
std::string fitted(const std::string& page);

/// Prints a message on stderr, as "eggbox: ...", in the width of the terminal.
void say(const std::string& text);

}  // namespace tool

// SPDX-License-Identifier: MIT
#include "text/text.hpp"

#include "text/failure.hpp"
#include "text/fold.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool
{
namespace
{

bool continues(const std::string& text, std::size_t at)
{
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// The bytes of the character of UTF-8 that begins here; 0: none does.
std::size_t character_bytes(const std::string& text, std::size_t at)
{
    const auto        first = static_cast<unsigned char>(text[at]);
    const std::size_t count = first < 0x80                    ? 1
                              : first >= 0xC2 && first < 0xE0 ? 2
                              : first >= 0xE0 && first < 0xF0 ? 3
                              : first >= 0xF0 && first < 0xF5 ? 4
                                                              : 0;
    for (std::size_t i = 1; i < count; i++) {
        if (!continues(text, at + i)) {
            return 0;
        }
    }
    return count;
}

// True if the byte is no part of a character: terminals without UTF-8 take such bytes for control
// characters, too.
bool is_stray(const std::string& text, std::size_t at)
{
    std::size_t first = at;
    while (first > 0 && at - first < 3 && continues(text, first)) {
        first--;
    }
    return first + character_bytes(text, first) <= at;
}

// True if the byte at `at` is a control character or part of one. U+0080 to U+009F, two bytes each,
// are control characters too: some terminals accept them in place of ESC [. U+202A to U+202E and
// U+2066 to U+2069, three bytes each, count as well: they change the order in which the rest of a
// line is shown.
bool is_control(const std::string& text, std::size_t at)
{
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto begins_c1 = [&](std::size_t i) {
        return byte(i) == 0xC2 && (byte(i + 1) & 0xE0) == 0x80;
    };
    const auto begins_order = [&](std::size_t i) {
        const unsigned last = byte(i + 2);
        return byte(i) == 0xE2 && ((byte(i + 1) == 0x80 && last >= 0xAA && last <= 0xAE) ||
                                   (byte(i + 1) == 0x81 && last >= 0xA6 && last <= 0xA9));
    };
    return byte(at) < 0x20 || byte(at) == 0x7F || begins_c1(at) || (at > 0 && begins_c1(at - 1)) ||
           begins_order(at) || (at > 0 && begins_order(at - 1)) ||
           (at > 1 && begins_order(at - 2)) || is_stray(text, at);
}

// Unlike an ignored signal, one with a handler is as ever in the programs that are started.
void do_nothing(int) {}

void end_without_reader()
{
    struct sigaction now = {};
    if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == do_nothing) {
        now.sa_handler = SIG_DFL;
        sigaction(SIGPIPE, &now, nullptr);
        raise(SIGPIPE);
    }
}

}  // namespace

std::string grouped(std::uint64_t number)
{
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string bytes_text(std::uint64_t bytes)
{
    static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        return fmt::format("{} B", bytes);
    }
    double      size = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; size >= 1023.995; unit++) {
        size /= 1024;
    }
    return fmt::format("{:.{}f} {}", size, size < 10 ? 2 : size < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds)
{
    if (seconds < 0.9995) {
        return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 2 : 1);
    }
    return fmt::format("{:.{}f} s", seconds, seconds < 100 ? 2 : 0);
}

// Less than 100 % is never rounded to 100 %, and more than 0 % never to 0 %.
std::string percent_text(double part, double whole)
{
    if (whole <= 0) {
        return "-";
    }
    const double percent = part / whole * 100;
    if (part < whole && percent >= 99.995) {
        return "> 99.99 %";
    }
    if (part > 0 && percent < 0.05) {
        return "< 0.1 %";
    }
    return fmt::format("{:.{}f} %", percent, percent >= 99 && part < whole ? 2 : 1);
}

std::string number_of(std::uint64_t count, const char* one, const char* many)
{
    return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

std::string shown(const std::string& text)
{
    std::string out;
    for (std::size_t at = 0; at < text.size(); at++) {
        if (is_control(text, at)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        } else {
            out += text[at];
        }
    }
    return out;
}

std::string shortened(const std::string& text, std::size_t most)
{
    if (text.size() <= most) {
        return text;
    }
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        end--;
    }
    return text.substr(0, end) + "...";
}

std::string shell_quoted(const std::string& word)
{
    static constexpr char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+./:,@%=";
    if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos) {
        return word;
    }
    const bool  has_control = shown(word) != word;
    std::string out         = has_control ? "$'" : "'";
    for (std::size_t at = 0; at < word.size(); at++) {
        const char c = word[at];
        if (has_control && (c == '\'' || c == '\\')) {
            out += std::string("\\") + c;
        } else if (c == '\'') {
            out += "'\\''";
        } else if (is_control(word, at)) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::string shell_quoted(const std::vector<std::string>& words)
{
    std::string out;
    for (const std::string& word : words) {
        out += (out.empty() ? "" : " ") + shell_quoted(word);
    }
    return out;
}

std::string arguments_text(std::vector<std::string> words)
{
    while (words.size() > 1 && words.back().empty()) {
        words.pop_back();
    }
    if (words.size() != 1 || words.front().find(": ") == std::string::npos) {
        return shell_quoted(words);
    }
    const std::string& title = words.front();
    return title.substr(0, title.find_last_not_of(' ') + 1);
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b)
{
    return a > b ? a - b : 0;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

table::table(std::vector<std::string> head, bool is_last_left) : is_last_left_(is_last_left)
{
    rows_.push_back(std::move(head));
}

void table::add(std::vector<std::string> row)
{
    rows_.push_back(std::move(row));
}

table table::without(const std::string& head) const
{
    const auto column = std::find(rows_.front().begin(), rows_.front().end(), head);
    const auto at     = column - rows_.front().begin();
    table      out    = *this;
    for (std::vector<std::string>& row : out.rows_) {
        row.erase(row.begin() + at);
    }
    return out;
}

std::vector<std::size_t> table::widths() const
{
    std::vector<std::size_t> out(rows_.front().size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); i++) {
            out[i] = std::max(out[i], columns(row[i]));
        }
    }
    return out;
}

// One row with these columns, the last of them on several lines if it is text.
std::string table::row_text(
    const std::vector<std::string>& row,
    const std::vector<std::size_t>& which,
    const std::vector<std::size_t>& widths
) const
{
    std::string line;
    for (const std::size_t i : which) {
        if (i >= row.size()) {
            continue;
        }
        line += i == 0 ? "" : "  ";
        const std::size_t taken = columns(row[i]);
        const std::string blanks(widths[i] - std::min(taken, widths[i]), ' ');
        const bool        is_left = i == 0 || (is_last_left_ && i + 1 == row.size());
        if (taken <= widths[i]) {
            line += is_left ? row[i] + blanks : blanks + row[i];
            continue;
        }
        const std::string before(columns(line), ' ');
        std::string       lines;
        for (const std::string& each : lines_of(row[i], widths[i])) {
            lines += (lines.empty() ? "" : "\n" + before) + each;
        }
        line += lines;
    }
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string table::text(std::size_t width) const
{
    constexpr std::size_t                 text_min = 20;
    std::vector<std::size_t>              widths   = this->widths();
    const std::size_t                     last     = widths.size() - 1;
    std::vector<std::vector<std::size_t>> blocks{{0}};
    std::size_t                           used = widths[0];
    for (std::size_t i = 1; i < widths.size(); i++) {
        const bool is_text = is_last_left_ && i == last;
        const auto least   = is_text ? std::min(widths[i], text_min) : widths[i];
        if (width > 0 && used + 2 + least > width && blocks.back().size() > 1) {
            blocks.push_back({0});
            used = widths[0];
        }
        if (is_text && width > 0 && used + 2 + widths[i] > width) {
            widths[i] = std::max(least, width - std::min(width, used + 2));
        }
        blocks.back().push_back(i);
        used += 2 + widths[i];
    }
    std::string out;
    for (const std::vector<std::size_t>& which : blocks) {
        out += out.empty() ? "" : "\n";
        for (const auto& row : rows_) {
            out += row_text(row, which, widths);
        }
    }
    return out;
}

std::string table::text() const
{
    return text(terminal_width(STDOUT_FILENO));
}

std::string headline(const std::string& text)
{
    const char* const no_color = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    const bool is_plain = (no_color != nullptr && *no_color != '\0') || terminal == nullptr ||
                          std::strcmp(terminal, "dumb") == 0 || isatty(STDOUT_FILENO) == 0;
    return is_plain ? text : "\x1b[1m" + text + "\x1b[0m";
}

void go_on_after_refused_writes()
{
    for (const int each : {SIGPIPE, SIGXFSZ}) {
        struct sigaction now = {};
        if (sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
            now.sa_handler = do_nothing;
            now.sa_flags   = SA_RESTART;
            sigaction(each, &now, nullptr);
        }
    }
}

// Opens /dev/null in place of a closed stream, in the other direction: reads and writes fail as on
// the closed one.
void keep_closed_streams()
{
    for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(each, F_GETFD) < 0) {
            open("/dev/null", (each == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        }
    }
}

void print(const std::string& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        const int error = errno;
        if (error == EPIPE) {
            end_without_reader();
        }
        throw failure(fmt::format("cannot write to stdout: {}", std::strerror(error)));
    }
}

std::string fitted(const std::string& page)
{
    return folded(page, terminal_width(STDOUT_FILENO));
}

void say(const std::string& text)
{
    const std::string name  = "eggbox: ";
    const std::size_t hang  = name.size() + std::min(text.find_first_not_of(' '), text.size()) + 2;
    const std::string lines = folded(name + text, terminal_width(STDERR_FILENO), hang);
    std::fprintf(stderr, "%s\n", lines.c_str());
}

}  // namespace tool

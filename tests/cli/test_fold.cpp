// SPDX-License-Identifier: MIT
// Sentences and tables in the width of a terminal.
#include "text/fold.hpp"
#include "text/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace tool;

std::size_t widest(const std::string& text)
{
    std::istringstream lines{text};
    std::size_t        most = 0;
    for (std::string line; std::getline(lines, line);) {
        most = std::max(most, columns(line));
    }
    return most;
}

std::string without_blanks(std::string text)
{
    for (const char blank : {' ', '\n'}) {
        text.erase(std::remove(text.begin(), text.end(), blank), text.end());
    }
    return text;
}

TEST(fold, a_sentence_is_broken_between_words)
{
    EXPECT_EQ(folded("one two three\n", 8), "one two\nthree\n");
    EXPECT_EQ(folded("one two three", 13), "one two three");
    EXPECT_EQ(folded("  one two three\n", 9), "  one two\n    three\n");
    EXPECT_EQ(folded("eggbox: one two\n", 12, 10), "eggbox: one\n      two\n");
    EXPECT_EQ(folded("", 10), "");
    EXPECT_EQ(folded("one two\n\n", 3), "one\ntwo\n\n");
}

TEST(fold, without_a_terminal_nothing_changes)
{
    EXPECT_EQ(folded("one two three\n", 0), "one two three\n");
}

TEST(fold, what_a_user_copies_stays_whole)
{
    EXPECT_EQ(folded("Next: eggbox size /a/b.json\n", 10), "Next: eggbox size /a/b.json\n");
    EXPECT_EQ(folded("eggbox: next: eggbox a\n", 10), "eggbox: next: eggbox a\n");
    EXPECT_EQ(folded("in /a/long/path it\n", 6), "in\n/a/long/path\nit\n");
}

TEST(fold, bold_text_and_characters_of_several_bytes_have_their_columns)
{
    EXPECT_EQ(columns("\x1b[1mbold\x1b[0m"), 4u);
    EXPECT_EQ(columns("\xC2\xB1 1"), 3u);
    EXPECT_EQ(columns("\x1b[1"), 0u);
    EXPECT_EQ(
        lines_of("\xC2\xB1\xC2\xB1\xC2\xB1", 2),
        (std::vector<std::string>{"\xC2\xB1\xC2\xB1", "\xC2\xB1"})
    );
}

TEST(fold, characters_of_two_columns_and_of_none_are_counted_so)
{
    EXPECT_EQ(columns("\xE6\x97\xA5\xE6\x9C\xAC"), 4u);      // U+65E5, U+672C
    EXPECT_EQ(columns("\xF0\x9F\x98\x80"), 2u);              // U+1F600
    EXPECT_EQ(columns("e\xCC\x81"), 1u);                     // U+0301
    EXPECT_EQ(columns("\xE2\x80\xA6\xC3\xA9\xDE\x80"), 3u);  // U+2026, U+00E9, U+0780
    EXPECT_EQ(
        lines_of("\xE6\x97\xA5\xE6\x9C\xAC", 3),
        (std::vector<std::string>{"\xE6\x97\xA5", "\xE6\x9C\xAC"})
    );
    EXPECT_EQ(lines_of("\xE6\x97\xA5", 1), (std::vector<std::string>{"\xE6\x97\xA5"}));
    table of{{"pool", "blocks"}};
    of.add({"\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "1"});
    of.add({"a", "2"});
    EXPECT_EQ(
        of.text(0), "pool    blocks\n\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5       1\na            2\n"
    );
}

TEST(fold, a_table_that_fits_is_one)
{
    table of{{"pool", "blocks", "why"}, true};
    of.add({"a", "1", "because"});
    EXPECT_EQ(of.text(0), "pool  blocks  why\na          1  because\n");
    EXPECT_EQ(of.text(21), of.text(0));
}

TEST(fold, a_last_column_of_text_has_several_lines)
{
    table of{{"pool", "why"}, true};
    of.add({"a", "it is the first one of all"});
    of.add({"b", ""});
    EXPECT_EQ(of.text(28), "pool  why\na     it is the first one of\n      all\nb\n");
}

TEST(fold, a_wide_table_becomes_several)
{
    table of{{"pool", "blocks", "peak"}};
    of.add({"a", "1", "2"});
    EXPECT_EQ(of.text(12), "pool  blocks\na          1\n\npool  peak\na        2\n");
}

TEST(fold, no_width_loses_anything)
{
    table of{{"name", "one", "two", "three", "text"}, true};
    of.add({"first", "1,234", "5,678", "9", "words of/any/length/and then some more of them"});
    of.add({"second", "1", "2", "3", "x"});
    for (std::size_t width = 1; width < 100; width++) {
        const std::string text = of.text(width);
        for (const char* const each : {"1,234", "5,678", "words"}) {
            EXPECT_NE(without_blanks(text).find(each), std::string::npos) << width << text;
        }
        EXPECT_LE(widest(text), std::max<std::size_t>(width, 28)) << width << text;
    }
}

}  // namespace

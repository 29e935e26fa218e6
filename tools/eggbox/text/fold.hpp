// SPDX-License-Identifier: MIT
// Text in the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tool
{

/// The columns of the terminal behind a descriptor. 0: there is none, or it does not say.
std::size_t terminal_width(int file);

/// How many columns a text takes: one for each character, none for the escapes of bold text.
std::size_t columns(const std::string& text);

/// The beginning of the text that has no more columns, in whole characters.
std::string cut_to(const std::string& text, std::size_t width);

/// The words of a text in lines of `width`. A word that is longer becomes several.
std::vector<std::string> lines_of(const std::string& text, std::size_t width);

/// Each line that is longer than `width` becomes several. The later ones have `hang` blanks in
/// front; with 0, two more than the first has, if it has any. Words that are longer, such as paths,
/// and commands to type next stay whole, so that they can be copied. A width of 0 changes nothing.
std::string folded(const std::string& text, std::size_t width, std::size_t hang = 0);

}  // namespace tool

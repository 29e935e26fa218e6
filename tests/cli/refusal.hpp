// SPDX-License-Identifier: MIT
// Whether the command takes a text for a report.
#ifndef EGGBOX_TESTS_CLI_REFUSAL_HPP
#define EGGBOX_TESTS_CLI_REFUSAL_HPP

#include "records/records.hpp"
#include "text/failure.hpp"

#include <string>

// Why `text` is refused; empty: it is not.
inline std::string refusal(const std::string& text)
{
    try {
        tool::parse_report(text, "a.json");
        return "";
    } catch (const tool::failure& error) {
        return error.what();
    }
}

#endif  // EGGBOX_TESTS_CLI_REFUSAL_HPP

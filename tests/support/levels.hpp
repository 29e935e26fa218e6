// SPDX-License-Identifier: MIT
// Levels by their names, for tests that run at several of them and say which.
#ifndef EGGBOX_TESTS_SUPPORT_LEVELS_HPP
#define EGGBOX_TESTS_SUPPORT_LEVELS_HPP

#include "eggbox/misuse.h"
#include <cstring>

// NULL: the default. A name of no level: a number of no level, that the type can have.
inline egb_level level_named(const char* name)
{
    for (int level = EGB_LEVEL_DEFAULT; level <= EGB_LEVEL_SAMPLE; level++) {
        if (name == nullptr ||
            std::strcmp(name, egb_level_text(static_cast<egb_level>(level))) == 0) {
            return static_cast<egb_level>(level);
        }
    }
    return static_cast<egb_level>(EGB_LEVEL_SAMPLE + 1);
}

#endif  // EGGBOX_TESTS_SUPPORT_LEVELS_HPP

// SPDX-License-Identifier: MIT
// Sets variables of the environment, for tests of the library's settings.
#ifndef EGGBOX_TESTS_SUPPORT_ENVIRONMENT_HPP
#define EGGBOX_TESTS_SUPPORT_ENVIRONMENT_HPP

#include <cstdlib>

extern "C" void egb_environment_read_();

// nullptr: nothing.
inline void set_variable_unread(const char* name, const char* value)
{
#if defined(_WIN32)
    _putenv_s(name, value == nullptr ? "" : value);
#else
    if (value == nullptr) {
        unsetenv(name);
    } else {
        setenv(name, value, 1);
    }
#endif
}

// The library, which has read it already, reads it again: no pool may be made meanwhile.
inline void set_variable(const char* name, const char* value)
{
    set_variable_unread(name, value);
    egb_environment_read_();
}

#endif  // EGGBOX_TESTS_SUPPORT_ENVIRONMENT_HPP

// SPDX-License-Identifier: MIT
// See windows.h.
#ifndef EGGBOX_TESTS_PORTS_STDLIB_H
#define EGGBOX_TESTS_PORTS_STDLIB_H

_Noreturn void abort(void);
char*          getenv(const char* name);

#endif  // EGGBOX_TESTS_PORTS_STDLIB_H

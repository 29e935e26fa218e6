// SPDX-License-Identifier: MIT
// Layer os, private to the POSIX files: what the loader can be asked for.
#ifndef EGGBOX_SRC_OS_POSIX_LOADER_H
#define EGGBOX_SRC_OS_POSIX_LOADER_H

#include <stdbool.h>

// Whether dlopen() may be called at the beginning of the process. The malloc library begins before
// the C library. If an auditor watches the loader, dlopen() then clears the thread-local variables
// of the C library, which have their values already: seen with glibc 2.36.
bool egb_posix_may_open_(void);

// The loader's name of the library that an address is in: dlopen() finds it by that. "": none, as
// the program has. Lives as long as the library is loaded.
const char* egb_posix_loaded_as_(const void* address);

#endif  // EGGBOX_SRC_OS_POSIX_LOADER_H

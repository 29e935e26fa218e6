// SPDX-License-Identifier: MIT
// Layer os, private to the POSIX files: what the loader can be asked for.
#ifndef EGGBOX_SRC_OS_POSIX_LOADER_H
#define EGGBOX_SRC_OS_POSIX_LOADER_H

#include <stdbool.h>

// Whether dlopen() may be called. The malloc library begins before the C library. dlopen() would
// run the constructor of the C library then, without the arguments of the program: messages would
// lack its name, and constructors of libraries that it opens would get no arguments. If an auditor
// watches the loader, the thread-local variables of the C library would be cleared as well.
bool egb_posix_may_open_(void);

// The loader's name of the library that an address is in: dlopen() finds it by that. "": none, as
// the program has. Lives as long as the library is loaded.
const char* egb_posix_loaded_as_(const void* address);

// Whether two addresses are in one library, or both in the program.
bool egb_posix_is_one_library_(const void* address, const void* other);

#endif  // EGGBOX_SRC_OS_POSIX_LOADER_H

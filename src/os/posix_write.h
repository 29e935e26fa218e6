// SPDX-License-Identifier: MIT
// Layer os, private to the POSIX files: every write of the library.
#ifndef EGGBOX_SRC_OS_POSIX_WRITE_H
#define EGGBOX_SRC_OS_POSIX_WRITE_H

#include <stddef.h>
#include <sys/types.h>

// Writes all, as write() does, or from `*place` on, as pwrite() does. Returns 0, or the number of
// the system's error. The program gets neither SIGPIPE nor SIGXFSZ from it, and errno stays.
int egb_posix_write_(int file, const off_t* place, const char* text, size_t bytes);

#endif  // EGGBOX_SRC_OS_POSIX_WRITE_H

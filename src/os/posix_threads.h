// SPDX-License-Identifier: MIT
// Layer os: what other files of POSIX systems ask of threads.
#ifndef EGGBOX_OS_POSIX_THREADS_H
#define EGGBOX_OS_POSIX_THREADS_H

#include <stdbool.h>

// Whether this thread is the only one, for certain. Where the C library does not say: false.
bool egb_posix_is_only_thread_(void);

#endif  // EGGBOX_OS_POSIX_THREADS_H

// SPDX-License-Identifier: MIT
// Layer os: what other files of POSIX systems need to know of threads, and to prepare.
#ifndef EGGBOX_OS_POSIX_THREADS_H
#define EGGBOX_OS_POSIX_THREADS_H

#include <stdbool.h>

// Whether this thread is the only one, for certain. False if the C library does not tell.
bool egb_posix_is_only_thread_(void);

// Asks the C library for what egb_os_wait_() needs. For egb_os_prepare_().
void egb_posix_prepare_waits_(void);

#endif  // EGGBOX_OS_POSIX_THREADS_H

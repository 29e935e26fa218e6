// SPDX-License-Identifier: MIT
// Layer os: facts and preparations of threads, for other files of POSIX systems.
#ifndef EGGBOX_OS_POSIX_THREADS_H
#define EGGBOX_OS_POSIX_THREADS_H

#include <stdbool.h>

// Whether this thread is the only one, for certain. False if the C library does not tell.
bool egb_posix_is_only_thread_(void);

// Asks the C library for what egb_os_wait_() needs. For egb_os_prepare_().
void egb_posix_prepare_waits_(void);

#endif  // EGGBOX_OS_POSIX_THREADS_H

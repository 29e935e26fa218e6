// SPDX-License-Identifier: MIT
// Layer os, private to the POSIX files: the clock that they share.
#ifndef EGGBOX_SRC_OS_POSIX_CLOCK_H
#define EGGBOX_SRC_OS_POSIX_CLOCK_H

#include "os.h"

#include <time.h>

// As clock_gettime(), but of no other library than the C library. Changes errno. Before
// egb_os_prepare_() it may leave `now` alone.
void egb_posix_clock_(clockid_t clock, struct timespec* now);

#endif  // EGGBOX_SRC_OS_POSIX_CLOCK_H

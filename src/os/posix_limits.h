// SPDX-License-Identifier: MIT
// Layer os, private to the POSIX files and their tests: the limits of control groups.
#ifndef EGGBOX_SRC_OS_POSIX_LIMITS_H
#define EGGBOX_SRC_OS_POSIX_LIMITS_H

#include "os.h"

#if defined(__cplusplus)
extern "C" {
#endif

// As egb_os_group_limit_(), with all its files below the folder `root`; "" is the system's.
size_t egb_posix_group_limit_(const char* root);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_SRC_OS_POSIX_LIMITS_H

// SPDX-License-Identifier: MIT
// Memory in which a leak checker finds what is not leaked. LeakSanitizer knows what malloc gave and
// looks for pointers to it there, in stacks and in static objects: not in our pages, unless it is
// told of them.
#ifndef EGGBOX_SRC_OS_POSIX_ROOTS_H
#define EGGBOX_SRC_OS_POSIX_ROOTS_H

#include "os.h"

// Has a leak checker, if the program has one, look through a range when the process ends; when that
// was given back, through what is mapped there then. Not through more than a GiB: it reads it all.
void egb_posix_add_root_(const void* region, size_t bytes);

#endif  // EGGBOX_SRC_OS_POSIX_ROOTS_H

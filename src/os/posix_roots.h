// SPDX-License-Identifier: MIT
// Memory in which a leak checker finds pointers to blocks that are not leaked. LeakSanitizer knows
// what malloc gave and looks for pointers to it there, in stacks and in static objects: not in our
// pages, unless it is told of them.
#ifndef EGGBOX_SRC_OS_POSIX_ROOTS_H
#define EGGBOX_SRC_OS_POSIX_ROOTS_H

#include "os.h"

// Has a leak checker, if the program has one, look through a range when the process ends. If the
// range was given back, it looks through the new mappings there. Not through more than a GiB: it
// reads it all.
void egb_posix_add_root_(const void* region, size_t bytes);

#endif  // EGGBOX_SRC_OS_POSIX_ROOTS_H

// SPDX-License-Identifier: MIT
// Shared by xallocator.c and xallocator_static.c. A library has one of the two.
#ifndef EGGBOX_SRC_COMPAT_XALLOCATOR_PRIVATE_H
#define EGGBOX_SRC_COMPAT_XALLOCATOR_PRIVATE_H

#include <stddef.h>

// Writes a line of xalloc_stats().
void egb_xwrite_line_(size_t block_bytes, size_t count, size_t in_use);

#endif  // EGGBOX_SRC_COMPAT_XALLOCATOR_PRIVATE_H

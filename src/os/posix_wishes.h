// SPDX-License-Identifier: MIT
// What a POSIX system makes of the wishes for pages. May change errno.
#ifndef EGGBOX_SRC_OS_POSIX_WISHES_H
#define EGGBOX_SRC_OS_POSIX_WISHES_H

#include "os.h"

// Wishes for large pages.
void egb_posix_wish_huge(void* region, size_t bytes);

// What came of asking for all pages in one call.
typedef enum egb_posix_populated {
    EGB_POSIX_POPULATED,  // they are there
    EGB_POSIX_UNKNOWN,    // there is no such call: touch them
    EGB_POSIX_REFUSED     // there is no memory: do not touch them
} egb_posix_populated;

egb_posix_populated egb_posix_populate(void* region, size_t bytes);

// Bytes of the range that are in memory, as far as can be known. `wishes` were granted.
size_t egb_posix_prefaulted(void* region, size_t bytes, unsigned wishes);

// Bytes of the range that certainly are in large pages.
size_t egb_posix_huge(const void* region, size_t bytes);

#endif  // EGGBOX_SRC_OS_POSIX_WISHES_H

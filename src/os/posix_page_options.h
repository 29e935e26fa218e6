// SPDX-License-Identifier: MIT
// The options for pages on a POSIX system. May change errno.
#ifndef EGGBOX_SRC_OS_POSIX_PAGE_OPTIONS_H
#define EGGBOX_SRC_OS_POSIX_PAGE_OPTIONS_H

#include "os.h"

// Wishes for large pages.
void egb_posix_ask_huge_(void* region, size_t bytes);

// The result of asking for all pages in one call.
typedef enum egb_posix_populated {
    EGB_POSIX_POPULATED,  // they are there
    EGB_POSIX_UNKNOWN,    // there is no such call: touch them
    EGB_POSIX_REFUSED     // there is no memory: do not touch them
} egb_posix_populated;

egb_posix_populated egb_posix_populate_(void* region, size_t bytes);

// Bytes of the range that are in memory, as far as can be known. `page_options` were granted.
size_t egb_posix_prefaulted_(void* region, size_t bytes, unsigned page_options);

// Bytes of the range that certainly are in large pages.
size_t egb_posix_huge_(const void* region, size_t bytes);

#endif  // EGGBOX_SRC_OS_POSIX_PAGE_OPTIONS_H

// SPDX-License-Identifier: MIT
// Room region: the sizes that large requests have most often. A program that passes frames asks for
// few sizes, and pools can be planned for them. All functions need the lock of large blocks.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_SIZES_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_SIZES_H

#include "eggbox/base.h"

enum { EGB_LARGE_SIZES = 64 };

// Any size that had more than one in EGB_LARGE_SIZES of all requests is in the table.
typedef struct egb_large_size {
    size_t   bytes;     // as requested; 0: no size is here
    uint64_t requests;  // since the table began, or since egb_large_sizes_restart_()
    uint64_t over;      // up to so many of these may have been of another size
    size_t   in_use;    // blocks that came since the size did
    size_t   peak;
    uint64_t came;  // the request with which the size came into the table
} egb_large_size;

// The entry that counts a block, as the block remembers it. All zero: it is counted nowhere.
typedef struct egb_large_counted {
    size_t   bytes;
    uint64_t request;  // its number
} egb_large_counted;

// Counts a block of `bytes`. O(sizes).
egb_large_counted egb_large_sizes_add_(size_t bytes);

// The block is no longer in use, or no longer of that size. O(sizes).
void egb_large_sizes_remove_(const egb_large_counted* counted);

// The counts begin anew, and peaks at the blocks in use.
void egb_large_sizes_restart_(void);

// The size at a place, from 0 to EGB_LARGE_SIZES - 1.
egb_large_size egb_large_sizes_at_(size_t place);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_SIZES_H

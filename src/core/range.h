// SPDX-License-Identifier: MIT
// Layer core: address ranges in a tree: the chunks of a growing pool, the regions of large blocks.
//
// The tree is a treap: by address from left to right, and no range has a lower priority than those
// below it. Priorities are mixed from addresses, so the tree is as deep as one that was built in
// random order, and every step is a loop: R. Seidel and C. Aragon, "Randomized Search Trees", 1996.
#ifndef EGGBOX_SRC_CORE_RANGE_H
#define EGGBOX_SRC_CORE_RANGE_H

#include "eggbox/base.h"

// A part of the struct that it is about. The ranges of a tree do not overlap, and their starts do
// not change while they are in it.
typedef struct egb_range {
    void*             start;
    size_t            bytes;
    struct egb_range* left;
    struct egb_range* right;
} egb_range;

void egb_range_add_(egb_range** root, egb_range* range);
void egb_range_remove_(egb_range** root, const egb_range* range);

// The range that contains `address`; NULL: none does. O(log ranges).
egb_range* egb_range_find_(egb_range* root, const void* address);

// The first range that starts after `address`; after 0, the first of all.
egb_range* egb_range_after_(egb_range* root, uintptr_t address);

// Whether neither child of the range should be above it.
bool egb_range_is_ordered_at_(const egb_range* range);

#endif  // EGGBOX_SRC_CORE_RANGE_H

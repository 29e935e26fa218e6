// SPDX-License-Identifier: MIT
// Room cache: how many bytes of free blocks magazines have room for. All threads together have so
// many; each has its part of them, and a few in any case. A closed magazine claims nothing. The
// pool is locked.
#ifndef EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H
#define EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H

#include "magazine.h"

// Whether it is in the table of the calling thread: owned magazines have what they want.
bool egb_magazine_is_of_thread_(const egb_magazine_* magazine);

// Counts `batch`, which is about to be loaded, in place of the one loaded now. NULL: none.
void egb_claim_change_(
    const egb_depot* depot, const egb_magazine_* magazine, const egb_batch* batch
);

// Whether so many bytes more are within the part of the calling thread, and within that of all.
bool egb_claim_is_allowed_(size_t bytes);

// Whether the calling thread has more than its part, and all have more than theirs.
bool egb_claim_is_too_much_(void);

// Leaves room for a few blocks in an empty batch, if its thread may not have more.
void egb_batch_shorten_(const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch);

#endif  // EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H

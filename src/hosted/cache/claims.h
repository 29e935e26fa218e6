// SPDX-License-Identifier: MIT
// Room cache: how many bytes of free blocks magazines have room for. All threads share one limit.
// Each magazine may claim a part of what the others leave of it, and room for a few blocks in any
// case. A magazine without room claims nothing. The pool is locked.
#ifndef EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H
#define EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H

#include "magazine.h"

// Whether it is in the table of the calling thread. Owned magazines are in none: no claim of theirs
// is cut.
bool egb_magazine_is_of_thread_(const egb_magazine_* magazine);

// Counts `batch`, which is about to be loaded, in place of the one loaded now. NULL: none.
void egb_claim_change_(
    const egb_depot* depot, const egb_magazine_* magazine, const egb_batch* batch
);

// How many bytes one more pool may claim for the calling thread, which claims `own` bytes for
// others: a part of what all threads leave, and some in any case.
size_t egb_claim_allowed_(size_t own);

// How many of `wanted` blocks the magazine may have room for in place of its loaded batch: as many
// as its thread may claim, and a few in any case. All, if it is no thread's.
size_t egb_claim_room_(const egb_depot* depot, const egb_magazine_* magazine, size_t wanted);

// Whether the loaded batch has much more than it might have now.
bool egb_claim_is_too_much_(const egb_depot* depot, const egb_magazine_* magazine);

// Cuts the room in a batch to what the magazine may have, but never below the blocks that it holds:
// other threads may have claimed more since it was filled.
void egb_batch_shorten_(const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch);

// The same for an empty batch that is to be its remote one, and the length of the next one at most.
// No remote batch has room for more blocks than the loaded one and for more than 32 KiB, or 4 KiB
// if there are more than eight threads.
void egb_batch_shorten_remote_(
    const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch
);
size_t egb_claim_remote_length_(const egb_depot* depot, const egb_magazine_* magazine);

#endif  // EGGBOX_SRC_HOSTED_CACHE_CLAIMS_H

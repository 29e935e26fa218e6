// SPDX-License-Identifier: MIT
// Room cache: the most blocks of a pool in use at one time, without a counter on the hot path:
// docs/decisions/0029. The pool is locked.
#ifndef EGGBOX_SRC_HOSTED_CACHE_PEAK_H
#define EGGBOX_SRC_HOSTED_CACHE_PEAK_H

#include "depot.h"

// Notes that more blocks are out than before: in the hands of callers or in magazines. If nearly
// all blocks are, chunks are no longer gathered.
void egb_note_peak_(egb_depot* depot);

// Raises the peak to the most blocks that can have been in use since the last call. To be called
// before each change that is made with the lock held to the entries that `magazine` has loaded.
// NULL: a magazine is about to be attached.
void egb_peak_settle_(egb_depot* depot, const egb_magazine_* magazine);

// The same before the blocks of all closed magazines are taken out: those are not out from now on.
// Their threads have passed a fence, and the registry is locked.
void egb_peak_settle_closed_(egb_depot* depot);

// Raises the peak after exchanges with parts of a depot that is split: the depot had `low` blocks
// at least. All that magazines held meanwhile counts as used.
void egb_peak_gather_(egb_depot* depot, size_t low);

// Notes how many blocks are out, after those of a magazine were taken out that egb_peak_settle_()
// has looked at. The peak stays.
void egb_peak_leave_(egb_depot* depot);

// Marks the entries just loaded whose use would be a new peak.
void egb_peak_mark_(const egb_depot* depot, const egb_magazine_* magazine);

// The peak until now. The registry is locked. O(threads, free blocks in magazines)
size_t egb_peak_(egb_depot* depot);

#endif  // EGGBOX_SRC_HOSTED_CACHE_PEAK_H

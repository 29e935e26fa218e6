// SPDX-License-Identifier: MIT
// Room pool: copies of the numbers of pools, in memory that outlives the process: eggbox/live.h.
#ifndef EGGBOX_SRC_HOSTED_POOL_LIVE_NUMBERS_H
#define EGGBOX_SRC_HOSTED_POOL_LIVE_NUMBERS_H

#include "control.h"
#include "eggbox/live.h"

// Receives the numbers of pools, by the slots of pools; NULL: nobody wants to know. Atomic.
extern egb_live_slot* egb_live_slot_;

void egb_live_note_other_(const egb_control* control);

// Copies the numbers of a pool, which is locked. If it has ended, its place is free.
static inline void egb_live_note_(const egb_control* control)
{
    if (EGB_LOAD_(egb_live_slot_) != NULL) {
        egb_live_note_other_(control);
    }
}

// Counts the free blocks in magazines anew, if the last time is long enough ago. Takes the registry
// lock and then each pool's, for O(threads) each. No lock is held.
void egb_live_count_(void);

// Copies the numbers of all pools to another slot, and from now on each time that a pool is
// unlocked. NULL: no longer. No lock is held.
void egb_live_pools_to_(egb_live_slot* live);

#endif  // EGGBOX_SRC_HOSTED_POOL_LIVE_NUMBERS_H

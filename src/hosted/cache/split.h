// SPDX-License-Identifier: MIT
// Room cache: depots that are split. If threads often wait for the lock of a pool, each lane's part
// of its depot is locked by a lock of its own: a magazine exchanges batches with the part of its
// lane, and takes the pool's lock only if that part has no batch, or no room. Whoever locks the
// pool locks all parts, and so finds it as if there had been one lock: docs/decisions/0051.
//
// The calls below are for a magazine's own thread, without a lock. They change nothing and say no
// if the depot is not split, or the exchange needs more than a part.
#ifndef EGGBOX_SRC_HOSTED_CACHE_SPLIT_H
#define EGGBOX_SRC_HOSTED_CACHE_SPLIT_H

#include "magazine.h"

// True: no depot is split, since each unlock of a pool is to tell all of its numbers, for the live
// file. A depot that is split is in one again at its next lock. Atomic.
extern bool egb_split_is_off_;

// For a magazine of a depot that is split.
bool egb_split_refill_from_part_(egb_magazine_* magazine, uint64_t key);
bool egb_split_make_room_in_part_(egb_magazine_* magazine, uint64_t key);
bool egb_split_make_room_remote_in_part_(egb_magazine_* magazine, uint64_t key);

// Whether the magazine, or NULL, is of a depot that is split. A thread that sees the
// split also sees the parts.
static inline bool egb_is_split_(const egb_magazine_* magazine)
{
    const egb_depot* const depot = magazine == NULL ? NULL : magazine->depot;
    return EGB_UNLIKELY(depot != NULL && __atomic_load_n(&depot->is_split, __ATOMIC_ACQUIRE));
}

// As egb_magazine_refill_(), egb_magazine_make_room_() and egb_magazine_make_room_remote_(), for
// the magazine with this key. Most depots are not split: those cost no call.
static inline bool egb_split_refill_(egb_magazine_* magazine, uint64_t key)
{
    return egb_is_split_(magazine) && egb_split_refill_from_part_(magazine, key);
}

static inline bool egb_split_make_room_(egb_magazine_* magazine, uint64_t key)
{
    return egb_is_split_(magazine) && egb_split_make_room_in_part_(magazine, key);
}

static inline bool egb_split_make_room_remote_(egb_magazine_* magazine, uint64_t key)
{
    return egb_is_split_(magazine) && egb_split_make_room_remote_in_part_(magazine, key);
}

// ---- with the pool locked -----------------------------------------------------------------------

// Whether a lane without a batch is to get blocks of the chunks, and not another lane's batch: each
// lane has a stock then, and its part can serve it.
bool egb_split_wants_more_(const egb_depot* depot);

// Moves some batches of other lanes into this one's part, if it has none.
void egb_split_share_full_(egb_depot* depot, size_t lane);
void egb_split_share_empty_(egb_depot* depot, size_t lane);

#endif  // EGGBOX_SRC_HOSTED_CACHE_SPLIT_H

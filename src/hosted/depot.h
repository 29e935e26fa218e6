// SPDX-License-Identifier: MIT
// Layer hosted: the depot of a pool, whole batches of free blocks on their way between magazines
// and chunks. With the pool locked.
#ifndef EGGBOX_SRC_HOSTED_DEPOT_H
#define EGGBOX_SRC_HOSTED_DEPOT_H

#include "pool_private.h"

// A batch with blocks, of a thread of this lane. And one for a thread of this lane: if it can be
// what a thread of the lane put there, which then is in its processor's cache. NULL: there is none.
void       egb_depot_push(egb_control* control, size_t lane, egb_batch* batch);
egb_batch* egb_depot_pop(egb_control* control, size_t lane);

// Whether a batch with so many blocks should go there. Else they go home.
bool egb_depot_has_room(const egb_control* control, size_t blocks);
void egb_depot_keep_or_flush(egb_control* control, size_t lane, egb_batch* batch);

// Puts a batch there, for an empty one: this one, if its blocks went home, for want of room or of
// another batch. A depot does not grow so much that a sealed process would have to be told.
egb_batch* egb_depot_exchange(egb_control* control, size_t lane, egb_batch* batch);

static inline bool egb_is_half_full(const egb_control* control, size_t blocks)
{
    return 2 * blocks >= control->batch_blocks;
}

// Empty batches stay with the pool, whose lock is held already: the workshop's is one for all
// pools, and threads that have nothing in common would meet there. NULL: no effect; the system
// refused, or the process is sealed, and is told.
void       egb_depot_keep_empty(egb_control* control, size_t lane, egb_batch* batch);
egb_batch* egb_depot_empty_batch(egb_control* control, size_t lane);

// A block goes home to its chunk; all blocks of a batch; of the depot.
void egb_put_back(egb_control* control, void* block);
void egb_batch_flush(egb_control* control, egb_batch* batch);
void egb_depot_flush(egb_control* control);

// The depot of a pool that is being destroyed, with its blocks.
void egb_depot_drop(egb_control* control);

// Free blocks that the chunks do not know of, and no magazine has: in the depot, or in quarantine.
size_t egb_depot_blocks(const egb_control* control);

#endif  // EGGBOX_SRC_HOSTED_DEPOT_H

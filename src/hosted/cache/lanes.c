// SPDX-License-Identifier: MIT
// Whose chunks are whose: threads of different lanes take blocks of different chunks, where that
// costs no other pool anything. With the pool locked.
#include "lanes.h"

#include "../region/ask.h"

// How many chunks are looked at for one of a thread's own; and how much may be free in the others,
// and in the depot, when it gets one.
enum { CHUNKS_LOOKED_AT = 8, FREE_BYTES_MAX = 1 << 18 };

// Whether a chunk more cannot keep this pool, nor any other, from getting what it asks for, and is
// not what somebody reserved blocks not to wait for.
bool egb_lane_may_have_one_more_(const egb_depot* depot)
{
    const egb_growing* const growing = &depot->growing;
    const size_t             out     = egb_blocks_out_(depot);
    return !depot->has_budget && !egb_is_frozen_() && growing->options.max_blocks == 0 &&
           out >= depot->reserved &&
           (growing->capacity - out) * growing->options.block_bytes < FREE_BYTES_MAX;
}

static bool is_in_lane(const egb_chunk_* chunk, uint32_t lane)
{
    return chunk != NULL && egb_lane_of_key_(egb_key_of_chunk_(chunk)) == lane;
}

static egb_chunk_* adopt(egb_chunk_* chunk, uint32_t lane)
{
    egb_chunk_map_set_key_(chunk, egb_key_in_lane_(egb_key_of_chunk_(chunk), lane));
    return chunk;
}

// A lane's first chunk is no reason for longer ones to come, nor is one that comes while half of
// the others is free: else eight threads with a few blocks each would make a pool of megabytes.
static egb_chunk_* one_more(egb_growing* growing)
{
    const size_t      next_bytes = growing->next_bytes;
    const bool        is_needed  = growing->in_use >= growing->capacity / 2;
    egb_chunk_* const chunk      = egb_growing_grow_(growing);
    if (growing->chunks <= EGB_LANES || !is_needed) {
        growing->next_bytes = next_bytes;
    }
    return chunk;
}

// Threads whose blocks are of one chunk take the lines with the states from each other at every
// call; where there are none, a processor fetches ahead what follows the blocks that it had in a
// row, and that is the other thread's. So each lane has chunks of its own, as long as little of
// them is free.
void egb_lane_prefer_own_chunk_(egb_depot* depot, uint32_t lane)
{
    egb_growing* const growing = &depot->growing;
    egb_chunk_*        chunk   = growing->available;
    for (int i = 0; i < CHUNKS_LOOKED_AT && chunk != NULL && !is_in_lane(chunk, lane); i++) {
        chunk = chunk->in_use == 0 ? adopt(chunk, lane) : chunk->next;
    }
    if (!is_in_lane(chunk, lane) && egb_lane_may_have_one_more_(depot)) {
        chunk = one_more(growing);
    }
    if (is_in_lane(chunk, lane)) {
        egb_growing_prefer_(growing, chunk);
    }
}

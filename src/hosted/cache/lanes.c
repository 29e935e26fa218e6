// SPDX-License-Identifier: MIT
// Which lane has which chunks: threads of different lanes take blocks of different chunks, if that
// costs other pools nothing. The pool is locked.
#include "lanes.h"

#include "../region/obtain.h"

// Chunks examined to find one of the lane; and the most bytes that may be free in the others, and
// in the depot, when the lane gets one.
enum { CHUNKS_LOOKED_AT = 8, FREE_BYTES_MAX = 1 << 18 };

// Whether one more chunk cannot keep this or any other pool from its memory, and is not needed for
// reserved blocks.
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

// A lane's first chunk does not make later chunks longer, nor does one that comes while half of the
// others is free: else eight threads with a few blocks each would make a pool of megabytes.
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

// Threads with blocks of one chunk take the cache lines of its states from each other at every
// call; without states, a processor fetches ahead the bytes behind its blocks, which are the other
// thread's. Each lane therefore has its own chunks, while little of them is free.
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

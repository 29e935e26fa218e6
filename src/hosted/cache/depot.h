// SPDX-License-Identifier: MIT
// Room cache: the depot of a pool, a growing pool behind whole batches of free blocks, which are on
// their way between magazines and chunks. Every function needs the lock of the depot, which is the
// lock of its pool.
#ifndef EGGBOX_SRC_HOSTED_CACHE_DEPOT_H
#define EGGBOX_SRC_HOSTED_CACHE_DEPOT_H

#include "../../os/os.h"
#include "../region/chunk_map.h"
#include "batch.h"

// Batches of up to 128 blocks each: what is free beyond them costs a walk into the chunks for each
// block. A batch takes 2,112 bytes; touched are those that it has blocks for. Of batches less than
// half full there are no more than threads that end may leave to the next. Where blocks are to come
// back from their chunks in order, there are no more bytes of them than caches hold.
enum {
    EGB_DEPOT_BATCHES_MAX = 1024,
    EGB_DEPOT_SMALL_MAX   = 64,
    EGB_DEPOT_BYTES_MAX   = 4 << 20,
    EGB_DEPOT_BYTES_ALONE = 512 << 10  // where the pool has one thread
};

// What a free block has in it at most, in its chunk: a link and a mark, or two marks.
enum { EGB_LINK_BYTES = 2 * EGB_WORD_BYTES };

// A part of a depot, so that batches come back to the threads that filled them.
typedef struct egb_lane {
    egb_batch* full;   // with blocks
    egb_batch* empty;  // without blocks
} egb_lane;

// What a pool shares with the magazines of its threads.
typedef struct egb_depot {
    EGB_ALIGNAS_(64) egb_os_mutex lock;

    // What an exchange writes stands together, and nothing else does: it comes from the processor
    // of the thread that had the lock before, a line at a time.
    uint32_t batches;
    uint32_t blocks;
    uint32_t least;  // blocks, since the window began
    uint32_t puts;   // so many batches ago
    egb_lane lanes[EGB_LANES];

    EGB_ALIGNAS_(64) uint64_t key;  // of the pool's handle
    bool       is_checked;          // the level is not "off"
    bool       is_static;           // the chunk is static memory
    bool       has_budget;          // the pool's, or one above it
    bool       is_gathering;  // chunks are to become free: until nearly all of them are needed
    size_t     batch_blocks;  // most blocks in a batch; 0: the pool has no magazines
    size_t     attached;      // magazines
    size_t     reserved;      // until so many blocks are out no chunk comes for a lane's sake
    size_t     quarantined;   // free blocks that wait in quarantine, which is the pool's
    size_t     peak;
    uint64_t   frees;   // not counting those that magazines count
    egb_damage damage;  // found since the lock was taken, reported when it is given back
    const egb_shape_* static_shape;  // of the one chunk there, else NULL; atomic
    egb_growing       growing;

    // Called when the last magazine of a destroyed pool is gone; NULL while the pool is there.
    void (*on_last_left)(struct egb_depot* depot);
} egb_depot;

// A batch with blocks, of a thread of this lane. And one for a thread of this lane: if it can be
// what a thread of the lane put there, which then is in its processor's cache. NULL: there is none.
void       egb_depot_push_(egb_depot* depot, size_t lane, egb_batch* batch);
egb_batch* egb_depot_pop_(egb_depot* depot, size_t lane);

// Whether a batch with so many blocks should go there. Else they go home.
bool egb_depot_has_room_(const egb_depot* depot, size_t blocks);
void egb_depot_keep_or_flush_(egb_depot* depot, size_t lane, egb_batch* batch);

// Puts a batch there, for an empty one: this one, if its blocks went home, for want of room or of
// another batch. A depot does not grow so much that a sealed process would have to be told.
egb_batch* egb_depot_exchange_(egb_depot* depot, size_t lane, egb_batch* batch);

static inline bool egb_is_half_full_(const egb_depot* depot, size_t blocks)
{
    return 2 * blocks >= depot->batch_blocks;
}

// Empty batches stay with the pool, whose lock is held already: the workshop's is one for all
// pools, and threads that have nothing in common would meet there. NULL: no effect; the system
// refused, or the process is sealed, and is told.
void       egb_depot_keep_empty_(egb_depot* depot, size_t lane, egb_batch* batch);
egb_batch* egb_depot_empty_batch_(egb_depot* depot, size_t lane);

// A block goes home to its chunk; all blocks of a batch; of the depot.
void egb_put_back_(egb_depot* depot, void* block);
void egb_batch_flush_(egb_depot* depot, egb_batch* batch);
void egb_depot_flush_(egb_depot* depot);

// The depot of a pool that is being destroyed, with its blocks.
void egb_depot_drop_(egb_depot* depot);

// The chunk of the pool that `address` is in, any part of it; NULL: none.
egb_chunk_* egb_depot_chunk_of_(const egb_depot* depot, const void* address);

// Free blocks that the chunks do not know of, and no magazine has: in the depot, or in quarantine.
size_t egb_depot_blocks_(const egb_depot* depot);

// Whether the threads of a pool keep to chunks of their own: not where blocks may be few.
static inline bool egb_has_own_chunks_(const egb_depot* depot)
{
    return depot->batch_blocks != 0 && depot->growing.options.max_blocks == 0 && !depot->is_static;
}

// Blocks that are neither in a chunk nor in the depot: those of callers, and what magazines have.
static inline size_t egb_blocks_out_(const egb_depot* depot)
{
    return depot->growing.in_use - depot->blocks;
}

#endif  // EGGBOX_SRC_HOSTED_CACHE_DEPOT_H

// SPDX-License-Identifier: MIT
// Room cache: the depot of a pool: a growing pool, and in front of it batches of free blocks on
// their way between magazines and chunks. Every function needs the depot's lock, which is the lock
// of its pool.
#ifndef EGGBOX_SRC_HOSTED_CACHE_DEPOT_H
#define EGGBOX_SRC_HOSTED_CACHE_DEPOT_H

#include "../../os/os.h"
#include "../region/chunk_map.h"
#include "../settings/sampling.h"
#include "batch.h"

// Batches have up to 128 blocks, in 128, 256, 640 or 2,112 bytes. Free blocks beyond the limits
// cost a walk into the chunks each. A depot with EGB_DEPOT_SMALL_MAX batches of any kind takes no
// more that are less than half full. If blocks are to come back from their chunks in order, the
// bytes of the batches are limited to the size of caches. See docs/decisions/0054.
enum {
    EGB_DEPOT_BATCHES_MAX  = 1024,
    EGB_DEPOT_SMALL_MAX    = 64,
    EGB_DEPOT_BYTES_MAX    = 4 << 20,
    EGB_DEPOT_BYTES_ALONE  = 512 << 10,  // if the pool has one thread
    EGB_DEPOT_BYTES_SHARED = 1 << 20,    // if the pool is a size class of the heap
    EGB_DEPOT_BYTES_LEFT   = 256 << 10   // the part of it that ending threads may fill
};

// The most bytes that a free block in its chunk uses: a link and a mark, or two marks.
enum { EGB_LINK_BYTES = 2 * EGB_WORD_BYTES };

// One lane's part of a depot: batches come back to the threads that filled them.
typedef struct egb_lane {
    egb_batch* full;   // with blocks
    egb_batch* empty;  // without blocks
} egb_lane;

// The same in a depot that is split (split.h): with a lock of its own, in whose line it lies.
typedef union egb_part {
    EGB_ALIGNAS_(128) egb_os_mutex lock;
    struct {
        void*    word;  // the lock
        egb_lane lane;
        uint32_t full;  // batches with blocks
        // With this lock alone, since the depot was let go last:
        int32_t  batches;  // with blocks, came less went
        uint32_t puts;
        uint32_t moves;  // exchanges of any kind
    } of;
} egb_part;

// The part of a pool that it shares with the magazines of its threads.
typedef struct egb_depot {
    union {
        EGB_ALIGNAS_(64) egb_os_mutex lock;
        uint32_t word;  // the word of the lock: os.h. Atomic
    };

    // Fields that an exchange writes are together, alone in their lines: the lines come from the
    // processor of the thread that had the lock before.
    uint32_t batches;
    uint32_t blocks;  // atomic
    uint32_t least;   // blocks, since the window began
    uint32_t low;     // blocks, since the lock was last let go; of a depot that is split. Atomic
    uint32_t puts;    // since the window began
    uint32_t seen;    // a sum over these four when the purge looked last
    uint32_t locks;   // since a window of split.c began
    uint32_t waits;   // part of `locks`: those after a wait
    uint32_t moves;   // exchanges with the lock of a lane alone, since then
    egb_lane lanes[EGB_LANES];

    EGB_ALIGNAS_(64) uint64_t key;   // the key of the pool's handle
    bool              is_split;      // the parts have the batches of all lanes. Atomic
    bool              is_checked;    // the level is not "off"
    bool              is_static;     // the chunk is static memory
    bool              has_budget;    // the pool, or one above it, has a budget
    bool              is_gathering;  // chunks are to become free, until nearly all are needed
    bool              is_shared;     // the pool is one of many that use each other's free chunks
    bool              is_tight;      // it ran out: all magazines are closed. See tight.h
    size_t            batch_blocks;  // most blocks in a batch; 0: the pool has no magazines
    size_t            block_bytes;   // with those around it; for magazines that outlive the pool
    size_t            attached;      // magazines
    size_t            unsure;        // part of `attached`, while tight: those that may get a block
    size_t            tight_calls;   // with the lock since it is tight
    size_t            reserved;      // until so many blocks are out no lane gets one more chunk
    size_t            quarantined;   // free blocks in the pool's quarantine
    size_t            peak;          // most blocks in use until the last look: see peak.h
    size_t            most_out;      // most blocks in use or in magazines, since then
    uint64_t          frees;         // without those that magazines count
    egb_sampler*      sampler;       // at level "sample", else NULL
    egb_damage        damage;        // found while locked, reported after the unlock
    egb_part*         parts;         // one for each lane, for ever; NULL: it was never split
    const egb_shape_* static_shape;  // the chunk of static memory, else NULL; atomic
    egb_growing       growing;

    // Called when the last magazine of a destroyed pool is gone; NULL while the pool exists.
    void (*on_last_left)(struct egb_depot* depot);

    // Gives free blocks to threads that wait for one; NULL: none waits. Called before each unlock.
    void (*serve)(struct egb_depot* depot);
} egb_depot;

static inline bool egb_depot_is_waited_for_(const egb_depot* depot)
{
    return depot->serve != NULL;
}

static inline void egb_depot_serve_(egb_depot* depot)
{
    if (depot->serve != NULL) {
        depot->serve(depot);
    }
}

// After the pool's lock, if somebody had it or the depot is split: locks all parts, and judges
// whether the depot is to be split. Before the lock is let go, if the depot is split.
void egb_depot_lock_parts_(egb_depot* depot, bool has_waited);
void egb_depot_let_go_of_parts_(egb_depot* depot);

// Whether somebody holds the lock, as far as its word tells (os.h). A guess, in passing.
static inline bool egb_depot_is_held_(const egb_depot* depot)
{
    return EGB_LOAD_(depot->word) != 0;
}

// Locks the pool, and all parts of a depot that is split. And back.
static inline void egb_depot_lock_(egb_depot* depot)
{
    const bool has_waited = egb_depot_is_held_(depot);
    egb_os_lock_(&depot->lock);
    depot->locks++;
    if (EGB_UNLIKELY(has_waited || depot->is_split)) {
        egb_depot_lock_parts_(depot, has_waited);
    }
}

static inline void egb_depot_let_go_(egb_depot* depot)
{
    if (EGB_UNLIKELY(depot->is_split)) {
        egb_depot_let_go_of_parts_(depot);
    }
    egb_os_unlock_(&depot->lock);
}

// Whether each of its locks is free at a moment within the time. Makes them unlocked, in the child
// of a fork.
bool egb_depot_is_free_soon_(egb_depot* depot, int milliseconds);
void egb_depot_lock_reset_(egb_depot* depot);

// Makes it split, and not split; it is locked. False: no memory.
bool egb_depot_split_(egb_depot* depot);
void egb_depot_join_(egb_depot* depot);

// Whoever made a block free unlocks the pool by this.
static inline void egb_depot_unlock_(egb_depot* depot)
{
    egb_depot_serve_(depot);
    egb_depot_let_go_(depot);
}

// Adds a batch with blocks for threads of this lane. Takes one for a thread of this lane, if
// possible one from the same lane, which is in its processor's cache. NULL: there is none.
void       egb_depot_push_(egb_depot* depot, size_t lane, egb_batch* batch);
egb_batch* egb_depot_pop_(egb_depot* depot, size_t lane);

// An empty batch of the lane alone. NULL: none is long enough.
egb_batch* egb_depot_pop_empty_(const egb_depot* depot, egb_lane* lane, size_t length);

// After EGB_DEPOT_BATCHES_MAX puts: looks whether so many blocks are needed.
void egb_depot_end_window_(egb_depot* depot);

// The most bytes of blocks in the depot.
size_t egb_depot_bytes_max_(const egb_depot* depot);

// Whether the depot has room for a batch with so many blocks. Else they go to their chunks.
bool egb_depot_has_room_(const egb_depot* depot, size_t blocks);
void egb_depot_keep_or_flush_(egb_depot* depot, size_t lane, egb_batch* batch);

// Adds a batch and returns an empty one: the same batch, if there is no room or no other batch,
// after its blocks went to their chunks. A freeze need not be reported for it.
egb_batch* egb_depot_exchange_(egb_depot* depot, size_t lane, egb_batch* batch);

// The lists of the batches of a lane: those of its part if the depot is split.
static inline egb_lane* egb_depot_lane_(egb_depot* depot, size_t lane)
{
    return depot->is_split ? &depot->parts[lane].of.lane : &depot->lanes[lane];
}

// The first batch of a list; NULL: it is empty.
static inline egb_batch* egb_batch_pop_(egb_batch** list)
{
    egb_batch* const batch = *list;
    if (batch != NULL) {
        *list = batch->front.list.next;
    }
    return batch;
}

static inline void egb_batch_push_(egb_batch** list, egb_batch* batch)
{
    batch->front.list.next = *list;
    *list                  = batch;
}

static inline bool egb_is_half_full_(const egb_depot* depot, size_t blocks)
{
    return 2 * blocks >= depot->batch_blocks;
}

// Empty batches stay with the pool, whose lock is held anyway: the lock of a batch slab serves all
// pools, and unrelated threads would meet there. NULL: no effect; the system refused, or the freeze
// did, which is reported. `length`: the least index of length; a batch that was kept may be longer.
void       egb_depot_keep_empty_(egb_depot* depot, size_t lane, egb_batch* batch);
egb_batch* egb_depot_empty_batch_(egb_depot* depot, size_t lane, size_t length);

// Gives a block back to its chunk; all blocks of a batch; of the depot.
void egb_put_back_(egb_depot* depot, void* block);
void egb_batch_flush_(egb_depot* depot, egb_batch* batch);
void egb_depot_flush_(egb_depot* depot);

// Drops the depot of a pool that is being destroyed, with its blocks.
void egb_depot_drop_(egb_depot* depot);

// The pool's chunk that contains `address`; NULL: none.
egb_chunk_* egb_depot_chunk_of_(const egb_depot* depot, const void* address);

// Free blocks that are neither in a chunk nor in a magazine: in the depot or in quarantine.
size_t egb_depot_blocks_(const egb_depot* depot);

// Blocks that callers have, and free blocks in magazines. Unlike egb_blocks_out_(), without those
// in quarantine.
size_t egb_depot_out_(const egb_depot* depot);

// Whether the pool may run out of blocks before the system does.
static inline bool egb_depot_can_run_out_(const egb_depot* depot)
{
    return depot->growing.options.max_blocks != 0 || depot->is_static || depot->has_budget;
}

// Whether the lanes of a pool have their own chunks: not if blocks may be few.
static inline bool egb_has_own_chunks_(const egb_depot* depot)
{
    return depot->batch_blocks != 0 && !egb_depot_can_run_out_(depot);
}

// Blocks that are neither in a chunk nor in the depot: those of callers, of magazines, and in
// quarantine.
static inline size_t egb_blocks_out_(const egb_depot* depot)
{
    return depot->growing.in_use - depot->blocks;
}

#endif  // EGGBOX_SRC_HOSTED_CACHE_DEPOT_H

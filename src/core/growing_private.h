// SPDX-License-Identifier: MIT
// Layer core: chunks, for the files of the growing pool and for the pool that stands on it.
#ifndef EGGBOX_SRC_CORE_GROWING_PRIVATE_H
#define EGGBOX_SRC_CORE_GROWING_PRIVATE_H

#include "eggbox/growing.h"
#include "fixed_private.h"
#include "growing_bitmap.h"
#include "range.h"
#include "util.h"

// Stands at the end of its region; blocks stand at the start, states right in front of this.
struct egb_chunk_ {
    egb_fixed    fixed;  // over the blocks
    egb_growing* owner;
    egb_range    range;     // the region, as the backing gave it: range.start <= fixed.first
    size_t       in_use;    // blocks
    uint32_t     lost;      // blocks: free, and out of reach since one was written to
    uint32_t     turn;      // the pool's turn when a block was last taken
    size_t       groups;    // with states: a bit for each group that has a block at home
    size_t       lowest;    // with states: no block in front of this one is at home
    egb_chunk_*  next;      // in the list of chunks with a free block; NULL: the last
    egb_chunk_*  previous;  // previous of the first: the last
    egb_shape_   shape;     // for threads that do not wait for the pool
    // With states: so many bytes from the region's start need not have been zero when it became a
    // chunk. All; or where the backing is `zeroed`, none or as many as its commit has set here.
    size_t touched_before;
};

// In place of the turn: the owner has looked at the chunk's free blocks. When one comes back, the
// turn is that of the pool again.
#define EGB_TURN_LOOKED_AT_ UINT32_MAX

// The chunk of a range in the pool's tree; NULL: of none.
static inline egb_chunk_* egb_chunk_of_range_(egb_range* range)
{
    return range == NULL ? NULL : (egb_chunk_*)(void*)((char*)range - offsetof(egb_chunk_, range));
}

// The bytes behind the header that belong to the backing: backing.extra_bytes.
static inline void* egb_chunk_extra_(egb_chunk_* chunk)
{
    return chunk + 1;
}

// The damage that egb_growing_take_() found in place of a block: the free list of a chunk led to
// `address`, which is no free block, or that free block was overwritten. It is written off: with a
// list as are the blocks behind it, with states as are those right behind it that were written to,
// too.
typedef struct egb_damage {
    bool        was_found;
    const void* address;
    size_t      index;
} egb_damage;

// The next block to be taken is one of this chunk, which is in the list.
void egb_growing_prefer_(egb_growing* pool, egb_chunk_* chunk);

// If the first chunk of the list has fresh blocks alone, and the second one others, the first goes
// to the end: pages of the second are in memory. For chunks with states; others have this order
// anyway.
void egb_growing_prefer_recycled_(egb_growing* pool);

// Gets one more chunk and adds it to the list, at its end. NULL: the backing refused, and the pool
// is as before.
egb_chunk_* egb_growing_grow_(egb_growing* pool);

// Chunks longer than so many bytes come only when one is no more than such a part of all.
enum { EGB_LAZY_CHUNKS = 256 };
void egb_growing_lengthen_lazily_(egb_growing* pool, size_t bytes);

// Keeps so many bytes free in front of each chunk's first block, in place of what the options say,
// which bound them. Not once there is a chunk.
void egb_growing_lead_(egb_growing* pool, size_t bytes);

// The chunk that `address` is in, any part of it; NULL if there is none. O(log chunks).
egb_chunk_* egb_growing_chunk_of_(const egb_growing* pool, const void* address);

// The first chunk whose region starts after `address`; after 0, the first of all. O(log chunks).
egb_chunk_* egb_growing_chunk_after_(const egb_growing* pool, uintptr_t address);

// Calls `visit` with every chunk, in order of address. `visit` may not change the pool.
void egb_growing_each_chunk_(
    const egb_growing* pool, void (*visit)(egb_chunk_* chunk, void* user), void* user
);

// Sets a bit for each block that is on the free list, of EGB_WINDOW_BLOCKS from `start` on. Never
// reads in a block that is in use: another thread may write there. O(free blocks).
enum { EGB_WINDOW_WORDS = 64, EGB_WINDOW_BLOCKS = EGB_WINDOW_WORDS * 32 };
void egb_growing_find_free_(
    const egb_fixed* fixed, uint32_t touched, uint32_t start, egb_word* is_free
);

// The index of a block, or a number that is no block's.
static inline size_t egb_chunk_index_(const egb_chunk_* chunk, const void* block)
{
    return egb_shape_index_(&chunk->shape, block);
}

// Groups of more states than those of the chunks that pools make when nobody says how long: they
// are static memory's. To look through all of them at once would take too long.
static inline bool egb_has_long_groups_(const egb_chunk_* chunk)
{
    return chunk->shape.group > 10;
}

// ---- alloc and free, for the one owner of the pool ----------------------------------------------

// Whether alloc can get a block of the chunk: whether it is in the list.
static inline bool egb_chunk_is_available_(const egb_chunk_* chunk)
{
    return chunk->in_use + chunk->lost < chunk->shape.blocks;
}

// Whether the backing can have the chunk back. A chunk that has lost blocks stays: how many of them
// are in use is not certain.
static inline bool egb_chunk_is_idle_(const egb_chunk_* chunk)
{
    return chunk->in_use == 0 && chunk->lost == 0;
}

// Counts the bytes of a chunk that was idle, or was not, before a change to its blocks. Others may
// read the sum without the pool's lock.
static inline void egb_growing_note_idle_(egb_growing* pool, const egb_chunk_* chunk, bool was_idle)
{
    const bool is_idle = egb_chunk_is_idle_(chunk);
    if (EGB_UNLIKELY(is_idle != was_idle)) {
        const size_t idle =
            is_idle ? pool->idle + chunk->range.bytes : pool->idle - chunk->range.bytes;
        __atomic_store_n(&pool->idle, idle, __ATOMIC_RELAXED);
    }
}

static inline bool egb_growing_is_at_limit_(const egb_growing* pool)
{
    return pool->options.max_blocks != 0 && pool->in_use >= pool->options.max_blocks;
}

// The states of 64 blocks are in one cache line, which two threads would take from each other at
// every call: so a run of fresh blocks ends where a line of states does. How many there are until
// then at most; without states, no end.
enum { EGB_STATES_IN_LINE = 64 };
static inline size_t egb_chunk_fresh_in_line_(const egb_chunk_* chunk)
{
    const uintptr_t next = (uintptr_t)chunk->shape.states + egb_fixed_touched(&chunk->fixed);
    return chunk->shape.states == NULL ? SIZE_MAX : EGB_STATES_IN_LINE - next % EGB_STATES_IN_LINE;
}

// As egb_growing_alloc(), and says which chunk the block is in. `pool` is initialised. Reports
// nothing: when there is damage it returns NULL, and the caller reports, and calls again.
void* egb_growing_take_(egb_growing* pool, egb_chunk_** from, egb_damage* damage);

// Takes up to `count` blocks of one chunk, recycled ones or else fresh ones, and says how many and
// which. 0: the first one is for egb_growing_take_() to find. A block that comes back without a
// change of its state by then was in nobody's use: it is not touched.
size_t egb_growing_take_run_(egb_growing* pool, egb_chunk_** from, void** blocks, size_t count);

// Gives back blocks of `chunk`, of others it takes no notice: as egb_growing_put_() for each.
void egb_growing_put_run_(egb_chunk_* chunk, void* const* blocks, size_t count);

// The cold half of egb_growing_put_().
bool egb_growing_put_other_(egb_chunk_* chunk, void* block);

// Gives back a block of `chunk`. Returns false, and nothing changes, if the chunk's own free list
// says that it is free already, or if no block of the chunk starts there.
static inline bool egb_growing_put_(egb_chunk_* chunk, void* block)
{
    egb_growing* const pool = chunk->owner;
    if (EGB_UNLIKELY(
            pool->available != chunk || chunk->in_use <= 1 || chunk->shape.states != NULL ||
            !egb_fixed_can_push_(&chunk->fixed, block)
        )) {
        return egb_growing_put_other_(chunk, block);
    }
    egb_fixed_push_(&chunk->fixed, block);
    chunk->in_use--;
    pool->in_use--;
    return true;
}

// ---- for the files of the growing pool only ----------------------------------------------------

static inline bool egb_growing_is_made_(const egb_growing* pool)
{
    return pool != NULL && pool->options.backing.reserve != NULL;
}

// Whether the pool can give a block without asking the backing.
static inline bool egb_growing_has_free_(const egb_growing* pool)
{
    return pool->available != NULL && !egb_growing_is_at_limit_(pool);
}

// Makes words zero, as many at once as a register holds; `bytes` are a multiple of 4. Volatile,
// because compilers turn such a loop into a call of memset, and here there is none.
static inline void egb_clear_words_(void* start, size_t bytes)
{
    typedef size_t EGB_LOOSE_ wide;
    volatile wide* const      wides = (volatile wide*)start;
    const size_t              count = bytes / sizeof(wide);
    for (size_t i = 0; i < count; i++) {
        wides[i] = 0;
    }
    if (bytes % sizeof(wide) != 0) {
        *(volatile egb_word*)&wides[count] = 0;
    }
}

// How a chunk stands in its region: the blocks at the start, at the end the header, and right in
// front of that the states, so that both are on one page where they are few. `count` is 0 if no
// block fits.
typedef struct egb_chunk_place {
    void*          first;
    size_t         count;
    unsigned char* states;  // their place, also if there are none
    egb_chunk_*    header;
} egb_chunk_place;

// False if the region has no room for the header.
bool egb_chunk_find_place_(
    const egb_growing_options* options, void* region, size_t bytes, egb_chunk_place* place
);

// The chunk's fixed pool, and what finds its states. False: no block fits.
bool egb_chunk_plan_(
    const egb_growing_options* options,
    const egb_chunk_place*     place,
    egb_fixed*                 fixed,
    egb_shape_*                shape
);

// The list of chunks with a free block.
void egb_available_add_first_(egb_growing* pool, egb_chunk_* chunk);
void egb_available_add_last_(egb_growing* pool, egb_chunk_* chunk);
void egb_available_remove_(egb_growing* pool, egb_chunk_* chunk);

#endif  // EGGBOX_SRC_CORE_GROWING_PRIVATE_H

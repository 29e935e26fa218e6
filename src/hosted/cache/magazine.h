// SPDX-License-Identifier: MIT
// Room cache: magazines: how they get blocks, and where their blocks go. The pool is locked.
//
// How a magazine ends. A magazine that was detached or discarded is of no pool, and empty.
//
//     call        | called by                           | where its blocks go
//     ------------|-------------------------------------|------------------------------------
//     detach      | its thread, or the end of it        | depot, or chunks
//     discard     | its thread, which destroys the pool | nowhere: they end with the pool
//     revoke      | another thread destroys the pool    | nowhere; its thread detaches it later
//     invalidate  | a trim: entries it remembers but    | it holds none of those
//                 | does not hold lead nowhere          |
#ifndef EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H
#define EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H

#include "depot.h"

// Invalidates entries that the magazine remembers of wholly free chunks. Its thread may be using
// it.
void egb_magazine_invalidate_(const egb_depot* depot, egb_magazine_* magazine);

// As egb_growing_take_(), but returns no block while damage is to be reported first: each damage is
// an event, and they are found one at a time.
void* egb_take_from_chunks_(egb_depot* depot, egb_chunk_** chunk);

// Attaches the magazine to the pool, if it can. `magazine` may be NULL.
bool egb_magazine_attach_other_(egb_depot* depot, egb_magazine_* magazine, egb_pool pool);

static inline bool egb_magazine_attach_(egb_depot* depot, egb_magazine_* magazine, egb_pool pool)
{
    return (magazine != NULL && magazine->depot == depot) ||
           egb_magazine_attach_other_(depot, magazine, pool);
}

// Sets the oldest entry that its own thread may take; INTPTR_MAX: none, the magazine is closed.
// Other threads, which take its blocks out, look at `lowest` and `top`.
void egb_magazine_set_bottom_(const egb_depot* depot, egb_magazine_* magazine, uintptr_t bottom);

// Addresses of entries are compared as signed numbers, because `top` may go below 0. On 32-bit
// machines they may all be below 0.
static inline intptr_t egb_magazine_bottom_(const egb_magazine_* magazine)
{
    const intptr_t unchecked = (intptr_t)EGB_LOAD_(magazine->bottom);
    const intptr_t checked   = (intptr_t)EGB_LOAD_(magazine->bottom_checked);
    return unchecked < checked ? unchecked : checked;
}

// Whether its thread can take none of its blocks, once it has passed a fence.
static inline bool egb_magazine_is_closed_(const egb_magazine_* magazine)
{
    return egb_magazine_bottom_(magazine) == INTPTR_MAX;
}

// The end of a magazine, or of its remote batch, that has no room whatever its top.
#define EGB_NO_ROOM ((uintptr_t)INTPTR_MIN)

// Leaves no room in it: its thread's next free takes the lock, unless it is an undo, or the block
// is of another lane. The room is no longer claimed, so other magazines may claim it.
void egb_magazine_close_room_(egb_magazine_* magazine);

// Parts of what the next ones do, for an exchange in a depot that is split: split.h.
//
// Loads a batch, with its blocks; the magazine is open from then on. Loads a batch in place of an
// empty one, which becomes the spare one.
void egb_magazine_load_(egb_depot* depot, egb_magazine_* magazine, egb_batch* batch);
void egb_magazine_load_other_(egb_depot* depot, egb_magazine_* magazine, egb_batch* other);
void egb_magazine_set_remote_(egb_depot* depot, egb_magazine_* magazine, egb_batch* batch);

// Whether its batches are to be longer, or have become too long.
bool egb_magazine_may_lengthen_(const egb_depot* depot, const egb_magazine_* magazine);
bool egb_magazine_is_too_long_(const egb_depot* depot, const egb_magazine_* magazine);

bool   egb_magazine_has_full_spare_(const egb_magazine_* magazine);
size_t egb_magazine_count_remote_(const egb_magazine_* magazine);

// The lane that most blocks of a batch, which is not empty, are likely from.
static inline size_t egb_lane_of_batch_(const egb_batch* batch)
{
    return egb_lane_of_key_(egb_key_at_(egb_unit_of_(batch->entries[0].block)));
}

// Makes the magazine empty and of no pool, as far as the hot path knows.
void egb_magazine_clear_(egb_magazine_* magazine);

// Ends it for a pool that is being destroyed, whatever its thread is doing.
void egb_magazine_revoke_(egb_magazine_* magazine);

// Gives its blocks back and detaches it. Its thread calls this, or no longer exists.
void egb_magazine_detach_(egb_depot* depot, egb_magazine_* magazine);

// The same for a pool that is being destroyed: the blocks end with the pool.
void egb_magazine_discard_(egb_depot* depot, egb_magazine_* magazine);

// Puts blocks into an empty magazine; opens one that was closed with its blocks. False: the pool
// has none.
bool egb_magazine_refill_(egb_depot* depot, egb_magazine_* magazine);

// Makes room in a full magazine.
void egb_magazine_make_room_(egb_depot* depot, egb_magazine_* magazine);

// Makes room in the remote batch. False: no memory for it.
bool egb_magazine_make_room_remote_(egb_depot* depot, egb_magazine_* magazine);

// Gives the remote batch back to its chunks. Its thread may be adding to it.
void egb_magazine_flush_remote_(egb_depot* depot, egb_magazine_* magazine);

// Drops the remote batch, whose blocks are given back by then. Its thread calls this.
void egb_magazine_drop_remote_(egb_depot* depot, egb_magazine_* magazine);

// Takes its entries into the chunks. Its thread calls this, or has passed a fence since the
// magazine was closed.
void egb_magazine_take_out_(egb_depot* depot, egb_magazine_* magazine);

// The free blocks that it holds, as far as another thread can tell.
size_t egb_magazine_count_(const egb_magazine_* magazine);

// The free list, or the mark, may use a block that a tool watches.
static inline void egb_open_link_(const egb_depot* depot, const void* block)
{
    const size_t stride = depot->growing.options.block_bytes;
    if (egb_touches_free_(&depot->growing.options)) {
        egb_os_watch_open_(block, egb_smaller_(stride, EGB_LINK_BYTES));
    }
}

// Takes one block without a magazine, and its chunk. If the chunks have none, the depot's blocks go
// to them first. NULL: none.
egb_chunk_* egb_take_one_(egb_depot* depot, egb_entry_* entry);

#endif  // EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H

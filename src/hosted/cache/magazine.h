// SPDX-License-Identifier: MIT
// Room cache: magazines, how they get blocks and what becomes of those. The pool is locked.
//
// How a magazine ends:
//
//     call        | who calls it                        | where its blocks go
//     ------------|-------------------------------------|------------------------------------
//     detach      | its thread, or the end of it        | depot, or chunks
//     discard     | its thread, which destroys the pool | nowhere: they end with the pool
//     revoke      | another thread destroys the pool    | nowhere; its thread detaches it later
//     invalidate  | a trim: entries it remembers but    | it holds none of those
//                 | does not hold lead nowhere          |
//     clear       | all of these, last                  | it has none
#ifndef EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H
#define EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H

#include "depot.h"

// The magazine forgets what it remembers of chunks that are wholly free. Its thread may be using
// it.
void egb_magazine_invalidate_(const egb_depot* depot, egb_magazine_* magazine);

// As egb_growing_take_(), but gives no block when there is damage to be reported first: each is an
// event, and they are found one at a time.
void* egb_take_from_chunks_(egb_depot* depot, egb_chunk_** chunk);

// Whether the magazine is the pool's now. `magazine` may be NULL.
bool egb_magazine_attach_other_(egb_depot* depot, egb_magazine_* magazine, egb_pool pool);

static inline bool egb_magazine_attach_(egb_depot* depot, egb_magazine_* magazine, egb_pool pool)
{
    return (magazine != NULL && magazine->depot == depot) ||
           egb_magazine_attach_other_(depot, magazine, pool);
}

// The oldest entry is at `bottom` from now on; INTPTR_MAX: none is for the taking.
void egb_magazine_set_bottom_(const egb_depot* depot, egb_magazine_* magazine, uintptr_t bottom);

// Addresses of entries are compared as signed numbers, because `top` may go below 0. On 32-bit
// machines they may all be below 0.
static inline intptr_t egb_magazine_bottom_(const egb_magazine_* magazine)
{
    const intptr_t unchecked = (intptr_t)EGB_LOAD_(magazine->bottom);
    const intptr_t checked   = (intptr_t)EGB_LOAD_(magazine->bottom_checked);
    return unchecked < checked ? unchecked : checked;
}

// The end of a magazine, or of what is away in one, that has no room whatever its top.
#define EGB_NO_ROOM ((uintptr_t)INTPTR_MIN)

// Makes the magazine one without entries, and no pool's, as far as the hot path knows.
void egb_magazine_clear_(egb_magazine_* magazine);

// Ends it for a pool that is being destroyed, whatever its thread is doing.
void egb_magazine_revoke_(egb_depot* depot, egb_magazine_* magazine);

// Gives all its blocks back and makes it no pool's. Its thread calls it, or is no more.
void egb_magazine_detach_(egb_depot* depot, egb_magazine_* magazine);

// The same for a pool that is being destroyed: the blocks stay where they are, as nobody's.
void egb_magazine_discard_(egb_depot* depot, egb_magazine_* magazine);

// Puts blocks into an empty magazine. False: the pool has none.
bool egb_magazine_refill_(egb_depot* depot, egb_magazine_* magazine);

// Makes room in a full magazine.
void egb_magazine_make_room_(egb_depot* depot, egb_magazine_* magazine);

// Makes room among what waits to go back to its lane. False: there is no memory for it.
bool egb_magazine_make_room_remote_(egb_depot* depot, egb_magazine_* magazine);

// What waits there goes back to its chunks. Its thread may be adding to it.
void   egb_magazine_flush_remote_(egb_depot* depot, egb_magazine_* magazine);
size_t egb_magazine_count_remote_(const egb_magazine_* magazine);

// The free list, or the mark, may use a block that a tool watches.
static inline void egb_open_link_(const egb_depot* depot, const void* block)
{
    const size_t stride = depot->growing.options.block_bytes;
    if (egb_touches_free_(&depot->growing.options)) {
        egb_os_watch_open_(block, egb_smaller_(stride, EGB_LINK_BYTES));
    }
}

// One block without a magazine, and its chunk. NULL: none.
egb_chunk_* egb_take_one_(egb_depot* depot, egb_entry_* entry);

// More blocks may be in use now than ever before.
void egb_note_peak_(egb_depot* depot);

#endif  // EGGBOX_SRC_HOSTED_CACHE_MAGAZINE_H

// SPDX-License-Identifier: MIT
// Layer hosted: large regions, for the two files that have to do with them. But for what is said
// otherwise, the lock of large blocks is held.
#ifndef EGGBOX_SRC_HOSTED_HEAP_KEPT_H
#define EGGBOX_SRC_HOSTED_HEAP_KEPT_H

#include "heap_private.h"

// How much is kept, for a turn or two. It is also no more than would make the heap hold more than
// ever was in use, an eighth of that, and a little: then what is not of the sizes that are asked
// for now goes first. Blocks of many sizes leave gaps between them: without the eighth, regions of
// tens of MiB come from the system again and again.
enum {
    EGB_KEPT_BYTES_MAX       = (sizeof(void*) < 8 ? 64 : 256) << 20,
    EGB_KEPT_BYTES_OVER_PEAK = 8 << 20
};

// Freed blocks that had a guard page: their addresses, and of memory two pages at most.
enum { EGB_RETIRED_MAX = 64 };

typedef enum egb_large_state {
    EGB_LARGE_NEW,   // on its way to be a block's
    EGB_LARGE_LIVE,  // a block in use
    EGB_LARGE_KEPT,
    EGB_LARGE_RETIRED  // it had a guard page, and nobody may use it
} egb_large_state;

// Where a block is that ends at a guard page; without one it is all of its region.
typedef struct egb_guarded {
    size_t      bytes;  // that were asked for; 0: there is no guard page
    size_t      lead;   // before the block
    size_t      room;   // from its start to the guard page, which goes to the end of the region
    bool        is_sample;
    const void* alloc_site;
    const void* free_site;
} egb_guarded;

// A region of whole units. Records are never given back to the system, so that a stale address can
// be looked up.
typedef struct egb_large {
    void*             region;
    size_t            bytes;
    egb_large_state   state;
    uint32_t          turn;    // the quiet time in which it was kept
    uint64_t          number;  // the first one ever kept is 1
    struct egb_large* newer;   // of those kept that are of about its size
    struct egb_large* older;
    egb_guarded       guard;
} egb_large;

// Regions on their way to the system: collected with the lock held, released without it. Each is
// the next one's `older`.
typedef struct egb_doomed {
    egb_large* first;  // NULL: there are none
} egb_doomed;

// Without the lock. Says how many bytes it gave back.
size_t egb_doomed_release(const egb_doomed* doomed);

// How many bytes may be kept now, when blocks in use have `bytes`, and had `peak` at most: all,
// when nothing would come again that goes.
size_t egb_kept_bytes_max(size_t bytes, size_t peak);

// NULL: refused.
egb_large* egb_large_new_record(void);
void       egb_large_drop_record(egb_large* large);

// All that there are.
void egb_large_each(egb_growing_visit_fn visit, void* user);

// Enters a region in the map, without the lock. False: refused, and it is not there.
bool egb_large_enter(void* region, size_t bytes, egb_large* large);

// The record of the region that an address is in; NULL: there is none.
egb_large* egb_large_at(const void* address);

// The region is no block any more: from now on nobody finds it.
void egb_large_doom(egb_doomed* doomed, egb_large* large);

// A region for a block of so many bytes, whole units. NULL: none of those kept fits.
egb_large* egb_kept_take(size_t align, size_t whole);

// Keeps a region. Then there may be one too many.
void egb_kept_add(egb_large* large);

// What is kept right behind the region becomes a part of it, so many bytes: its record is still to
// be told. False, and nothing happened: there is not as much.
bool egb_kept_give_behind(egb_large* large, size_t more);

// The oldest go, until no more bytes are kept; of the last one as much as must, where it can be
// cut.
void egb_kept_limit(egb_doomed* doomed, size_t most);

// Those that are kept since before `turn` go, the oldest first, as long as `bytes` bytes stay; of
// the last one as much as may, where it can be cut.
void egb_kept_expire(egb_doomed* doomed, uint32_t turn, size_t bytes);

size_t egb_kept_bytes(void);
size_t egb_kept_count(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_KEPT_H

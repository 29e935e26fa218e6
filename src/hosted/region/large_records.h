// SPDX-License-Identifier: MIT
// Room region: the records of large blocks, one for each region of whole units, and the tree and
// the lists that they are in. Unless a comment says otherwise, functions need the lock of large
// blocks.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_RECORDS_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_RECORDS_H

#include "chunk_map.h"
#include "large_sizes.h"

typedef enum egb_large_state {
    EGB_LARGE_NEW,   // between two other states, or on the unmap list
    EGB_LARGE_LIVE,  // a block in use
    EGB_LARGE_CACHED,
    EGB_LARGE_EMPTY,       // addresses for later requests; the system has the memory
    EGB_LARGE_QUARANTINED  // it had a guard page, and is inaccessible
} egb_large_state;

// The place of a block that ends at a guard page; without one the block is its whole region.
typedef struct egb_guard_page {
    size_t      bytes;  // requested; 0: there is no guard page
    size_t      lead;   // before the block
    size_t      room;   // from its start to the first closed page behind it
    size_t      moved;  // bytes that realloc copied for it, in all its moves
    bool        is_sample;
    const void* alloc_site;
    const void* free_site;
} egb_guard_page;

// The request for a block: known if large blocks are at level "track", or for a sample at "sample".
typedef struct egb_large_owner {
    uint64_t    serial;  // number of the request; 0: nothing is known
    uint64_t    when;    // in the system's milliseconds
    size_t      bytes;   // as requested
    const void* site;    // or stack: room stacks
    double      scale;   // how many blocks a sample stands for; 0: it is no sample
    uint32_t    thread;
    const void* mark;  // made by a look for reachable blocks; NULL: none
} egb_large_owner;

// A region of whole units, in the tree of large regions. Records never go back to the system: a
// stale address can be looked up.
typedef struct egb_large {
    egb_range       range;  // first: the tree leads to it
    egb_large_state state;
    uint32_t        epoch;    // the purge's, in which it was cached; 0: it has no memory
    uint64_t        number;   // the first region ever cached is 1
    uint64_t        mapping;  // the system's mapping that all of it is in; 0: it may be in several
    struct egb_large* newer;  // in its list
    struct egb_large* older;
    egb_guard_page    guard;
    egb_large_owner   owner;
    egb_large_counted counted;
} egb_large;

static inline bool egb_large_has_page_(const egb_large* large)
{
    return large->guard.bytes != 0;
}

// Regions in the order in which they entered the list. Both ends are used, so it is not the list of
// util.h.
typedef struct egb_large_list {
    egb_large* newest;  // NULL: the list is empty
    egb_large* oldest;
} egb_large_list;

static inline void egb_large_list_add_(egb_large_list* list, egb_large* large)
{
    egb_large** const link = list->newest == NULL ? &list->oldest : &list->newest->newer;
    large->newer           = NULL;
    large->older           = list->newest;
    *link                  = large;
    list->newest           = large;
}

static inline void egb_large_list_remove_(egb_large_list* list, egb_large* large)
{
    egb_large** const from_newer = large->newer == NULL ? &list->newest : &large->newer->older;
    egb_large** const from_older = large->older == NULL ? &list->oldest : &large->older->newer;
    *from_newer                  = large->older;
    *from_older                  = large->newer;
}

// Regions on their way to the system: collected with the lock held, released without it. They are
// linked by `older`.
typedef struct egb_unmap_list {
    egb_large* first;  // NULL: the list is empty
} egb_unmap_list;

// The caller must not hold the large lock: the function takes it once for each region. Those in
// state EGB_LARGE_EMPTY lose their memory, and their addresses come back to the cache. Returns the
// bytes given back, addresses without memory not among them.
size_t egb_unmap_list_release_(const egb_unmap_list* unmap_list);

// A record without a region, in state EGB_LARGE_NEW. NULL: the system refused.
egb_large* egb_large_new_record_(void);

// Frees the record. It must not be in the tree.
void egb_large_drop_record_(egb_large* large);

// Visits all records, those in state EGB_LARGE_NEW too.
void egb_large_each_(egb_growing_visit_fn visit, void* user);

// The end of the region of records that the address is in; 0: it is in none.
uintptr_t egb_large_records_end_(uintptr_t address);

// The first byte of the block, if there is one.
static inline void* egb_large_start_(const egb_large* large)
{
    return (char*)large->range.start + large->guard.lead;
}

// Enters the record's region in the tree: from now on the addresses in it lead to the record.
// O(log regions).
void egb_large_enter_(egb_large* large);

// Removes it from the tree: the addresses lead to the record no longer. O(log regions).
void egb_large_leave_(egb_large* large);

// Gives a region that came from the system in one piece its number.
void egb_large_note_mapping_(egb_large* large);

// The regions in the tree.
size_t egb_large_regions_(void);

// Whether the library has the addresses on both sides of the region: the system would need one more
// mapping without it.
bool egb_large_is_between_(const egb_large* large);

// The record of the region that contains the address; NULL: none. O(log regions). A signal handler
// may call it without the lock: the answer may then be wrong.
egb_large* egb_large_at_(const void* address);

// Puts a region on the list: from now on no address leads to it.
void egb_large_unmap_later_(egb_unmap_list* unmap_list, egb_large* large);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_RECORDS_H

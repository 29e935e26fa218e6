// SPDX-License-Identifier: MIT
// Room heap: the declarations that the heap's files share. The lock of the classes, which protects
// the making of their pools, is taken before all others: docs/locks.md.
#ifndef EGGBOX_SRC_HOSTED_HEAP_HEAP_H
#define EGGBOX_SRC_HOSTED_HEAP_HEAP_H

#include "../pool/control.h"
#include "eggbox/heap.h"
#include "eggbox/live.h"

enum {
    EGB_HEAP_STEPS_TO_DOUBLE   = 8,
    EGB_HEAP_FINE_BYTES_MAX    = 128,
    EGB_HEAP_NATURAL_BYTES_MAX = 1024
};

// ---- sizes.c ------------------------------------------------------------------------------------

// The class that serves so many bytes, up to the largest class.
size_t egb_heap_class_of_(size_t bytes);
size_t egb_heap_class_bytes_(size_t index);

// The alignment of a class's blocks: the largest power of two in their size, up to a page; half of
// it for blocks over EGB_HEAP_NATURAL_BYTES_MAX bytes that are neither a power of two nor whole
// pages. And the distance from the start of a chunk to its first block.
size_t egb_heap_class_align_(size_t block_bytes);
size_t egb_heap_class_lead_(size_t block_bytes);

// ---- classes.c ----------------------------------------------------------------------------------

// The pool of a class; the null pool if the class is unused.
egb_pool egb_heap_pool_of_class_(size_t index);

// Makes the pool above the classes, and the registry, if need be. False: refused.
bool egb_heap_is_made_(void);

// The fault plan of large requests, read when the heap is made: later another thread may be
// changing the environment.
egb_fault_plan egb_heap_large_faults_(void);

// As egb_aligned_alloc(); `align` is a power of two. `zeroed`: the block is all zero.
void* egb_heap_alloc_(size_t align, size_t bytes, bool zeroed, const void* site);

// As egb_malloc(), where the thread's magazine has no block.
void* egb_heap_alloc_more_(size_t bytes, const void* site);

// Whether a request is too large for a class, or needs more alignment than classes have.
bool egb_heap_is_large_(size_t align, size_t bytes);

// The class for a request that is not large.
size_t egb_heap_class_for_(size_t align, size_t bytes);

// The key of a class's pool; 0: the class is unused.
uint64_t egb_heap_key_of_class_(size_t index);

// The requests of each class are counted at `place` from now on, as from zero; NULL: only inside
// the process. The sums that the heap tells go on.
void egb_heap_count_to_(egb_live_class* place);

// Whether requests are counted.
bool egb_heap_is_measured_(void);

// Adds up the counts of the classes.
void egb_heap_count_classes_(egb_heap_stats* out);

// The lock that protects the making of pools, and the checks for spare memory.
void egb_heap_lock_classes_(void);
bool egb_heap_try_lock_classes_(void);
void egb_heap_unlock_classes_(void);

// ---- free.c -------------------------------------------------------------------------------------

// As egb_free(), for blocks that the hot path refused: large blocks, blocks without room in the
// magazine, and misuse. Not NULL.
void egb_free_refused_(void* block, const void* site);

// As egb_free(), for another call, made at `site`.
void egb_free_from_(void* block, const void* site);

// ---- free_sized.c -------------------------------------------------------------------------------

// As egb_free() of a block requested with this alignment and size. A mismatch is reported first,
// unless the level is "off".
#define EGB_HEAP_ANY_BYTES SIZE_MAX
void egb_heap_free_sized_(void* block, size_t align, size_t bytes, const void* site);

// ---- large.c ------------------------------------------------------------------------------------

// A block of whole units. NULL: refused.
void* egb_heap_alloc_large_(size_t align, size_t bytes, bool zeroed, const void* site);

// A block for realloc, which copies `moved` bytes into it, those of earlier moves counted.
void* egb_heap_alloc_moved_(size_t bytes, size_t moved, const void* site);

// Whether large blocks are at level "track", or "sample"; and then notes who requested or resized
// the block: of each, or of a sample of them.
bool egb_heap_tracks_large_(void);
bool egb_heap_samples_large_(void);
void egb_heap_sample_large_(const void* block, size_t bytes, const void* site);
void egb_heap_track_large_(const void* block, size_t bytes, const void* site);
void egb_heap_note_resized_large_(const void* block);

// ---- purge.c: memory that is not needed any more ------------------------------------------------

// Calls that went further than a magazine call this, without a lock: allocs, and frees that made
// room in a full magazine. Frees without a magazine, and at level "off", do not.
void egb_heap_purge_step_(void);

// For a call that left much unused at once: a large block was freed.
void egb_heap_wake_purger_(void);

// As egb_heap_trim(), but for the addresses alone: pages between blocks in use are of no use to a
// system that refused. Returns the bytes given back.
size_t egb_heap_give_up_(size_t keep_bytes);

// Bytes of all chunks and regions.
size_t egb_heap_held_(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_HEAP_H

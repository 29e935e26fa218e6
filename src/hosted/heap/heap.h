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

// The bytes of a block of the class.
size_t egb_heap_class_bytes_(size_t index);

// The alignment of a class's blocks: the largest power of two in their size, up to a page; half of
// it for blocks over EGB_HEAP_NATURAL_BYTES_MAX bytes that are neither a power of two nor a
// multiple of 4096.
size_t egb_heap_class_align_(size_t block_bytes);

// The distance from the start of a chunk to its first block.
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

// As egb_malloc(), for a request that its hot half does not serve: of more than 8 KiB, or without a
// block in the thread's magazine, or while requests are counted.
void* egb_heap_alloc_more_(size_t bytes, const void* site);

// As egb_malloc(), for another call, made at `site`.
EGB_INLINE void* egb_malloc_from_(size_t bytes, const void* site)
{
    void* block;
    return EGB_LIKELY(egb_malloc_pop_(bytes, &block)) ? block : egb_heap_alloc_more_(bytes, site);
}

// Whether a request is too large for a class, or needs more alignment than classes have.
bool egb_heap_is_large_(size_t align, size_t bytes);

// Whether realloc() leaves a large block of `room` bytes in place for `bytes`: at most twice too
// large, or four times if a class could have them, since a block that grows and shrinks around the
// limit would be copied each time.
static inline bool egb_heap_suits_large_(size_t room, size_t bytes)
{
    return bytes <= room && bytes > room / (bytes > EGB_HEAP_CLASS_BYTES_MAX ? 2 : 4);
}

// The class for a request that is not large.
size_t egb_heap_class_for_(size_t align, size_t bytes);

// The key of a class's pool; 0: the class is unused.
uint64_t egb_heap_key_of_class_(size_t index);

// The requests of each class are counted at `place` from now on, which is all zero; NULL: only
// inside the process. The sums that the heap tells go on.
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

// As egb_free(), for blocks that no magazine took: large and early blocks, blocks of pools without
// magazines, blocks without room in the magazine, blocks of the C library, and misuse. Not NULL.
void egb_free_refused_(void* block, const void* site);

// ---- free_sized.c -------------------------------------------------------------------------------

// As egb_free() of a block requested with this alignment and size. A mismatch is reported first,
// unless the block's pool is at level "off". EGB_HEAP_ANY_BYTES: only the alignment is known.
#define EGB_HEAP_ANY_BYTES SIZE_MAX
void egb_heap_free_sized_(void* block, size_t align, size_t bytes, const void* site);

// A block stayed where it is though it became much smaller: nothing tells its size, so from now on
// no size is a mismatch.
void egb_heap_forget_sizes_(void);

// ---- large.c ------------------------------------------------------------------------------------

// A block in a region of whole units. NULL: refused.
void* egb_heap_alloc_large_(size_t align, size_t bytes, bool zeroed, const void* site);

// A block for realloc, which copies `moved` bytes into it, those of earlier moves counted.
void* egb_heap_alloc_moved_(size_t bytes, size_t moved, const void* site);

// Whether large blocks are at level "track"; at level "sample".
bool egb_heap_tracks_large_(void);
bool egb_heap_samples_large_(void);

// Notes who requested or resized a large block: at level "track" of each block, at level "sample"
// if it is a sampled one.
void egb_heap_track_large_(const void* block, size_t bytes, const void* site);

// The same at level "sample" alone, for a small block with a guard page: it is tracked by no class.
void egb_heap_sample_large_(const void* block, size_t bytes, const void* site);

// A large block was resized: it counts for no size any more, and is no sample any more.
void egb_heap_note_resized_large_(const void* block);

// ---- purge.c: memory that is not needed any more ------------------------------------------------

// Calls of the heap that went further than a magazine call this, without a lock: allocs, and frees
// that made room in a full magazine. Frees of large blocks, without a magazine, and at level "off"
// do not.
void egb_heap_purge_step_(void);

// Wakes the thread that sleeps in egb_heap_purge_wait_(), if one does: a large block was freed, or
// many calls went further than a magazine.
void egb_heap_wake_purger_(void);

// All but a few of many threads have ended, and left their free blocks. Unused memory goes at once,
// and not after two epochs, except the bytes that may stay (region/keep.h). No effect during a
// freeze; it is not made up for.
void egb_heap_end_crowd_(void);

// As egb_heap_trim(), but gives back whole ranges of addresses only: the system refused, and pages
// between blocks in use would not help. Returns the bytes given back.
size_t egb_heap_give_up_(size_t keep_bytes);

// Bytes of the chunks of all size classes, and of all regions of large blocks: in use, cached and
// in quarantine. The region cache of chunks does not count.
size_t egb_heap_held_(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_HEAP_H

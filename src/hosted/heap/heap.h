// SPDX-License-Identifier: MIT
// Room heap: what the files of the heap share. The lock of the classes, which keeps the making of
// their pools, is taken before all others: docs/locks.md.
#ifndef EGGBOX_SRC_HOSTED_HEAP_HEAP_H
#define EGGBOX_SRC_HOSTED_HEAP_HEAP_H

#include "../pool/control.h"
#include "eggbox/heap.h"

enum {
    EGB_HEAP_STEPS_TO_DOUBLE   = 8,
    EGB_HEAP_FINE_BYTES_MAX    = 128,
    EGB_HEAP_NATURAL_BYTES_MAX = 1024
};

// ---- sizes.c ------------------------------------------------------------------------------------

// Which class serves so many bytes, up to the largest class.
size_t egb_heap_class_of_(size_t bytes);
size_t egb_heap_class_bytes_(size_t index);

// What the blocks of a class are aligned to: the largest power of two in their size, up to a page;
// half of it where they are over EGB_HEAP_NATURAL_BYTES_MAX bytes, and neither a power of two nor
// whole pages. And how far behind the start of a chunk the first one starts.
size_t egb_heap_class_align_(size_t block_bytes);
size_t egb_heap_class_lead_(size_t block_bytes);

// What C++ libraries make of a size that is to be aligned, before they ask for it.
static inline size_t egb_heap_padded_(size_t bytes, size_t align)
{
    return (bytes + (align - 1)) & ~(align - 1);
}

// ---- classes.c ----------------------------------------------------------------------------------

// The pool of a class; the null pool if it was not used yet.
egb_pool egb_heap_pool_of_class_(size_t index);

// Makes the pool above the classes, and with it the world, if need be. False: refused.
bool egb_heap_is_made_(void);

// When large requests fail on purpose: that is looked up when the heap is made. The environment may
// be changed by another thread at any request.
egb_fault_plan egb_heap_large_faults_(void);

// As egb_aligned_alloc() of a power of two. `zeroed`: the block is all zero.
void* egb_heap_alloc_(size_t align, size_t bytes, bool zeroed, const void* site);

// Whether a request is too large for a class, or asks for more alignment than blocks of classes
// have.
bool egb_heap_is_large_(size_t align, size_t bytes);

// The class for a request that is not large.
size_t egb_heap_class_for_(size_t align, size_t bytes);

// The key of the pool of a class; 0: it was not used yet.
uint64_t egb_heap_key_of_class_(size_t index);

// What was counted.
void egb_heap_count_classes_(egb_heap_stats* out);

// The lock that keeps the making of pools, and the looks at them.
void egb_heap_lock_classes_(void);
bool egb_heap_try_lock_classes_(void);
void egb_heap_unlock_classes_(void);

// ---- free.c -------------------------------------------------------------------------------------

// As egb_free(), for what the hot path did not take: large blocks, blocks for which the magazine
// has no room, and misuse. Not NULL.
void egb_free_refused_(void* block, const void* site);

// As egb_free(), for another call that was made at `site`.
void egb_free_from_(void* block, const void* site);

// ---- free_sized.c -------------------------------------------------------------------------------

// As egb_free() of what was asked for with this alignment and size. If it was not, and the level is
// not "off", that is reported before.
#define EGB_HEAP_ANY_BYTES SIZE_MAX
void egb_heap_free_sized_(void* block, size_t align, size_t bytes, const void* site);

// ---- large.c ------------------------------------------------------------------------------------

// A block of whole units. NULL: refused.
void* egb_heap_alloc_large_(size_t align, size_t bytes, bool zeroed, const void* site);

// ---- purge.c: memory that is not needed any more ------------------------------------------------

// Called by every call that had to go further than a magazine, without a lock.
void egb_heap_purge_step_(void);

// Bytes of all chunks and regions.
size_t egb_heap_held_(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_HEAP_H

// SPDX-License-Identifier: MIT
// Layer hosted: what the files of the heap share among themselves.
//
// Two locks more. That of the classes is taken before the world's: it keeps the making of pools.
// That of large blocks is taken last of all: it keeps their records and the regions kept for reuse.
#ifndef EGGBOX_SRC_HOSTED_HEAP_PRIVATE_H
#define EGGBOX_SRC_HOSTED_HEAP_PRIVATE_H

#include "eggbox/heap.h"
#include "pool_private.h"

enum {
    EGB_HEAP_STEPS_TO_DOUBLE   = 8,
    EGB_HEAP_FINE_BYTES_MAX    = 128,
    EGB_HEAP_NATURAL_BYTES_MAX = 1024
};

// ---- heap_sizes.c -------------------------------------------------------------------------------

// Which class serves so many bytes, up to the largest class.
size_t egb_heap_class_of(size_t bytes);
size_t egb_heap_class_bytes(size_t index);

// What the blocks of a class are aligned to: the largest power of two in their size, up to a page;
// half of it where they are over EGB_HEAP_NATURAL_BYTES_MAX bytes, and neither a power of two nor
// whole pages. And how far behind the start of a chunk the first one starts.
size_t egb_heap_class_align(size_t block_bytes);
size_t egb_heap_class_lead(size_t block_bytes);

// ---- heap.c: size classes -----------------------------------------------------------------------

// The pool of a class; the null pool if it was not used yet.
egb_pool egb_heap_pool_of_class(size_t index);

// Makes the pool above the classes, and with it the world, if need be. False: refused.
bool egb_heap_is_made(void);

// When large requests fail on purpose: that is looked up when the heap is made. The environment may
// be changed by another thread at any request.
egb_fail egb_heap_large_fail(void);

// As egb_aligned_alloc() of a power of two. `zeroed`: the block is all zero.
void* egb_heap_alloc(size_t align, size_t bytes, bool zeroed, const void* site);

// As egb_free() of what was asked for with this alignment and size. If it was not, and the level is
// not "off", that is reported before.
#define EGB_HEAP_ANY_BYTES SIZE_MAX
void egb_heap_free_sized(void* block, size_t align, size_t bytes, const void* site);

// What was counted.
void egb_heap_count_classes(egb_heap_numbers* out);

// The lock that keeps the making of pools, and the looks at them. And in the child of a fork.
void egb_heap_lock_classes(void);
bool egb_heap_try_lock_classes(void);
void egb_heap_unlock_classes(void);
void egb_heap_reset_classes(void);

// ---- heap_large.c -------------------------------------------------------------------------------

// A block of whole units. NULL: refused.
void* egb_large_alloc(size_t align, size_t bytes, bool zeroed, const void* site);

// Serves a small request by a large block with a guard page, if one is due. NULL: none is, or it
// could not be had.
void* egb_large_sample(size_t align, size_t bytes, const void* site);

// Frees a large block, or reports the misuse. False, and nothing happened: no large block is there.
bool egb_large_free(void* block, const void* site);

// How many bytes the large block has room for that `address` is in; 0: there is none.
size_t egb_large_bytes(const void* address);

// Whether the large block there has a guard page: then its bytes are what was asked for.
bool egb_large_is_guarded(const void* block);

// What is known of the block: nothing, if it has no guard page.
egb_history egb_large_history(const void* block);

// Gives back what freed blocks with guard pages keep of addresses. False: nothing, or sealed.
bool egb_large_make_room(void);

// A kept region of just so many bytes, whole units, for a chunk. NULL: there is none.
void* egb_large_pass_on(size_t bytes);

// Whether a large block in use starts here.
bool egb_large_is_live(const void* block);

// Looks at what is around a large block; around all of them, and says of how many it is not as it
// should be. What is found, or found first, is reported.
egb_status egb_large_check(const void* block, const void* site);
size_t     egb_large_check_all(const void* site);

// Makes a large block larger or smaller, here or elsewhere, without copying. NULL: that cannot be
// done, and it is as it was.
void* egb_large_resize(void* block, size_t bytes);

// Releases regions that are kept since before `turn`, the oldest first, as long as `bytes` bytes of
// them stay. Returns the bytes given back.
size_t egb_large_release(uint32_t turn, size_t bytes);

// Bytes of all regions, and of those that are kept.
size_t egb_large_held(size_t* cached);

void egb_large_count(egb_heap_numbers* out);

// The lock that keeps all this.
void egb_large_lock(void);
void egb_large_unlock(void);
bool egb_large_is_free_soon(void);
void egb_large_reset(void);

// ---- heap_quiet.c: memory that is not needed any more -------------------------------------------

// Called by every call that had to go further than a magazine, without a lock.
void egb_heap_tick(void);

// The number of the current turn: see there.
uint32_t egb_heap_turn(void);

// Bytes of all chunks and regions.
size_t egb_heap_held(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_PRIVATE_H

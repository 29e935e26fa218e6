/* SPDX-License-Identifier: MIT */
/* Layer faces: the interface of C_Allocator's x_allocator: blocks of several sizes from several
 * allocators of fb_allocator.h.
 *
 *     ALLOC_DEFINE(small, 32 + XALLOC_BLOCK_META_DATA_SIZE, 10)
 *     ALLOC_DEFINE(large, 128 + XALLOC_BLOCK_META_DATA_SIZE, 5)
 *
 *     static ALLOC_Allocator* allocators[] = {&smallObj, &largeObj};   // smallest first
 *     static XAllocData       self         = {allocators, 2};
 *
 *     void* block = XALLOC_Alloc(&self, 100);
 *     XALLOC_Free(block);
 *
 * docs/guide/migrate.md lists the improvements and the native name of each call.
 *
 * Threads, Misuse  as fb_allocator.h.
 */
#ifndef EGGBOX_COMPAT_X_ALLOCATOR_H
#define EGGBOX_COMPAT_X_ALLOCATOR_H

#include "fb_allocator.h"

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Users add this to the sizes they define. Nothing is kept there any more: the program may use the
 * whole block, which is aligned as all blocks of its allocator.
 */
#define XALLOC_BLOCK_META_DATA_SIZE sizeof(ALLOC_Allocator*)

typedef struct {
    ALLOC_Allocator* const* allocators; /* NULL entries are skipped */
    const UINT16            maxAllocators;
} XAllocData;

/** Takes a block of at least `size` bytes. The first allocator that has a block left serves, among
 * those whose objects have at least `size` + XALLOC_BLOCK_META_DATA_SIZE bytes.
 *
 * Returns  the block; NULL if no such allocator has a block left, or `self` is NULL.
 *          FaultHandler() (Fault.h) is called before NULL is returned.
 * Cost     O(allocators of `self`)
 */
void* XALLOC_Alloc(XAllocData* self, size_t size);

/** Gives a block back to its allocator. NULL: no effect.
 *
 * Misuse   as ALLOC_Free(); EGB_MISUSE_FOREIGN: no allocator has such a block.
 * Cost     O(allocators in use in the process)
 */
void XALLOC_Free(void* ptr);

/** Resizes a block. The block stays in place if XALLOC_Alloc() would choose the same allocator;
 * otherwise the contents move. `ptr` NULL: as XALLOC_Alloc(). `new_size` 0: as XALLOC_Free(), and
 * returns NULL.
 *
 * Returns  as XALLOC_Alloc(); on NULL for more than 0 bytes the old block is unchanged. A block
 *          that is large enough already is never refused.
 * Misuse   as XALLOC_Free(): returns NULL, and nothing changes.
 */
void* XALLOC_Realloc(XAllocData* self, void* ptr, size_t new_size);

/** As XALLOC_Alloc() of num * size bytes, which are then zero. NULL also if the product
 * overflows.
 */
void* XALLOC_Calloc(XAllocData* self, size_t num, size_t size);

#if defined(__cplusplus)
}
#endif

#endif /* EGGBOX_COMPAT_X_ALLOCATOR_H */

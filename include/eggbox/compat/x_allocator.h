// SPDX-License-Identifier: MIT
// Layer faces: the interface of C_Allocator's x_allocator: blocks of several sizes from several
// allocators of fb_allocator.h.
//
//     ALLOC_DEFINE(small, 32 + XALLOC_BLOCK_META_DATA_SIZE, 10)
//     ALLOC_DEFINE(large, 128 + XALLOC_BLOCK_META_DATA_SIZE, 5)
//
//     static ALLOC_Allocator* allocators[] = {&smallObj, &largeObj};   // smallest first
//     static XAllocData       self         = {allocators, 2};
//
//     void* block = XALLOC_Alloc(&self, 100);
//     XALLOC_Free(block);
//
// What is better than it was, and each call's native name: docs/guide/migrate.md.
//
// Threads, Misuse  as fb_allocator.h.
#ifndef EGGBOX_COMPAT_X_ALLOCATOR_H
#define EGGBOX_COMPAT_X_ALLOCATOR_H

#include "fb_allocator.h"

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// What users add to the sizes they define. Nothing is kept there any more: a block is all of it
/// the program's, and as aligned as its allocator's blocks.
#define XALLOC_BLOCK_META_DATA_SIZE sizeof(ALLOC_Allocator*)

typedef struct {
    ALLOC_Allocator* const* allocators;  // those that are NULL are passed over
    const UINT16            maxAllocators;
} XAllocData;

/// Takes a block of at least `size` bytes: of the first allocator whose objects are that large, and
/// XALLOC_BLOCK_META_DATA_SIZE more; when it has none left, of the next one.
///
/// Returns  the block; NULL, and before that FaultHandler() is called (Fault.h), if no allocator is
///          large enough or none that is has a block left, or `self` is NULL.
/// Cost     O(allocators of `self`)
void* XALLOC_Alloc(XAllocData* self, size_t size);

/// Gives a block back to the allocator that it is of. NULL: no effect.
///
/// Misuse   as ALLOC_Free(); EGB_EVENT_FOREIGN: it is of no allocator.
/// Cost     O(allocators in use in the process)
void XALLOC_Free(void* ptr);

/// Makes a block larger or smaller: stays where it is if XALLOC_Alloc() would take the same
/// allocator, else moves the contents. NULL: as XALLOC_Alloc(). 0 bytes: as XALLOC_Free(), and
/// NULL is returned.
///
/// Returns  as XALLOC_Alloc(); on NULL for more than 0 bytes the block is as it was. A block that
///          is large enough already is never refused.
/// Misuse   as XALLOC_Free(): returns NULL, and nothing changes.
void* XALLOC_Realloc(XAllocData* self, void* ptr, size_t new_size);

/// As XALLOC_Alloc() of num * size bytes, which are then zero. NULL also if the product overflows.
void* XALLOC_Calloc(XAllocData* self, size_t num, size_t size);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_COMPAT_X_ALLOCATOR_H

// SPDX-License-Identifier: MIT
// x_allocator: which allocator serves a size, and which one a block is of. The latter is told by
// the address: nothing is hidden before a block.
#include "eggbox/compat/x_allocator.h"

#include "fb_private.h"

#include <string.h>

// NULL: is there, but too small; or none is there.
static ALLOC_Allocator* x_if_large_enough(ALLOC_Allocator* allocator, size_t size)
{
    return allocator != NULL && allocator->objectSize >= XALLOC_BLOCK_META_DATA_SIZE &&
                   allocator->objectSize - XALLOC_BLOCK_META_DATA_SIZE >= size
               ? allocator
               : NULL;
}

static ALLOC_Allocator* x_class_of(const XAllocData* self, size_t size)
{
    ALLOC_Allocator* found = NULL;
    for (size_t i = 0; i < self->maxAllocators && found == NULL; i++) {
        found = x_if_large_enough(self->allocators[i], size);
    }
    return found;
}

static void* x_take(const XAllocData* self, size_t size)
{
    void* block = NULL;
    for (size_t i = 0; i < self->maxAllocators && block == NULL; i++) {
        ALLOC_Allocator* const one = x_if_large_enough(self->allocators[i], size);
        block                      = one == NULL ? NULL : egb_fb_take(one);
    }
    return block;
}

void* XALLOC_Alloc(XAllocData* self, size_t size)
{
    void* const block = self == NULL ? NULL : x_take(self, size);
    return block != NULL ? block : egb_fb_fault(__LINE__);
}

void XALLOC_Free(void* ptr)
{
    if (ptr != NULL) {
        egb_fb_give(egb_fb_owner(ptr), ptr, EGB_CALLER());
    }
}

static void* x_move(XAllocData* self, ALLOC_Allocator* owner, void* from, size_t size)
{
    void* const to = x_take(self, size);
    if (to == NULL) {
        return x_if_large_enough(owner, size) != NULL ? from : egb_fb_fault(__LINE__);
    }
    (void)memcpy(to, from, owner->blockSize < size ? owner->blockSize : size);
    egb_fb_give(owner, from, EGB_CALLER());
    return to;
}

void* XALLOC_Realloc(XAllocData* self, void* ptr, size_t new_size)
{
    if (ptr == NULL) {
        return XALLOC_Alloc(self, new_size);
    }
    if (new_size == 0) {
        XALLOC_Free(ptr);
        return NULL;
    }
    if (self == NULL) {
        return egb_fb_fault(__LINE__);
    }
    ALLOC_Allocator* const owner = egb_fb_owner(ptr);
    if (!egb_fb_is_live(owner, ptr, EGB_CALLER())) {
        return NULL;
    }
    return x_class_of(self, new_size) == owner ? ptr : x_move(self, owner, ptr, new_size);
}

void* XALLOC_Calloc(XAllocData* self, size_t num, size_t size)
{
    size_t bytes;
    if (!egb_fb_product(num, size, &bytes)) {
        return egb_fb_fault(__LINE__);
    }
    void* const block = XALLOC_Alloc(self, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

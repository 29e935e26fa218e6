// SPDX-License-Identifier: MIT
// x_allocator: which allocator serves a size, and which one a block is of. The latter is told by
// the address: nothing is hidden before a block.
#include "eggbox/compat/x_allocator.h"

#include "fb_private.h"

#include <string.h>

// What the objects of an allocator must have for `size` bytes. None have SIZE_MAX.
static size_t x_object_bytes(size_t size)
{
    const size_t most = SIZE_MAX - XALLOC_BLOCK_META_DATA_SIZE;
    return EGB_LIKELY(size < most) ? size + XALLOC_BLOCK_META_DATA_SIZE : SIZE_MAX;
}

static bool x_is_large_enough(const ALLOC_Allocator* allocator, size_t bytes)
{
    return allocator != NULL && allocator->objectSize >= bytes;
}

static ALLOC_Allocator* x_class_of(const XAllocData* self, size_t size)
{
    const size_t bytes = x_object_bytes(size);
    for (size_t i = 0; i < self->maxAllocators; i++) {
        if (x_is_large_enough(self->allocators[i], bytes)) {
            return self->allocators[i];
        }
    }
    return NULL;
}

// Of all that are large enough, the first one that has a block left.
static void* x_take(const XAllocData* self, size_t size, const void* site)
{
    const size_t bytes = x_object_bytes(size);
    void*        block = NULL;
    for (size_t i = 0; i < self->maxAllocators && block == NULL; i++) {
        if (x_is_large_enough(self->allocators[i], bytes)) {
            block = egb_fb_take(self->allocators[i], site);
        }
    }
    return block;
}

EGB_COLD static void* x_alloc_cold(const XAllocData* self, size_t size, const void* site)
{
    void* const block = self == NULL ? NULL : x_take(self, size, site);
    return block != NULL ? block : egb_fb_fault(__LINE__);
}

void* XALLOC_Alloc(XAllocData* self, size_t size)
{
    ALLOC_Allocator* const first = EGB_LIKELY(self != NULL) ? x_class_of(self, size) : NULL;
    void*                  block;
    if (EGB_LIKELY(first != NULL) && egb_fb_pop(first, &block)) {
        return block;
    }
    return x_alloc_cold(self, size, EGB_CALLER());
}

EGB_COLD static void x_free_cold(ALLOC_Allocator* owner, const void* block, const void* site)
{
    if (block != NULL) {
        egb_fb_give(owner, block, site);
    }
}

void XALLOC_Free(void* ptr)
{
    ALLOC_Allocator* const owner = egb_fb_owner(ptr);
    if (EGB_UNLIKELY(owner == NULL) || !egb_fb_push(owner, ptr)) {
        x_free_cold(owner, ptr, EGB_CALLER());
    }
}

static void*
x_move(XAllocData* self, ALLOC_Allocator* owner, void* from, size_t size, const void* site)
{
    void* const to = x_take(self, size, site);
    if (to == NULL) {
        return x_is_large_enough(owner, x_object_bytes(size)) ? from : egb_fb_fault(__LINE__);
    }
    (void)memcpy(to, from, owner->blockSize < size ? owner->blockSize : size);
    egb_fb_give(owner, from, site);
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
    return x_class_of(self, new_size) == owner ? ptr
                                               : x_move(self, owner, ptr, new_size, EGB_CALLER());
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

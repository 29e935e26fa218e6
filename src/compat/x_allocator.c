// SPDX-License-Identifier: MIT
// x_allocator: finds the allocator that serves a size, and the allocator of a block. The latter is
// found by the block's address: there is no header before a block.
#include "eggbox/compat/x_allocator.h"

#include "fb_private.h"

#include "eggbox/heap.h"

#include <string.h>

// ---- the allocator of a block -------------------------------------------------------------------

// A note about an allocator that was used here. The allocator may have ended since, with its stack
// frame, heap block or module. It is therefore read only for a block that lies in its memory.
typedef struct x_note {
    struct x_note*   next;  // the previous note
    uintptr_t        first;
    size_t           bytes;  // 0: another allocator has this memory now. Atomic
    ALLOC_Allocator* self;
} x_note;

static struct {
    egb_lock_ lock;     // for adding a note
    x_note*   newest;   // atomic
    x_note    few[32];  // these need no heap
    size_t    used;     // of `few`
} x_notes;

static bool x_is_noted(const ALLOC_Allocator* self)
{
    return __atomic_load_n(&self->listed, __ATOMIC_ACQUIRE) != NULL;
}

static x_note* x_new_note(void)
{
    return x_notes.used < sizeof x_notes.few / sizeof x_notes.few[0]
               ? &x_notes.few[x_notes.used++]
               : egb_calloc(1, sizeof(x_note));
}

static bool x_is_of(const x_note* note, const ALLOC_Allocator* self, uintptr_t first, size_t bytes)
{
    return note->self == self && note->first == first && EGB_LOAD_(note->bytes) == bytes;
}

// Invalidates the notes about earlier allocators in this memory, and outdated notes about `self`.
// Returns the note that is still right; NULL: there is none.
static x_note* x_find_note(const ALLOC_Allocator* self, uintptr_t first, size_t bytes)
{
    x_note* same = NULL;
    for (x_note* note = x_notes.newest; note != NULL; note = note->next) {
        const size_t others = EGB_LOAD_(note->bytes);
        if (x_is_of(note, self, first, bytes)) {
            same = note;
        } else if (note->self == self || first - note->first < others ||
                   note->first - first < bytes) {
            EGB_STORE_(note->bytes, 0);
        }
    }
    return same;
}

// Makes a note about an allocator. False: no memory.
static bool x_note_down(ALLOC_Allocator* self)
{
    const uintptr_t first = (uintptr_t)self->pPool;
    const size_t    bytes = egb_fb_bytes_(self);
    egb_lock_take_(&x_notes.lock);
    x_note* note = x_find_note(self, first, bytes);
    if (note == NULL) {
        note = x_new_note();
        if (note != NULL) {
            const x_note made = {x_notes.newest, first, bytes, self};
            *note             = made;
            __atomic_store_n(&x_notes.newest, note, __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&self->listed, note, __ATOMIC_RELEASE);
    egb_lock_give_(&x_notes.lock);
    return note != NULL;
}

// Returns the allocator of a block. NULL: it is of no allocator that was used here.
static ALLOC_Allocator* x_owner(const void* block)
{
    const x_note* note = __atomic_load_n(&x_notes.newest, __ATOMIC_ACQUIRE);
    while (note != NULL && (uintptr_t)block - note->first >= EGB_LOAD_(note->bytes)) {
        note = note->next;
    }
    return note == NULL ? NULL : note->self;
}

// ---- the allocator of a size --------------------------------------------------------------------

// The object size that an allocator needs to serve `size` bytes. No allocator has SIZE_MAX.
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

// The note follows the first block: until the pool is made, the allocator's memory may change.
static void* x_take_of(ALLOC_Allocator* allocator, const void* site)
{
    void* const block = egb_fb_take_(allocator, site);
    if (block != NULL && !x_is_noted(allocator) && !x_note_down(allocator)) {
        egb_fb_give_(allocator, block, site);
        return NULL;
    }
    return block;
}

// Takes a block from the first allocator that is large enough and has one left.
static void* x_take(const XAllocData* self, size_t size, const void* site)
{
    const size_t bytes = x_object_bytes(size);
    void*        block = NULL;
    for (size_t i = 0; i < self->maxAllocators && block == NULL; i++) {
        if (x_is_large_enough(self->allocators[i], bytes)) {
            block = x_take_of(self->allocators[i], site);
        }
    }
    return block;
}

EGB_COLD static void* x_alloc_cold(const XAllocData* self, size_t size, const void* site)
{
    void* const block = self == NULL ? NULL : x_take(self, size, site);
    return block != NULL ? block : egb_fb_fault_(__LINE__);
}

void* XALLOC_Alloc(XAllocData* self, size_t size)
{
    ALLOC_Allocator* const first = EGB_LIKELY(self != NULL) ? x_class_of(self, size) : NULL;
    void*                  block;
    if (EGB_LIKELY(first != NULL && x_is_noted(first)) && egb_fb_pop_(first, &block)) {
        return block;
    }
    return x_alloc_cold(self, size, EGB_CALLER());
}

EGB_COLD static void x_free_cold(ALLOC_Allocator* owner, const void* block, const void* site)
{
    if (block != NULL) {
        egb_fb_give_(owner, block, site);
    }
}

void XALLOC_Free(void* ptr)
{
    ALLOC_Allocator* const owner = x_owner(ptr);
    if (EGB_UNLIKELY(owner == NULL) || !egb_fb_push_(owner, ptr)) {
        x_free_cold(owner, ptr, EGB_CALLER());
    }
}

static void*
x_move(XAllocData* self, ALLOC_Allocator* owner, void* from, size_t size, const void* site)
{
    void* const to = x_take(self, size, site);
    if (to == NULL) {
        return x_is_large_enough(owner, x_object_bytes(size)) ? from : egb_fb_fault_(__LINE__);
    }
    (void)memcpy(to, from, owner->blockSize < size ? owner->blockSize : size);
    egb_fb_give_(owner, from, site);
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
        return egb_fb_fault_(__LINE__);
    }
    ALLOC_Allocator* const owner = x_owner(ptr);
    if (!egb_fb_is_live_(owner, ptr, EGB_CALLER())) {
        return NULL;
    }
    return x_class_of(self, new_size) == owner ? ptr
                                               : x_move(self, owner, ptr, new_size, EGB_CALLER());
}

void* XALLOC_Calloc(XAllocData* self, size_t num, size_t size)
{
    size_t bytes;
    if (!egb_fb_product_(num, size, &bytes)) {
        return egb_fb_fault_(__LINE__);
    }
    void* const block = XALLOC_Alloc(self, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

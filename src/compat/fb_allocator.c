// SPDX-License-Identifier: MIT
// fb_allocator: fixed pools with live bits, each with a lock. An allocator becomes a pool on its
// first use, because a macro at file scope cannot call a function.
#include "eggbox/compat/Fault.h"

#include "fb_private.h"

#include "eggbox/heap.h"

#include <string.h>

EGB_STATIC_ASSERT(
    EGB_FIXED_LIVE_BYTES(33) <= ALLOC_OUTSIDE_(32, 33) * sizeof(UINT32) &&
        EGB_FIXED_OUTSIDE_BYTES(33) <= ALLOC_OUTSIDE_(2048, 33) * sizeof(UINT32),
    "ALLOC_OUTSIDE_ words are enough"
);

const char egb_fb_not_served_[] = "fb_allocator";

void* egb_fb_fault_(unsigned short line)
{
    FaultHandler(egb_fb_not_served_, line);
    return NULL;
}

// ---- becoming a pool ----------------------------------------------------------------------------

// Returns the private part of an allocator. If a program wrote the initialiser by hand, as for the
// original library, there is none yet, and it is allocated here. NULL: no memory.
static egb_fb_core* fb_core(ALLOC_Allocator* self)
{
    egb_fb_core* const there = egb_fb_core_of_(self);
    if (there != NULL) {
        return there;
    }
    ALLOC_Core* found = NULL;
    ALLOC_Core* made  = egb_calloc(1, sizeof *made);
    if (made != NULL && !__atomic_compare_exchange_n(
                            &self->core, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
                        )) {
        egb_free(made);  // another thread was first
        made = found;
    }
    return (egb_fb_core*)(void*)made;
}

static bool fb_add_outside(ALLOC_Allocator* self)
{
    if (self->live == NULL) {
        const size_t words = ALLOC_OUTSIDE_(self->blockSize, (size_t)self->maxBlocks);
        self->liveBytes    = words * sizeof *self->live;
        self->live         = egb_calloc(words, sizeof *self->live);
    }
    return self->live != NULL;
}

size_t egb_fb_stride_(const ALLOC_Allocator* self)
{
    const size_t word = EGB_WORD_BYTES;
    return (self->blockSize + word - 1) / word * word;
}

size_t egb_fb_bytes_(const ALLOC_Allocator* self)
{
    return egb_fb_stride_(self) * self->maxBlocks;
}

// A fixed pool needs memory aligned to a word, and blocks of whole words. Only an allocator that a
// program wrote by hand can lack that, with blocks of 13 bytes for example: its blocks come from
// the heap.
static bool fb_add_blocks(ALLOC_Allocator* self, size_t stride)
{
    if (self->blockSize == stride && (uintptr_t)self->pPool % EGB_WORD_BYTES == 0) {
        return true;
    }
    const char* const own = egb_calloc(self->maxBlocks, stride);
    if (own != NULL) {
        self->pPool = own;
    }
    return own != NULL;
}

static bool fb_make(ALLOC_Allocator* self, egb_fb_core* core)
{
    const size_t stride = egb_fb_stride_(self);
    if (!fb_add_outside(self) || !fb_add_blocks(self, stride)) {
        return false;
    }
    const bool has_links = self->liveBytes >= EGB_FIXED_OUTSIDE_BYTES((size_t)self->maxBlocks);
    return (has_links ? egb_fixed_init_outside : egb_fixed_init_checked)(
               &core->blocks,
               (char*)(uintptr_t)self->pPool,
               egb_fb_bytes_(self),
               stride,
               self->live,
               self->liveBytes
           ) == EGB_OK;
}

// ---- reports of misuse --------------------------------------------------------------------------

static egb_misuse_kind fb_kind_of_free(const ALLOC_Allocator* self, size_t distance, size_t stride)
{
    const size_t index = distance / stride;
    if (index >= self->maxBlocks) {
        return EGB_MISUSE_FOREIGN;
    }
    if (distance % stride != 0) {
        return EGB_MISUSE_INTERIOR;
    }
    return index < self->poolIndex ? EGB_MISUSE_DOUBLE_FREE : EGB_MISUSE_NEVER_ALLOCATED;
}

// The event for a free of a block that is not in use.
static egb_misuse_event
fb_event_of(const ALLOC_Allocator* self, const void* block, const void* site)
{
    const size_t           stride   = egb_fb_stride_(self);
    const size_t           distance = (size_t)((uintptr_t)block - (uintptr_t)self->pPool);
    const size_t           index    = distance / stride;
    const egb_misuse_event event    = {
           .kind        = fb_kind_of_free(self, distance, stride),
           .pool_name   = self->name,
           .pool        = self,
           .address     = block,
           .block_index = index < self->maxBlocks ? index : EGB_NO_INDEX,
           .site        = site
    };
    return event;
}

static void fb_report_no_allocator(const void* block, egb_misuse_kind kind, const void* site)
{
    const egb_misuse_event event = {
        .kind = kind, .address = block, .block_index = EGB_NO_INDEX, .site = site
    };
    egb_misuse(&event);
}

// ---- blocks -------------------------------------------------------------------------------------

static void fb_unlock(egb_fb_core* core, bool is_taken)
{
    if (is_taken) {
        egb_handler_lock_give_(&core->lock);
    }
}

void* egb_fb_take_(ALLOC_Allocator* self, const void* site)
{
    egb_fb_core* const core  = fb_core(self);
    void*              block = NULL;
    if (core == NULL) {
        return NULL;
    }
    const bool is_taken = egb_handler_lock_take_(&core->lock);
    if (egb_fb_is_made_(core) || fb_make(self, core)) {
        block = egb_fixed_alloc_live_(&core->blocks, site);
    }
    if (block != NULL) {
        egb_fb_count_alloc_(self);
    }
    fb_unlock(core, is_taken);
    return block;
}

// A call that holds the lock, by this thread's own taking or by that of a call further out.
typedef struct fb_held {
    const ALLOC_Allocator* self;
    egb_fb_core*           core;
    bool                   is_taken;
} fb_held;

// Releases the lock, and then reports a block that is not live: the handler may use any pool.
static void fb_release(fb_held held, bool is_live, const void* block, const void* site)
{
    if (is_live) {
        fb_unlock(held.core, held.is_taken);
        return;
    }
    const egb_misuse_event event = fb_event_of(held.self, block, site);
    fb_unlock(held.core, held.is_taken);
    egb_misuse(&event);
}

void egb_fb_give_(ALLOC_Allocator* self, const void* block, const void* site)
{
    egb_fb_core* const core = self == NULL ? NULL : fb_core(self);
    if (core == NULL) {
        fb_report_no_allocator(block, EGB_MISUSE_FOREIGN, site);
        return;
    }
    egb_fixed* const blocks = &core->blocks;
    const fb_held    held   = {self, core, egb_handler_lock_take_(&core->lock)};
    const bool       is_live =
        egb_fb_is_made_(core) && egb_fixed_push_live_(blocks, egb_fixed_distance_(blocks, block));
    if (is_live) {
        egb_fb_count_free_(self);
    }
    fb_release(held, is_live, block, site);
}

bool egb_fb_is_live_(ALLOC_Allocator* self, const void* block, const void* site)
{
    egb_fb_core* const core = self == NULL ? NULL : fb_core(self);
    if (core == NULL) {
        fb_report_no_allocator(block, EGB_MISUSE_FOREIGN, site);
        return false;
    }
    const fb_held held    = {self, core, egb_handler_lock_take_(&core->lock)};
    const bool    is_live = egb_fixed_is_live(&core->blocks, block);
    fb_release(held, is_live, block, site);
    return is_live;
}

bool egb_fb_product_(size_t num, size_t size, size_t* product)
{
    if (size != 0 && num > SIZE_MAX / size) {
        return false;
    }
    *product = num * size;
    return true;
}

// ---- the interface ------------------------------------------------------------------------------

void ALLOC_Init(void) {}

void ALLOC_Term(void) {}

EGB_COLD static void* fb_alloc_cold(ALLOC_Allocator* self, size_t size, const void* site)
{
    void* const block = self == NULL || size > self->blockSize ? NULL : egb_fb_take_(self, site);
    return block != NULL ? block : egb_fb_fault_(__LINE__);
}

void* ALLOC_Alloc(ALLOC_HANDLE hAlloc, size_t size)
{
    ALLOC_Allocator* const self = hAlloc;
    void*                  block;
    if (EGB_LIKELY(self != NULL && size <= self->blockSize) && egb_fb_pop_(self, &block)) {
        return block;
    }
    return fb_alloc_cold(self, size, EGB_CALLER());
}

void* ALLOC_Calloc(ALLOC_HANDLE hAlloc, size_t num, size_t size)
{
    size_t bytes;
    if (!egb_fb_product_(num, size, &bytes)) {
        return egb_fb_fault_(__LINE__);
    }
    void* const block = ALLOC_Alloc(hAlloc, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

EGB_COLD static void fb_free_cold(ALLOC_Allocator* self, const void* block, const void* site)
{
    if (block != NULL && self == NULL) {
        fb_report_no_allocator(block, EGB_MISUSE_NO_POOL, site);
    } else if (block != NULL) {
        egb_fb_give_(self, block, site);
    }
}

void ALLOC_Free(ALLOC_HANDLE hAlloc, void* pBlock)
{
    ALLOC_Allocator* const self = hAlloc;
    if (EGB_UNLIKELY(self == NULL) || !egb_fb_push_(self, pBlock)) {
        fb_free_cold(self, pBlock, EGB_CALLER());
    }
}

// SPDX-License-Identifier: MIT
// fb_allocator: fixed pools with live bits, and one lock for all of them, as it was. An allocator
// becomes a pool when it is first used, because a file-scope macro can run no function.
#include "eggbox/compat/Fault.h"

#include "compat_lock.h"
#include "fb_private.h"

#include "eggbox/fixed.h"
#include "eggbox/heap.h"

#include <string.h>

EGB_STATIC_ASSERT(sizeof(egb_fixed) <= sizeof(ALLOC_Core), "a pool has room");
EGB_STATIC_ASSERT(EGB_ALIGNOF_(egb_fixed) <= EGB_ALIGNOF_(ALLOC_Core), "a pool is aligned");
EGB_STATIC_ASSERT(EGB_FIXED_LIVE_BYTES(33) <= (33 / 32 + 5) * sizeof(UINT32), "as are its bits");

const char egb_fb_not_served[] = "fb_allocator";

static egb_compat_lock  fb_lock = EGB_COMPAT_UNLOCKED;
static ALLOC_Allocator* fb_first;  // of all that were ever used, the newest. Read without the lock

void* egb_fb_fault(unsigned short line)
{
    FaultHandler(egb_fb_not_served, line);
    return NULL;
}

// ---- with the lock held -------------------------------------------------------------------------

static egb_fixed* fb_core(const ALLOC_Allocator* self)
{
    return (egb_fixed*)(void*)self->core;
}

static char* fb_blocks(const ALLOC_Allocator* self)
{
    return (char*)(uintptr_t)self->pPool;
}

// An allocator that a program wrote itself, as it was before, has no room for what is private.
static bool fb_add_room(ALLOC_Allocator* self)
{
    if (self->core != NULL) {
        return true;
    }
    self->liveBytes = EGB_FIXED_LIVE_BYTES((size_t)self->maxBlocks);
    self->live      = egb_calloc(1, self->liveBytes);
    self->core      = self->live == NULL ? NULL : egb_calloc(1, sizeof *self->core);
    if (self->core == NULL) {
        egb_free(self->live);
    }
    return self->core != NULL;
}

static bool fb_make(ALLOC_Allocator* self)
{
    if (!fb_add_room(self)) {
        return false;
    }
    const size_t bytes = self->blockSize * self->maxBlocks;
    if (egb_fixed_init_checked(
            fb_core(self), fb_blocks(self), bytes, self->blockSize, self->live, self->liveBytes
        ) != EGB_OK) {
        return false;
    }
    self->next = fb_first;
    __atomic_store_n(&fb_first, self, __ATOMIC_RELEASE);
    return true;
}

static bool fb_is_made(const ALLOC_Allocator* self)
{
    return self->core != NULL && egb_fixed_capacity(fb_core(self)) != 0;
}

static void fb_count_alloc(ALLOC_Allocator* self)
{
    self->allocations++;
    self->blocksInUse++;
    self->poolIndex = (UINT32)egb_fixed_touched(fb_core(self));
    if (self->blocksInUse > self->maxBlocksInUse) {
        self->maxBlocksInUse = self->blocksInUse;
    }
}

static bool fb_is_live(const ALLOC_Allocator* self, const void* block)
{
    return fb_is_made(self) && egb_fixed_is_live(fb_core(self), block);
}

static egb_event_kind fb_kind_of_free(const ALLOC_Allocator* self, size_t distance)
{
    const size_t index = distance / self->blockSize;
    if (index >= self->maxBlocks) {
        return EGB_EVENT_FOREIGN;
    }
    if (distance % self->blockSize != 0) {
        return EGB_EVENT_INTERIOR;
    }
    return index < self->poolIndex ? EGB_EVENT_DOUBLE_FREE : EGB_EVENT_NEVER_ALLOCATED;
}

// What is wrong with a free of a block that is not in use.
static egb_event fb_event_of(const ALLOC_Allocator* self, const void* block, const void* site)
{
    const size_t    distance = (size_t)((uintptr_t)block - (uintptr_t)self->pPool);
    const size_t    index    = distance / self->blockSize;
    const egb_event event    = {
           .kind        = fb_kind_of_free(self, distance),
           .pool_name   = self->name,
           .pool        = self,
           .address     = block,
           .block_index = index < self->maxBlocks ? index : EGB_NO_INDEX,
           .site        = site
    };
    return event;
}

// ---- blocks -------------------------------------------------------------------------------------

void* egb_fb_take(ALLOC_Allocator* self)
{
    void* block = NULL;
    egb_compat_take(&fb_lock);
    if (fb_is_made(self) || fb_make(self)) {
        block = egb_fixed_alloc(fb_core(self));
    }
    if (block != NULL) {
        fb_count_alloc(self);
    }
    egb_compat_release(&fb_lock);
    return block;
}

static void fb_report_no_allocator(const void* block, egb_event_kind kind, const void* site)
{
    const egb_event event = {
        .kind = kind, .address = block, .block_index = EGB_NO_INDEX, .site = site
    };
    egb_misuse(&event);
}

// The end of a call with the lock held. The handler may use any pool, so it is called without.
static void
fb_release(const ALLOC_Allocator* self, const void* block, bool is_live, const void* site)
{
    if (is_live) {
        egb_compat_release(&fb_lock);
        return;
    }
    const egb_event event = fb_event_of(self, block, site);
    egb_compat_release(&fb_lock);
    egb_misuse(&event);
}

void egb_fb_give(ALLOC_Allocator* self, void* block, const void* site)
{
    if (self == NULL) {
        fb_report_no_allocator(block, EGB_EVENT_FOREIGN, site);
        return;
    }
    egb_compat_take(&fb_lock);
    const bool is_live = fb_is_live(self, block);
    if (is_live) {
        egb_fixed_free(fb_core(self), block);
        self->deallocations++;
        self->blocksInUse--;
    }
    fb_release(self, block, is_live, site);
}

bool egb_fb_is_live(ALLOC_Allocator* self, const void* block, const void* site)
{
    if (self == NULL) {
        fb_report_no_allocator(block, EGB_EVENT_FOREIGN, site);
        return false;
    }
    egb_compat_take(&fb_lock);
    const bool is_live = fb_is_live(self, block);
    fb_release(self, block, is_live, site);
    return is_live;
}

ALLOC_Allocator* egb_fb_owner(const void* block)
{
    ALLOC_Allocator* one = __atomic_load_n(&fb_first, __ATOMIC_ACQUIRE);
    while (one != NULL &&
           (uintptr_t)block - (uintptr_t)one->pPool >= one->blockSize * one->maxBlocks) {
        one = one->next;
    }
    return one;
}

bool egb_fb_product(size_t num, size_t size, size_t* product)
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

void* ALLOC_Alloc(ALLOC_HANDLE hAlloc, size_t size)
{
    ALLOC_Allocator* const self = hAlloc;
    if (self == NULL || size > self->blockSize) {
        return egb_fb_fault(__LINE__);
    }
    void* const block = egb_fb_take(self);
    return block != NULL ? block : egb_fb_fault(__LINE__);
}

void* ALLOC_Calloc(ALLOC_HANDLE hAlloc, size_t num, size_t size)
{
    size_t bytes;
    if (!egb_fb_product(num, size, &bytes)) {
        return egb_fb_fault(__LINE__);
    }
    void* const block = ALLOC_Alloc(hAlloc, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

void ALLOC_Free(ALLOC_HANDLE hAlloc, void* pBlock)
{
    if (pBlock != NULL && hAlloc == NULL) {
        fb_report_no_allocator(pBlock, EGB_EVENT_NO_POOL, EGB_CALLER());
    } else if (pBlock != NULL) {
        egb_fb_give(hAlloc, pBlock, EGB_CALLER());
    }
}

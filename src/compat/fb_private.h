// SPDX-License-Identifier: MIT
// Layer compat: declarations that fb_allocator.c, x_allocator.c and fault.c share.
#ifndef EGGBOX_COMPAT_FB_PRIVATE_H
#define EGGBOX_COMPAT_FB_PRIVATE_H

#include "eggbox/compat/fb_allocator.h"
#include "eggbox/fixed_live.h"
#include "eggbox/lock.h"

/// The file name that FaultHandler() gets if a call cannot be served.
extern const char egb_fb_not_served_[];

/// Calls FaultHandler(). Returns NULL.
void* egb_fb_fault_(unsigned short line);

/// Takes a block. NULL: no block is left, or no memory. `site`: the caller, for reports of misuse.
void* egb_fb_take_(ALLOC_Allocator* self, const void* site);

/// Gives a block back, or reports the misuse. `self` NULL: the block is foreign.
void egb_fb_give_(ALLOC_Allocator* self, const void* block, const void* site);

/// True: `block` is a block of `self` in use. False: not, and the misuse is reported.
bool egb_fb_is_live_(ALLOC_Allocator* self, const void* block, const void* site);

/// Bytes from one block to the next, and of all blocks.
size_t egb_fb_stride_(const ALLOC_Allocator* self);
size_t egb_fb_bytes_(const ALLOC_Allocator* self);

/// Sets `*product`. False: the product overflows.
bool egb_fb_product_(size_t num, size_t size, size_t* product);

// ---- the hot path -------------------------------------------------------------------------------

/// The private part of an allocator, which lies in its ALLOC_Core.
typedef struct egb_fb_core {
    egb_fixed         blocks;  // not made before the first alloc
    egb_handler_lock_ lock;    // protects `blocks` and the numbers
} egb_fb_core;

EGB_STATIC_ASSERT(sizeof(egb_fb_core) <= sizeof(ALLOC_Core), "ALLOC_Core has room for a core");
EGB_STATIC_ASSERT(
    EGB_ALIGNOF_(egb_fb_core) <= EGB_ALIGNOF_(ALLOC_Core), "ALLOC_Core is aligned for a core"
);

/// NULL: the allocator has no private part yet.
static inline egb_fb_core* egb_fb_core_of_(const ALLOC_Allocator* self)
{
    return (egb_fb_core*)(void*)__atomic_load_n(&self->core, __ATOMIC_ACQUIRE);
}

static inline bool egb_fb_is_made_(const egb_fb_core* core)
{
    return EGB_LIKELY(core->blocks.first != NULL);
}

// A fresh block is handed out only when all others are in use. The peak is therefore also the
// number of blocks that were ever handed out.
static inline void egb_fb_count_alloc_(ALLOC_Allocator* self)
{
    self->allocations++;
    self->blocksInUse++;
    if (EGB_UNLIKELY(self->blocksInUse > self->maxBlocksInUse)) {
        self->maxBlocksInUse = self->blocksInUse;
        self->poolIndex      = self->blocksInUse;
    }
}

static inline void egb_fb_count_free_(ALLOC_Allocator* self)
{
    self->deallocations++;
    self->blocksInUse--;
}

/// Takes the lock if that needs no call and the pool is made. NULL: the lock is not taken.
static inline egb_fb_core* egb_fb_begin_(const ALLOC_Allocator* self)
{
    egb_fb_core* const core = egb_fb_core_of_(self);
    if (EGB_UNLIKELY(core == NULL) || !egb_lock_take_alone_(&core->lock.lock)) {
        return NULL;
    }
    if (egb_fb_is_made_(core)) {
        return core;
    }
    egb_lock_give_alone_(&core->lock.lock);
    return NULL;
}

/// Takes a block if that needs no call. False: egb_fb_take_() has to.
static inline bool egb_fb_pop_(ALLOC_Allocator* self, void** block)
{
    egb_fb_core* const core = egb_fb_begin_(self);
    if (EGB_UNLIKELY(core == NULL)) {
        return false;
    }
    const bool is_taken = egb_fixed_pop_live_(&core->blocks, block);
    if (EGB_LIKELY(is_taken)) {
        egb_fb_count_alloc_(self);
    }
    egb_lock_give_alone_(&core->lock.lock);
    return EGB_LIKELY(is_taken);
}

/// Gives a block back if that needs no call. False: egb_fb_give_() has to.
static inline bool egb_fb_push_(ALLOC_Allocator* self, const void* block)
{
    egb_fb_core* const core = egb_fb_begin_(self);
    if (EGB_UNLIKELY(core == NULL)) {
        return false;
    }
    egb_fixed* const blocks   = &core->blocks;
    const bool       is_given = egb_fixed_push_live_(blocks, egb_fixed_distance_(blocks, block));
    if (EGB_LIKELY(is_given)) {
        egb_fb_count_free_(self);
    }
    egb_lock_give_alone_(&core->lock.lock);
    return EGB_LIKELY(is_given);
}

#endif  // EGGBOX_COMPAT_FB_PRIVATE_H

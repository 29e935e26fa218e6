// SPDX-License-Identifier: MIT
// Fixed pools with live bits: the truth about every block is a bit outside it, what lies in a free
// block, or outside as well, is only a link, and a list that was overwritten can be made anew. The
// hot path, for recycled blocks and correct calls, is in fixed_live.h.
#include "fixed_private.h"

bool egb_fixed_is_live_by_bit_(const egb_fixed* pool, size_t distance)
{
    const size_t index = egb_fixed_index_(pool, distance);
    return index < pool->side.live[EGB_FIXED_LIVE_TOUCHED_] && egb_is_live_(pool, index);
}

// Makes the free list anew from the bits, in order of address. How many blocks are touched is known
// to the pool as well, whatever the words outside say.
static void mend(egb_fixed* pool)
{
    egb_word* const live          = pool->side.live;
    live[EGB_FIXED_LIVE_HEAD_]    = ~EGB_FIXED_NONE_;
    live[EGB_FIXED_LIVE_FREE_]    = 0;
    live[EGB_FIXED_LIVE_TOUCHED_] = egb_fixed_count_touched_(pool);
    for (uint32_t index = live[EGB_FIXED_LIVE_TOUCHED_]; index-- > 0;) {
        if (!egb_is_live_(pool, index)) {
            const size_t distance = (size_t)index * pool->stride;

            *egb_fixed_live_link_(pool, distance, index) = ~live[EGB_FIXED_LIVE_HEAD_];
            live[EGB_FIXED_LIVE_HEAD_]                   = ~(uint32_t)distance;
            live[EGB_FIXED_LIVE_FREE_]++;
        }
    }
}

static void* take_fresh(egb_fixed* pool)
{
    const uint32_t  index = egb_fixed_count_touched_(pool);
    egb_word* const block = egb_fixed_take_fresh_(pool, index);
    if (block != NULL) {
        *egb_fixed_live_word_(pool, index) |= egb_fixed_live_mask_(index);
        pool->side.live[EGB_FIXED_LIVE_TOUCHED_] = index + 1;
        egb_live_end_at_(pool, (size_t)index + 1);
    }
    return block;
}

// The list leads to a place that is no free block. That is right if no block is free; else the list
// was overwritten, be it only cut short.
EGB_COLD static void* take_other(egb_fixed* pool, const void* site)
{
    const uint32_t refused   = ~pool->side.live[EGB_FIXED_LIVE_HEAD_];
    const bool     is_at_end = refused == EGB_FIXED_NONE_;
    void*          block     = NULL;
    if (!is_at_end || pool->side.live[EGB_FIXED_LIVE_FREE_] != 0) {
        mend(pool);  // before the handler, which may use this pool
        egb_fixed_report_overwritten_(
            pool, is_at_end ? NULL : egb_fixed_address_(pool, refused), site
        );
        if (egb_fixed_pop_live_(pool, &block)) {
            return block;
        }
    }
    return take_fresh(pool);
}

void* egb_fixed_alloc_live_(egb_fixed* pool, const void* site)
{
    void* block;
    return EGB_LIKELY(egb_fixed_pop_live_(pool, &block)) ? block : take_other(pool, site);
}

void* egb_fixed_alloc_bits_(egb_fixed* pool)
{
    const void* const site = EGB_CALLER();
    return egb_fixed_is_made_or_told_(pool, site) ? egb_fixed_alloc_live_(pool, site) : NULL;
}

void egb_fixed_free_bits_(egb_fixed* pool, void* block)
{
    egb_fixed_free_by_(pool, block, egb_fixed_push_live_, EGB_CALLER());
}

// SPDX-License-Identifier: MIT
// Fixed pools with live bits: the truth about every block is a bit outside it, what lies in a free
// block is only a link, and a list that was overwritten can be made anew.
#include "fixed_private.h"

bool egb_fixed_is_live_by_bit(const egb_fixed* pool, size_t distance)
{
    const size_t index = egb_fixed_index_(pool, distance);
    return index < pool->side.live[EGB_FIXED_LIVE_TOUCHED_] && egb_is_live(pool, index);
}

// Makes the free list anew from the bits, in order of address.
static void mend(egb_fixed* pool)
{
    egb_word* const live       = pool->side.live;
    live[EGB_FIXED_LIVE_HEAD_] = ~EGB_FIXED_NONE_;
    live[EGB_FIXED_LIVE_FREE_] = 0;
    for (uint32_t index = live[EGB_FIXED_LIVE_TOUCHED_]; index-- > 0;) {
        if (!egb_is_live(pool, index)) {
            const size_t distance      = (size_t)index * pool->stride;
            pool->first[distance]      = ~live[EGB_FIXED_LIVE_HEAD_];
            live[EGB_FIXED_LIVE_HEAD_] = ~(uint32_t)distance;
            live[EGB_FIXED_LIVE_FREE_]++;
        }
    }
}

EGB_COLD static void* take_fresh(egb_fixed* pool)
{
    const uint32_t  index = pool->side.live[EGB_FIXED_LIVE_TOUCHED_];
    egb_word* const block = egb_fixed_take_fresh(pool, index);
    if (block != NULL) {
        *egb_live_word(pool, index) |= egb_live_mask(index);
        pool->side.live[EGB_FIXED_LIVE_TOUCHED_] = index + 1;
        egb_live_end_at(pool, (size_t)index + 1);
    }
    return block;
}

// What heads the free list once `refused`, which is no free block, does not: nothing if no block is
// free, a block of the mended list if it was overwritten, be it only cut short.
EGB_COLD static uint32_t other_head(egb_fixed* pool, uint32_t refused, const void* site)
{
    const bool is_at_end = refused == EGB_FIXED_NONE_;
    if (is_at_end && pool->side.live[EGB_FIXED_LIVE_FREE_] == 0) {
        return EGB_FIXED_NONE_;
    }
    mend(pool);  // before the handler, which may use this pool
    egb_fixed_report_overwritten(pool, is_at_end ? NULL : egb_fixed_address(pool, refused), site);
    return ~pool->side.live[EGB_FIXED_LIVE_HEAD_];
}

// The next two are all that alloc and free of such a pool run when nothing is wrong and no block is
// fresh. They read what they need once and call nothing.

static bool is_free(const egb_fixed* pool, size_t index)
{
    return index < pool->side.live[EGB_FIXED_LIVE_TOUCHED_] && !egb_is_live(pool, index);
}

void* egb_fixed_alloc_live(egb_fixed* pool, const void* site)
{
    egb_word* const live = pool->side.live;
    uint32_t        head = ~live[EGB_FIXED_LIVE_HEAD_];
    if (EGB_UNLIKELY(!is_free(pool, egb_fixed_index_(pool, head)))) {
        head = other_head(pool, head, site);
        if (head == EGB_FIXED_NONE_) {
            return take_fresh(pool);
        }
    }
    const size_t    index      = egb_fixed_index_(pool, head);
    egb_word* const block      = pool->first + head;
    live[EGB_FIXED_LIVE_HEAD_] = ~block[0];
    live[EGB_FIXED_LIVE_FREE_]--;
    *egb_live_word(pool, index) |= egb_live_mask(index);
    return block;
}

bool egb_fixed_push_live(egb_fixed* pool, size_t distance)
{
    egb_word* const live  = pool->side.live;
    const size_t    index = egb_fixed_index_(pool, distance);
    if (EGB_UNLIKELY(index >= live[EGB_FIXED_LIVE_TOUCHED_])) {
        return false;
    }
    egb_word* const word = egb_live_word(pool, index);
    const uint32_t  mask = egb_live_mask(index);
    if (EGB_UNLIKELY((*word & mask) == 0)) {
        return false;
    }
    *word &= ~mask;
    pool->first[distance]      = ~live[EGB_FIXED_LIVE_HEAD_];
    live[EGB_FIXED_LIVE_HEAD_] = ~(uint32_t)distance;
    live[EGB_FIXED_LIVE_FREE_]++;
    return true;
}

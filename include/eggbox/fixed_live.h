// SPDX-License-Identifier: MIT
// Layer core: the hot path of fixed pools with live bits. Everything here is private.
//
// A caller that has no other pools, and knows that the pool is initialised, may use these functions
// directly. The checked calls of fixed.h do not have them inline, because pools of every mode would
// pay for a test. The pop and the push return true if they did their work, and report nothing.
#ifndef EGGBOX_FIXED_LIVE_H
#define EGGBOX_FIXED_LIVE_H

#include "fixed.h"

EGB_C_BEGIN_

// The whole of alloc for such a pool. `site` is the place that a report of misuse names.
void* egb_fixed_alloc_live_(egb_fixed* pool, const void* site);

EGB_INLINE egb_word* egb_fixed_live_word_(const egb_fixed* pool, size_t index)
{
    return &pool->side.live[EGB_FIXED_LIVE_BITS_ + index / 32];
}

EGB_INLINE uint32_t egb_fixed_live_mask_(size_t index)
{
    return UINT32_C(1) << (index % 32);
}

// The place of a free block's link: in the block, or outside. Outside links stand in front of all
// other words: their place follows from the index alone, and not from data that could be
// overwritten.
EGB_INLINE egb_word* egb_fixed_live_link_(const egb_fixed* pool, size_t distance, size_t index)
{
    return pool->mode == EGB_FIXED_OUTSIDE_ ? pool->side.live - 1 - index : pool->first + distance;
}

// Takes the newest free block. False: there is none, or the list leads to no free block.
EGB_INLINE bool egb_fixed_pop_live_(egb_fixed* pool, void** block)
{
    egb_word* const live  = pool->side.live;
    const uint32_t  head  = ~live[EGB_FIXED_LIVE_HEAD_];
    const size_t    index = egb_fixed_index_(pool, head);
    if (EGB_UNLIKELY(index >= live[EGB_FIXED_LIVE_TOUCHED_])) {
        return false;
    }
    egb_word* const word = egb_fixed_live_word_(pool, index);
    const uint32_t  mask = egb_fixed_live_mask_(index);
    if (EGB_UNLIKELY((*word & mask) != 0)) {
        return false;
    }
    *word |= mask;
    live[EGB_FIXED_LIVE_HEAD_] = ~*egb_fixed_live_link_(pool, head, index);
    live[EGB_FIXED_LIVE_FREE_]--;
    *block = egb_fixed_block_(pool, head);
    return true;
}

// `distance` may be any number. False: no block in use starts there.
EGB_INLINE bool egb_fixed_push_live_(egb_fixed* pool, size_t distance)
{
    egb_word* const live  = pool->side.live;
    const size_t    index = egb_fixed_index_(pool, distance);
    if (EGB_UNLIKELY(index >= live[EGB_FIXED_LIVE_TOUCHED_])) {
        return false;
    }
    egb_word* const word = egb_fixed_live_word_(pool, index);
    const uint32_t  mask = egb_fixed_live_mask_(index);
    if (EGB_UNLIKELY((*word & mask) == 0)) {
        return false;
    }
    *word &= ~mask;
    *egb_fixed_live_link_(pool, distance, index) = ~live[EGB_FIXED_LIVE_HEAD_];
    live[EGB_FIXED_LIVE_HEAD_]                   = ~(uint32_t)distance;
    live[EGB_FIXED_LIVE_FREE_]++;
    return true;
}

EGB_C_END_

#endif  // EGGBOX_FIXED_LIVE_H

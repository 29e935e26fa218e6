// SPDX-License-Identifier: MIT
// Fixed pools with live bits: the truth about every block is a bit outside it, what lies in a free
// block is only a link, and a list that was overwritten can be made anew.
#include "fixed_private.h"

// A free block starts at `distance` if it is a touched block's and its bit is off.
static bool is_free_by_bit(const egb_fixed* pool, size_t distance, size_t* index)
{
    *index = egb_fixed_index_(pool, distance);
    return *index < egb_fixed_count_touched(pool) && !egb_is_live(pool, *index);
}

bool egb_fixed_is_live_by_bit(const egb_fixed* pool, size_t distance)
{
    const size_t index = egb_fixed_index_(pool, distance);
    return index < egb_fixed_count_touched(pool) && egb_is_live(pool, index);
}

static void link_block(egb_fixed* pool, uint32_t distance)
{
    uint32_t* const live       = pool->side.live;
    pool->first[distance]      = ~live[EGB_FIXED_LIVE_HEAD_];
    live[EGB_FIXED_LIVE_HEAD_] = ~distance;
    live[EGB_FIXED_LIVE_FREE_]++;
}

bool egb_fixed_push_live(egb_fixed* pool, size_t distance)
{
    const size_t index = egb_fixed_index_(pool, distance);
    if (index >= egb_fixed_count_touched(pool)) {
        return false;
    }
    uint32_t* const word = egb_live_word(pool, index);
    const uint32_t  mask = egb_live_mask(index);
    if ((*word & mask) == 0) {
        return false;
    }
    *word &= ~mask;
    link_block(pool, (uint32_t)distance);
    return true;
}

// Makes the free list anew from the bits, in order of address.
static void mend(egb_fixed* pool)
{
    pool->side.live[EGB_FIXED_LIVE_HEAD_] = ~EGB_FIXED_NONE_;
    pool->side.live[EGB_FIXED_LIVE_FREE_] = 0;
    for (uint32_t index = egb_fixed_count_touched(pool); index-- > 0;) {
        if (!egb_is_live(pool, index)) {
            link_block(pool, (uint32_t)((size_t)index * pool->stride));
        }
    }
}

static void* take_fresh_live(egb_fixed* pool)
{
    const uint32_t  index = egb_fixed_count_touched(pool);
    egb_word* const block = egb_fixed_take_fresh(pool, index);
    if (block != NULL) {
        *egb_live_word(pool, index) |= egb_live_mask(index);
        egb_live_end_at(pool, (size_t)index + 1);
    }
    return block;
}

void* egb_fixed_alloc_live(egb_fixed* pool, const void* site)
{
    uint32_t* const live = pool->side.live;
    uint32_t        head = ~live[EGB_FIXED_LIVE_HEAD_];
    size_t          index;
    if (!is_free_by_bit(pool, head, &index)) {
        if (head == EGB_FIXED_NONE_) {
            return take_fresh_live(pool);
        }
        mend(pool);  // before the handler, which may use this pool
        egb_fixed_report_overwritten(pool, pool->first + head, site);
        head = ~live[EGB_FIXED_LIVE_HEAD_];
        if (!is_free_by_bit(pool, head, &index)) {
            return take_fresh_live(pool);
        }
    }
    egb_word* const block      = pool->first + head;
    live[EGB_FIXED_LIVE_HEAD_] = ~block[0];
    live[EGB_FIXED_LIVE_FREE_]--;
    *egb_live_word(pool, index) |= egb_live_mask(index);
    return block;
}

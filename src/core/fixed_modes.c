// SPDX-License-Identifier: MIT
// The modes of a fixed pool that the hot path does not serve: live bits, 4-byte blocks, unchecked.
#include "fixed_private.h"

// Where the complement of the newest free block's distance is when the hot path must not see it.
static uint32_t* hidden_head(egb_fixed* pool)
{
    switch (pool->mode) {
        case EGB_FIXED_TINY_: return &pool->side.hidden;
        case EGB_FIXED_LIVE_: return &pool->side.live[EGB_FIXED_LIVE_HEAD_];
        default: return NULL;
    }
}

uint32_t egb_fixed_head(const egb_fixed* pool)
{
    const uint32_t* const hidden = hidden_head((egb_fixed*)pool);
    return hidden != NULL ? ~*hidden : pool->head;
}

void egb_fixed_set_head(egb_fixed* pool, uint32_t distance)
{
    uint32_t* const hidden = hidden_head(pool);
    if (hidden != NULL) {
        *hidden = ~distance;
    } else {
        pool->head = distance;
    }
}

void egb_fixed_push_in_mode(egb_fixed* pool, uint32_t distance)
{
    pool->first[distance] = egb_fixed_head(pool);
    egb_fixed_set_head(pool, distance);
    if (pool->mode == EGB_FIXED_LIVE_) {
        const size_t index = egb_fixed_index_(pool, distance);
        *egb_live_word(pool, index) &= ~egb_live_mask(index);
        pool->side.live[EGB_FIXED_LIVE_FREE_]++;
    }
}

static egb_word* pop(egb_fixed* pool, uint32_t distance)
{
    egb_word* const block = pool->first + distance;
    egb_fixed_set_head(pool, block[0]);
    if (pool->mode == EGB_FIXED_LIVE_) {
        pool->side.live[EGB_FIXED_LIVE_FREE_]--;
    }
    return block;
}

// Ends a free list that was overwritten. Live bits know which blocks are free and make it anew, in
// order of address.
static void mend(egb_fixed* pool)
{
    egb_fixed_set_head(pool, EGB_FIXED_NONE_);
    if (pool->mode != EGB_FIXED_LIVE_) {
        return;
    }
    pool->side.live[EGB_FIXED_LIVE_FREE_] = 0;
    for (uint32_t index = pool->touched; index-- > 0;) {
        if (!egb_is_live(pool, index)) {
            egb_fixed_push_in_mode(pool, (uint32_t)((size_t)index * pool->stride));
        }
    }
}

static bool is_damaged(const egb_fixed* pool, uint32_t head)
{
    const size_t index = egb_fixed_index_(pool, head);
    return head != EGB_FIXED_NONE_ &&
           (index >= pool->touched || (pool->mode == EGB_FIXED_LIVE_ && egb_is_live(pool, index)));
}

static void set_live(egb_fixed* pool, size_t index)
{
    *egb_live_word(pool, index) |= egb_live_mask(index);
    const size_t fresh = pool->touched;
    if (fresh == index + 1 && fresh < egb_fixed_capacity(pool)) {
        *egb_live_word(pool, fresh) &= ~egb_live_mask(fresh);
    }
}

void* egb_fixed_alloc_in_mode(egb_fixed* pool, const void* site)
{
    if (!egb_fixed_is_made(pool)) {
        egb_fixed_report_no_pool(pool, site);
        return NULL;
    }
    const uint32_t head = egb_fixed_head(pool);
    if (is_damaged(pool, head)) {
        mend(pool);  // before the handler, which may use this pool
        egb_fixed_report_overwritten(pool, pool->first + head, site);
    }
    const uint32_t  newest = egb_fixed_head(pool);
    egb_word* const block =
        newest != EGB_FIXED_NONE_ ? pop(pool, newest) : egb_fixed_take_fresh(pool);
    if (block == NULL) {
        return NULL;
    }
    if (pool->mode == EGB_FIXED_LIVE_) {
        set_live(pool, egb_fixed_index_(pool, (size_t)(block - pool->first)));
    } else if (pool->mode == EGB_FIXED_TINY_) {
        block[0] = EGB_FIXED_NONE_ - 1;  // no link: its free must not look like the second one
    }
    return block;
}

// Whether the word of a block of 4 bytes could be a link, which is all the mark it has room for.
static bool looks_free(const egb_fixed* pool, const egb_word* block)
{
    return block[0] == EGB_FIXED_NONE_ || block[0] < pool->touched;
}

bool egb_fixed_is_live_in_mode(const egb_fixed* pool, uint32_t distance)
{
    if (pool->mode == EGB_FIXED_LIVE_) {
        return egb_is_live(pool, egb_fixed_index_(pool, distance));
    }
    if (pool->mode == EGB_FIXED_UNCHECKED_ || !looks_free(pool, pool->first + distance)) {
        return true;
    }
    return !egb_fixed_leads_to(pool, egb_fixed_head(pool), distance);
}

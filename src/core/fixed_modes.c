// SPDX-License-Identifier: MIT
// The modes of a fixed pool that the hot path does not serve: who is responsible for which, and the
// two that have nothing outside their blocks: blocks of 4 bytes, which have no room for a mark, and
// pools without checks, when a checked call meets one.
#include "fixed_private.h"

uint32_t egb_fixed_head(const egb_fixed* pool)
{
    switch (pool->mode) {
        case EGB_FIXED_TINY_: return ~pool->side.hidden;
        case EGB_FIXED_LIVE_: return ~pool->side.live[EGB_FIXED_LIVE_HEAD_];
        default: return pool->head;
    }
}

static void set_head(egb_fixed* pool, uint32_t distance)
{
    if (pool->mode == EGB_FIXED_TINY_) {
        pool->side.hidden = ~distance;
    } else {
        pool->head = distance;
    }
}

// The newest free block, or NULL if there is none.
static egb_word* pop(egb_fixed* pool, const void* site)
{
    const uint32_t head = egb_fixed_head(pool);
    uint32_t       next = head;
    if (egb_fixed_step(pool, egb_fixed_count_touched(pool), &next)) {
        set_head(pool, next);
        return pool->first + head;
    }
    if (head != EGB_FIXED_NONE_) {
        set_head(pool, EGB_FIXED_NONE_);  // before the handler, which may use this pool
        egb_fixed_report_overwritten(pool, egb_fixed_address(pool, head), site);
    }
    return NULL;
}

static void* alloc_without_marks(egb_fixed* pool, const void* site)
{
    egb_word* block = pop(pool, site);
    if (block == NULL) {
        block = egb_fixed_take_fresh(pool, egb_fixed_count_touched(pool));
    }
    if (block != NULL && pool->mode == EGB_FIXED_TINY_) {
        block[0] = EGB_FIXED_NONE_ - 1;  // no link: its free must not look like the second one
    }
    return block;
}

void* egb_fixed_alloc_in_mode(egb_fixed* pool, const void* site)
{
    if (!egb_fixed_is_made(pool)) {
        egb_fixed_report_no_pool(pool, site);
        return NULL;
    }
    return pool->mode == EGB_FIXED_LIVE_ ? egb_fixed_alloc_live(pool, site)
                                         : alloc_without_marks(pool, site);
}

// Whether the word of a block of 4 bytes could be a link, which is all the mark it has room for.
static bool could_be_free(const egb_fixed* pool, uint32_t touched, size_t distance)
{
    const uint32_t word = pool->first[distance];
    return word == EGB_FIXED_NONE_ || word < touched;
}

bool egb_fixed_is_live_in_mode(const egb_fixed* pool, size_t distance)
{
    if (pool->mode == EGB_FIXED_LIVE_) {
        return egb_fixed_is_live_by_bit(pool, distance);
    }
    const uint32_t touched = egb_fixed_count_touched(pool);
    if (egb_fixed_index_(pool, distance) >= touched) {
        return false;
    }
    return pool->mode == EGB_FIXED_UNCHECKED_ || !could_be_free(pool, touched, distance) ||
           !egb_fixed_leads_to(pool, touched, egb_fixed_head(pool), (uint32_t)distance);
}

bool egb_fixed_push_in_mode(egb_fixed* pool, size_t distance)
{
    if (pool->mode == EGB_FIXED_LIVE_) {
        return egb_fixed_push_live(pool, distance);
    }
    if (!egb_fixed_is_live_in_mode(pool, distance)) {
        return false;
    }
    pool->first[distance] = egb_fixed_head(pool);
    set_head(pool, (uint32_t)distance);
    return true;
}

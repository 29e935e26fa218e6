// SPDX-License-Identifier: MIT
// The two modes that have no marks, and nothing outside their blocks: blocks of 4 bytes, without
// room for a mark; and pools without checks, when a checked call meets one.
#include "fixed_private.h"

// `distance` is a block's of a pool of one of the two modes served here, or EGB_FIXED_NONE_.
static void set_head(egb_fixed* pool, uint32_t distance)
{
    if (pool->mode == EGB_FIXED_TINY_) {
        pool->side.hidden = ~distance;
    } else {
        pool->side.newest = distance != EGB_FIXED_NONE_ ? pool->first + distance : NULL;
    }
}

// The newest free block, or NULL if there is none.
static egb_word* pop(egb_fixed* pool, const void* site)
{
    const uint32_t head = egb_fixed_head_(pool);
    uint32_t       next = head;
    if (egb_fixed_step_in_mode_(pool, egb_fixed_count_touched_(pool), &next)) {
        set_head(pool, next);
        return pool->first + head;
    }
    if (head != EGB_FIXED_NONE_) {
        set_head(pool, EGB_FIXED_NONE_);  // before the handler, which may use this pool
        egb_fixed_report_overwritten_(pool, egb_fixed_address_(pool, head), site);
    }
    return NULL;
}

void* egb_fixed_alloc_plain_(egb_fixed* pool, const void* site)
{
    egb_word* block = pop(pool, site);
    if (block == NULL) {
        block = egb_fixed_take_fresh_(pool, egb_fixed_count_touched_(pool));
    }
    if (block != NULL && pool->mode == EGB_FIXED_TINY_) {
        block[0] = EGB_FIXED_NONE_ - 1;  // no link: its free must not look like the second one
    }
    return block;
}

void* egb_fixed_alloc_tiny_(egb_fixed* pool)
{
    const void* const site = EGB_CALLER();
    return egb_fixed_is_made_or_told_(pool, site) ? egb_fixed_alloc_plain_(pool, site) : NULL;
}

// Whether the word of a block of 4 bytes could be a link, which is all the mark it has room for.
static bool could_be_free(const egb_fixed* pool, uint32_t touched, size_t distance)
{
    const uint32_t word = pool->first[distance];
    return word == EGB_FIXED_NONE_ || word < touched;
}

bool egb_fixed_is_live_plain_(const egb_fixed* pool, size_t distance)
{
    const uint32_t touched = egb_fixed_count_touched_(pool);
    if (egb_fixed_index_(pool, distance) >= touched) {
        return false;
    }
    return pool->mode == EGB_FIXED_UNCHECKED_ || !could_be_free(pool, touched, distance) ||
           !egb_fixed_leads_to_(pool, touched, egb_fixed_head_(pool), (uint32_t)distance);
}

bool egb_fixed_push_plain_(egb_fixed* pool, size_t distance)
{
    if (!egb_fixed_is_live_plain_(pool, distance)) {
        return false;
    }
    if (pool->mode == EGB_FIXED_UNCHECKED_) {
        egb_fixed_free_unchecked(pool, pool->first + distance);
    } else {
        pool->first[distance] = egb_fixed_head_(pool);
        set_head(pool, (uint32_t)distance);
    }
    return true;
}

void egb_fixed_free_tiny_(egb_fixed* pool, void* block)
{
    egb_fixed_free_by_(pool, block, egb_fixed_push_plain_, EGB_CALLER());
}

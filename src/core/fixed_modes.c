// SPDX-License-Identifier: MIT
// The modes of a fixed pool that the hot path does not serve: a table of their functions, and two
// modes that have nothing outside their blocks: blocks of 4 bytes, without room for a mark, and
// pools without checks, when a checked call meets one.
#include "fixed_private.h"

// The distance of a block of an unchecked pool, whose list is made of addresses. One that is astray
// becomes the distance where no block is.
static uint32_t distance_of_link(const egb_fixed* pool, const void* link)
{
    if (link == NULL) {
        return EGB_FIXED_NONE_;
    }
    const size_t distance = egb_fixed_distance_(pool, link);
    return distance < pool->bound ? (uint32_t)distance : pool->bound;
}

uint32_t egb_fixed_head_(const egb_fixed* pool)
{
    switch (pool->mode) {
        case EGB_FIXED_TINY_: return ~pool->side.hidden;
        case EGB_FIXED_LIVE_:
        case EGB_FIXED_OUTSIDE_: return ~pool->side.live[EGB_FIXED_LIVE_HEAD_];
        case EGB_FIXED_UNCHECKED_: return distance_of_link(pool, pool->side.newest);
        default: return pool->head;
    }
}

bool egb_fixed_step_in_mode_(const egb_fixed* pool, uint32_t touched, uint32_t* at)
{
    const size_t index = egb_fixed_index_(pool, *at);
    if (index >= touched) {
        return false;
    }
    switch (pool->mode) {
        case EGB_FIXED_UNCHECKED_:
            *at = distance_of_link(pool, *(const egb_fixed_link_*)(pool->first + *at));
            break;
        case EGB_FIXED_LIVE_:
        case EGB_FIXED_OUTSIDE_: *at = *egb_fixed_live_link_(pool, *at, index); break;
        default: *at = pool->first[*at]; break;
    }
    return true;
}

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

static void* alloc_without_marks(egb_fixed* pool, const void* site)
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

void* egb_fixed_alloc_in_mode_(egb_fixed* pool, const void* site)
{
    if (!egb_fixed_is_made_(pool)) {
        egb_fixed_report_no_pool_(pool, site);
        return NULL;
    }
    return egb_fixed_has_bits_(pool) ? egb_fixed_alloc_live_(pool, site)
                                     : alloc_without_marks(pool, site);
}

void* egb_fixed_alloc_unchecked_fresh_(egb_fixed* pool)
{
    return egb_fixed_alloc_cold_(pool);
}

// Whether the word of a block of 4 bytes could be a link, which is all the mark it has room for.
static bool could_be_free(const egb_fixed* pool, uint32_t touched, size_t distance)
{
    const uint32_t word = pool->first[distance];
    return word == EGB_FIXED_NONE_ || word < touched;
}

bool egb_fixed_is_live_in_mode_(const egb_fixed* pool, size_t distance)
{
    if (egb_fixed_has_bits_(pool)) {
        return egb_fixed_is_live_by_bit_(pool, distance);
    }
    const uint32_t touched = egb_fixed_count_touched_(pool);
    if (egb_fixed_index_(pool, distance) >= touched) {
        return false;
    }
    return pool->mode == EGB_FIXED_UNCHECKED_ || !could_be_free(pool, touched, distance) ||
           !egb_fixed_leads_to_(pool, touched, egb_fixed_head_(pool), (uint32_t)distance);
}

bool egb_fixed_push_in_mode_(egb_fixed* pool, size_t distance)
{
    if (egb_fixed_has_bits_(pool)) {
        return egb_fixed_push_live_(pool, distance);
    }
    if (!egb_fixed_is_live_in_mode_(pool, distance)) {
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

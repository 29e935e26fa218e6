// SPDX-License-Identifier: MIT
// The questions about a fixed pool's free list, in every mode.
#include "fixed_private.h"

bool egb_fixed_is_live(const egb_fixed* pool, const void* block)
{
    if (!egb_fixed_is_made_(pool)) {
        return false;
    }
    const size_t distance = egb_fixed_distance_(pool, block);
    if (pool->mode != EGB_FIXED_MARKED_) {
        return egb_fixed_has_bits_(pool) ? egb_fixed_is_live_by_bit_(pool, distance)
                                         : egb_fixed_is_live_plain_(pool, distance);
    }
    return egb_fixed_index_at_(pool, block) < pool->limit &&
           (pool->first[distance + 1] != EGB_FIXED_MARK_ ||
            !egb_fixed_leads_to_(pool, pool->limit, pool->head, (uint32_t)distance));
}

// Follows the free list to its end, or to where it is damaged. Counts its blocks, says which it
// was.
static bool list_ends(const egb_fixed* pool, uint32_t* free_count)
{
    const uint32_t touched = egb_fixed_count_touched_(pool);
    uint32_t       at      = egb_fixed_head_(pool);
    *free_count            = 0;
    while (*free_count < touched && egb_fixed_step_in_mode_(pool, touched, &at)) {
        ++*free_count;
    }
    return at == EGB_FIXED_NONE_;
}

static uint32_t count_free(const egb_fixed* pool)
{
    uint32_t free_count;
    if (egb_fixed_has_bits_(pool)) {
        free_count = pool->side.live[EGB_FIXED_LIVE_FREE_];
    } else {
        (void)list_ends(pool, &free_count);
    }
    return free_count;
}

size_t egb_fixed_in_use(const egb_fixed* pool)
{
    return egb_fixed_is_made_(pool) ? egb_fixed_count_touched_(pool) - count_free(pool) : 0;
}

size_t egb_fixed_available(const egb_fixed* pool)
{
    return egb_fixed_capacity(pool) - egb_fixed_in_use(pool);
}

static bool geometry_is_whole(const egb_fixed* pool)
{
    const size_t   stride = pool->stride;
    const unsigned shift  = pool->shift - (unsigned)EGB_FIXED_WORD_SHIFT_;  // of words
    const size_t   odd    = shift < 32 ? stride >> shift : 0;
    return (uintptr_t)pool->first % EGB_WORD_BYTES == 0 && odd % 2 == 1 && odd << shift == stride &&
           odd * pool->inverse == 1 &&
           pool->checksum == (uint16_t)EGB_FIXED_CHECKSUM_(pool->reach, pool->stride, pool->mode) &&
           pool->bound <= pool->reach &&
           (pool->bound == 0 || egb_fixed_index_(pool, pool->bound - 1) < egb_fixed_capacity(pool));
}

static bool mode_is_whole(const egb_fixed* pool)
{
    const bool is_hidden = pool->head == EGB_FIXED_NONE_ && pool->limit == 0;
    switch (pool->mode) {
        case EGB_FIXED_MARKED_:
            return pool->limit == egb_fixed_count_touched_(pool) && pool->stride > 1;
        case EGB_FIXED_TINY_: return is_hidden && pool->stride == 1;
        case EGB_FIXED_LIVE_:
        case EGB_FIXED_OUTSIDE_: return is_hidden && pool->side.live != NULL;
        case EGB_FIXED_UNCHECKED_: return is_hidden;
        default: return false;
    }
}

// Every block on the list, which is known to end, must be as its free left it.
static bool list_is_whole(const egb_fixed* pool)
{
    if (pool->mode != EGB_FIXED_MARKED_ && !egb_fixed_has_bits_(pool)) {
        return true;  // nothing but the links, and those were followed
    }
    const uint32_t touched = egb_fixed_count_touched_(pool);
    uint32_t       at      = egb_fixed_head_(pool);
    bool           is_free = true;
    while (is_free && at != EGB_FIXED_NONE_) {
        is_free = pool->mode == EGB_FIXED_MARKED_ ? pool->first[(size_t)at + 1] == EGB_FIXED_MARK_
                                                  : !egb_is_live_(pool, egb_fixed_index_(pool, at));
        (void)egb_fixed_step_in_mode_(pool, touched, &at);
    }
    return is_free;
}

// If the list holds as many blocks as have their bit off, none is missing from it.
static bool bits_are_whole(const egb_fixed* pool, uint32_t free_count)
{
    const uint32_t touched = egb_fixed_count_touched_(pool);
    uint32_t       off     = 0;
    for (uint32_t index = 0; index < touched; index++) {
        off += egb_is_live_(pool, index) ? 0 : 1u;
    }
    const bool first_fresh_is_off =
        touched == egb_fixed_capacity(pool) || !egb_is_live_(pool, touched);
    return off == free_count && pool->side.live[EGB_FIXED_LIVE_FREE_] == free_count &&
           pool->side.live[EGB_FIXED_LIVE_TOUCHED_] == touched && first_fresh_is_off;
}

bool egb_fixed_whole(const egb_fixed* pool)
{
    if (!egb_fixed_is_made_(pool) || !geometry_is_whole(pool) || !mode_is_whole(pool)) {
        return false;
    }
    uint32_t free_count;
    return list_ends(pool, &free_count) && list_is_whole(pool) &&
           (!egb_fixed_has_bits_(pool) || bits_are_whole(pool, free_count));
}

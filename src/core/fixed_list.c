// SPDX-License-Identifier: MIT
// The free list of a pool of any mode: where it begins, and one step along it.
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

// SPDX-License-Identifier: MIT
// The questions that the shape of a pool answers, without its mode and its free list.
#include "fixed_private.h"

size_t egb_fixed_capacity(const egb_fixed* pool)
{
    return egb_fixed_is_made_(pool) ? egb_fixed_index_(pool, (size_t)pool->reach - 1 + pool->stride)
                                    : 0;
}

bool egb_fixed_owns(const egb_fixed* pool, const void* block)
{
    return pool != NULL && egb_fixed_index_at_(pool, block) < egb_fixed_capacity(pool);
}

size_t egb_fixed_peak(const egb_fixed* pool)
{
    return pool != NULL ? egb_fixed_count_touched_(pool) : 0;
}

size_t egb_fixed_touched(const egb_fixed* pool)
{
    return egb_fixed_peak(pool);
}

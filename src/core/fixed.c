// SPDX-License-Identifier: MIT
// The cold halves of alloc and free for a pool of any mode. They refer to every mode; a caller that
// knows the mode of its pool calls the cold halves of that mode instead.
#include "fixed_private.h"

EGB_STATIC_ASSERT(
    sizeof(size_t) == sizeof(uintptr_t), "a distance between addresses fits a size_t"
);
EGB_STATIC_ASSERT(sizeof(size_t) >= sizeof(uint32_t), "a distance in words fits a size_t");
EGB_STATIC_ASSERT(sizeof(egb_fixed) <= 48, "the pool object stays within its budget");

void* egb_fixed_alloc_cold_(egb_fixed* pool)
{
    const void* const site = EGB_CALLER();
    if (!egb_fixed_is_made_or_told_(pool, site)) {
        return NULL;
    }
    if (pool->mode == EGB_FIXED_MARKED_) {
        return egb_fixed_alloc_marked_at_(pool, site);
    }
    return egb_fixed_has_bits_(pool) ? egb_fixed_alloc_live_(pool, site)
                                     : egb_fixed_alloc_plain_(pool, site);
}

// Frees a block of a pool that is made, if it is in use.
static bool push_cold(egb_fixed* pool, size_t distance)
{
    if (pool->mode == EGB_FIXED_MARKED_) {
        return egb_fixed_push_marked_(pool, distance);
    }
    return egb_fixed_has_bits_(pool) ? egb_fixed_push_live_(pool, distance)
                                     : egb_fixed_push_plain_(pool, distance);
}

// Not by egb_fixed_free_by_(): the proof follows no pointers to functions.
void egb_fixed_free_cold_(egb_fixed* pool, void* block)
{
    if (block == NULL ||
        (egb_fixed_is_made_(pool) && push_cold(pool, egb_fixed_distance_(pool, block)))) {
        return;
    }
    egb_fixed_report_free_(pool, block, EGB_CALLER());
}

// SPDX-License-Identifier: MIT
// The cold halves of a fixed pool's alloc and free. With the hot halves in the header this is all
// that a pool from egb_fixed_init() runs; fixed_modes.c has the other modes, fixed_misuse.c what
// happens once a misuse is found.
#include "fixed_private.h"

EGB_STATIC_ASSERT(
    sizeof(size_t) == sizeof(uintptr_t), "a distance between addresses fits a size_t"
);
EGB_STATIC_ASSERT(sizeof(size_t) >= sizeof(uint32_t), "a distance in words fits a size_t");
EGB_STATIC_ASSERT(sizeof(egb_fixed) <= 48, "the pool object stays within its budget");

size_t egb_fixed_peak(const egb_fixed* pool)
{
    return pool != NULL ? egb_fixed_count_touched_(pool) : 0;
}

void* egb_fixed_alloc_cold_(egb_fixed* pool)
{
    if (!egb_fixed_is_made_(pool) || pool->mode != EGB_FIXED_MARKED_) {
        return egb_fixed_alloc_in_mode_(pool, EGB_CALLER());
    }
    if (pool->head != EGB_FIXED_NONE_) {  // and the hot path refused it
        void* const block = egb_fixed_drop_list_(pool, EGB_CALLER());
        if (block != NULL) {
            return block;
        }
    }
    egb_word* const fresh = egb_fixed_take_fresh_(pool, pool->limit);
    if (fresh != NULL) {
        pool->limit++;
        fresh[1] = 0;  // a mark from an earlier life would make its free look like the second
    }
    return fresh;
}

bool egb_fixed_leads_to_(const egb_fixed* pool, uint32_t touched, uint32_t at, uint32_t wanted)
{
    for (uint32_t left = touched; at != wanted; left--) {
        if (left == 0 || !egb_fixed_step_(pool, touched, &at)) {
            return false;
        }
    }
    return true;
}

// Frees a block that the hot path did not, if that is right. In this mode the block holds the mark,
// and only the list can say whether we wrote it or its user did.
static bool push_cold(egb_fixed* pool, size_t distance)
{
    if (pool->mode != EGB_FIXED_MARKED_) {
        return egb_fixed_push_in_mode_(pool, distance);
    }
    if (egb_fixed_index_(pool, distance) >= pool->limit ||
        egb_fixed_leads_to_(pool, pool->limit, pool->head, (uint32_t)distance)) {
        return false;
    }
    pool->first[distance] = pool->head;
    pool->head            = (uint32_t)distance;
    return true;
}

void egb_fixed_free_cold_(egb_fixed* pool, void* block)
{
    if (block == NULL ||
        (egb_fixed_is_made_(pool) && push_cold(pool, egb_fixed_distance_(pool, block)))) {
        return;
    }
    egb_fixed_report_free_(pool, block, EGB_CALLER());
}

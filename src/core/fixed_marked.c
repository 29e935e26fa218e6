// SPDX-License-Identifier: MIT
// Pools with marks, the default: the cold halves of alloc and free. With the hot halves in the
// header and fixed_misuse.c this is all that such a pool runs.
#include "fixed_private.h"

void* egb_fixed_alloc_marked_at_(egb_fixed* pool, const void* site)
{
    if (pool->head != EGB_FIXED_NONE_) {  // and the hot path refused it
        void* const block = egb_fixed_drop_list_(pool, site);
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

void* egb_fixed_alloc_marked_(egb_fixed* pool)
{
    const void* const site = EGB_CALLER();
    return egb_fixed_is_made_or_told_(pool, site) ? egb_fixed_alloc_marked_at_(pool, site) : NULL;
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

// The hot path refused the block. In this mode the block holds the mark, and only the list can say
// whether we wrote it or its user did.
bool egb_fixed_push_marked_(egb_fixed* pool, size_t distance)
{
    if (egb_fixed_index_(pool, distance) >= pool->limit ||
        egb_fixed_leads_to_(pool, pool->limit, pool->head, (uint32_t)distance)) {
        return false;
    }
    pool->first[distance] = pool->head;
    pool->head            = (uint32_t)distance;
    return true;
}

void egb_fixed_free_marked_(egb_fixed* pool, void* block)
{
    egb_fixed_free_by_(pool, block, egb_fixed_push_marked_, EGB_CALLER());
}

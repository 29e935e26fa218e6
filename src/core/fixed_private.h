// SPDX-License-Identifier: MIT
// Layer core: what the files of the fixed pool share among themselves.
#ifndef EGGBOX_SRC_CORE_FIXED_PRIVATE_H
#define EGGBOX_SRC_CORE_FIXED_PRIVATE_H

#include "eggbox/fixed.h"

static inline bool egb_fixed_is_made(const egb_fixed* pool)
{
    return pool != NULL && pool->first != NULL;
}

static inline uint32_t egb_live_mask(size_t index)
{
    return UINT32_C(1) << (index % 32);
}

static inline uint32_t* egb_live_word(const egb_fixed* pool, size_t index)
{
    return &pool->side.live[EGB_FIXED_LIVE_BITS_ + index / 32];
}

static inline bool egb_is_live(const egb_fixed* pool, size_t index)
{
    return (*egb_live_word(pool, index) & egb_live_mask(index)) != 0;
}

// Tell the handler what was found: a call on a pool that was never made; a free list that leads to
// `address`, where no free block is; a free of `address` that cannot be right.
void egb_fixed_report_no_pool(const egb_fixed* pool, const void* site);
void egb_fixed_report_overwritten(const egb_fixed* pool, const void* address, const void* site);
void egb_fixed_report_free(const egb_fixed* pool, const void* address, const void* site);

// Takes the next block that was never handed out since init or clear; NULL if there is none.
egb_word* egb_fixed_take_fresh(egb_fixed* pool);

// Follows the free list from `*at` until it is at `wanted`, or would have to leave the touched
// blocks, or has taken as many steps as there are touched blocks: the list lies in memory that
// callers may have overwritten, and may be a circle. Returns the steps; `*at` is where it stopped.
uint32_t egb_fixed_walk(const egb_fixed* pool, uint32_t* at, uint32_t wanted);

// The newest free block's distance in every mode, and a new one.
uint32_t egb_fixed_head(const egb_fixed* pool);
void     egb_fixed_set_head(egb_fixed* pool, uint32_t distance);

// The cold halves of alloc and free in the modes that the hot path does not serve.
void* egb_fixed_alloc_in_mode(egb_fixed* pool, const void* site);
void  egb_fixed_free_in_mode(egb_fixed* pool, void* block, const void* site);

#endif  // EGGBOX_SRC_CORE_FIXED_PRIVATE_H

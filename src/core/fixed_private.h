// SPDX-License-Identifier: MIT
// Layer core: what the files of the fixed pool share among themselves.
#ifndef EGGBOX_SRC_CORE_FIXED_PRIVATE_H
#define EGGBOX_SRC_CORE_FIXED_PRIVATE_H

#include "eggbox/fixed.h"
#include "eggbox/fixed_live.h"

static inline bool egb_fixed_is_made_(const egb_fixed* pool)
{
    return pool != NULL && pool->first != NULL;
}

// Whether the truth about its blocks is in `side.live`.
EGB_STATIC_ASSERT(
    EGB_FIXED_OUTSIDE_ == (EGB_FIXED_LIVE_ | 1) && (EGB_FIXED_UNCHECKED_ & EGB_FIXED_LIVE_) == 0,
    "one bit says so"
);
static inline bool egb_fixed_has_bits_(const egb_fixed* pool)
{
    return (pool->mode & EGB_FIXED_LIVE_) != 0;
}

// Blocks handed out at least once since init or clear.
static inline uint32_t egb_fixed_count_touched_(const egb_fixed* pool)
{
    return pool->bound == 0 ? 0 : (uint32_t)egb_fixed_index_(pool, pool->bound - 1) + 1;
}

// Takes the first block that is not among the `touched` ones; NULL if there is none.
static inline egb_word* egb_fixed_take_fresh_(egb_fixed* pool, uint32_t touched)
{
    const size_t distance = (size_t)touched * pool->stride;
    if (distance >= pool->reach) {
        return NULL;
    }
    pool->bound = (uint32_t)distance + 1;
    return pool->first + distance;
}

// From now on so many blocks are among the touched ones, which there are.
static inline void egb_fixed_touch_(egb_fixed* pool, size_t touched)
{
    if (touched != 0) {
        pool->bound = (uint32_t)((touched - 1) * pool->stride) + 1;
    }
    if (pool->mode == EGB_FIXED_MARKED_) {
        pool->limit = (uint32_t)touched;
    }
}

// The address that an overwritten link leads to: anywhere, hence no pointer to an object.
static inline const void* egb_fixed_address_(const egb_fixed* pool, uint32_t distance)
{
    return (const void*)((uintptr_t)pool->first + (uintptr_t)distance * EGB_WORD_BYTES);
}

// Moves `*at` to the block freed before the one it is at. False, and it stays, if it is at no
// touched block: at the list's end, or where an overwritten link led. A list may also have become a
// circle, so whoever follows it takes at most as many steps as there are touched blocks.
static inline bool egb_fixed_step_(const egb_fixed* pool, uint32_t touched, uint32_t* at)
{
    if (egb_fixed_index_(pool, *at) >= touched) {
        return false;
    }
    *at = pool->first[*at];
    return true;
}

// The same in every mode.
bool egb_fixed_step_in_mode_(const egb_fixed* pool, uint32_t touched, uint32_t* at);

// Whether the free list comes to `wanted` when followed from `at`. O(free blocks).
bool egb_fixed_leads_to_(const egb_fixed* pool, uint32_t touched, uint32_t at, uint32_t wanted);

// Ends the free list of a pool with marks if it leads to a place that is no free block, and tells
// the handler. Returns a block that the handler freed, or NULL.
void* egb_fixed_drop_list_(egb_fixed* pool, const void* site);

// The block's index, or EGB_NO_INDEX if no block of the pool starts at `address`; and the kind of
// misuse that a free of this `address` is.
size_t          egb_fixed_index_of_(const egb_fixed* pool, const void* address);
egb_misuse_kind egb_fixed_kind_of_free_(const egb_fixed* pool, const void* address, size_t index);

// Tells the handler of a misuse of any pool.
void egb_report_(
    egb_misuse_kind kind, const void* pool, const void* address, size_t index, const void* site
);

// Tell the handler about a free list that leads to `address`, which is no free block; a wrong free
// of `address`, in a pool that was never made, too.
void egb_fixed_report_overwritten_(const egb_fixed* pool, const void* address, const void* site);
void egb_fixed_report_free_(const egb_fixed* pool, const void* address, const void* site);

// Tells the handler if the pool was never made. The second of the two calls above has the words for
// that anyway, and a program that frees has the call.
static inline bool egb_fixed_is_made_or_told_(const egb_fixed* pool, const void* site)
{
    const bool is_made = egb_fixed_is_made_(pool);
    if (!is_made) {
        egb_fixed_report_free_(pool, NULL, site);
    }
    return is_made;
}

// The cold half of free for a pool of one mode; `push` is that mode's. The calls below take any
// distance. The compiler puts this into each caller: `push` is then an ordinary call.
static inline EGB_ALWAYS_INLINE void egb_fixed_free_by_(
    egb_fixed* pool, void* block, bool (*push)(egb_fixed* pool, size_t distance), const void* site
)
{
    if (block == NULL ||
        (egb_fixed_is_made_(pool) && push(pool, egb_fixed_distance_(pool, block)))) {
        return;
    }
    egb_fixed_report_free_(pool, block, site);
}

// The newest free block's distance in every mode.
uint32_t egb_fixed_head_(const egb_fixed* pool);

// The calls that the hot path leaves to a mode, in made pools. `distance` may be any number. Push
// says whether a block in use started there, and is free now. The two modes with live bits have
// their alloc and push in fixed_live.h; plain are the modes of 4-byte blocks and without checks.
void* egb_fixed_alloc_marked_at_(egb_fixed* pool, const void* site);
bool  egb_fixed_push_marked_(egb_fixed* pool, size_t distance);
void* egb_fixed_alloc_plain_(egb_fixed* pool, const void* site);
bool  egb_fixed_push_plain_(egb_fixed* pool, size_t distance);
bool  egb_fixed_is_live_plain_(const egb_fixed* pool, size_t distance);
bool  egb_fixed_is_live_by_bit_(const egb_fixed* pool, size_t distance);

static inline bool egb_is_live_(const egb_fixed* pool, size_t index)
{
    return (*egb_fixed_live_word_(pool, index) & egb_fixed_live_mask_(index)) != 0;
}

// The first fresh block's bit is off. With the bits that are on this makes any change of the number
// of touched blocks visible.
static inline void egb_live_end_at_(egb_fixed* pool, size_t touched)
{
    if (touched * pool->stride < pool->reach) {
        *egb_fixed_live_word_(pool, touched) &= ~egb_fixed_live_mask_(touched);
    }
}

#endif  // EGGBOX_SRC_CORE_FIXED_PRIVATE_H

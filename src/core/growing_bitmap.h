// SPDX-License-Identifier: MIT
// The free blocks of a chunk with states: growing_bitmap.c.
#ifndef EGGBOX_SRC_CORE_GROWING_BITMAP_H
#define EGGBOX_SRC_CORE_GROWING_BITMAP_H

#include "eggbox/growing.h"

static inline bool egb_is_in_chunk_(const egb_shape_* shape, size_t index)
{
    return (__atomic_load_n(&shape->states[index], __ATOMIC_RELAXED) & EGB_STATE_IN_CHUNK_) != 0;
}

// Blocks at home are marked if they are shorter than this. Longer ones have lines in which nobody
// else has anything, and perhaps pages that are not there: the pool does not touch them, and their
// states have to do. In a list each block has a link.
enum { EGB_UNMARKED_BYTES = 1024 };
static inline bool egb_touches_free_(const egb_growing_options* options)
{
    return !options->with_states || options->block_bytes < EGB_UNMARKED_BYTES;
}

// The caller's part of a block's state.
static inline unsigned egb_state_at_(const egb_shape_* shape, size_t index)
{
    return __atomic_load_n(&shape->states[index], __ATOMIC_RELAXED) & ~EGB_STATE_OWN_;
}

// Sets how many blocks are a group.
void egb_bitmap_plan_(egb_shape_* shape);

// Says how many were blocks that are not at home, and now are: no more than are in use. Nothing is
// done with others.
size_t egb_bitmap_put_(egb_chunk_* chunk, void* const* blocks, size_t count);

// Takes up to `count` blocks, in order of address. It stops in front of one that was written to,
// and behind a long group that had some.
size_t egb_bitmap_take_(egb_chunk_* chunk, void** blocks, size_t count);

// The block, which was just taken, has an owner now.
void egb_bitmap_note_use_(const egb_shape_* shape, const void* block);

// After it has taken none: the block that it stopped at is at home no more, nor are those of its
// group right behind it that were written to as well. Says how many, and which is the first; NULL
// and 0 if it stopped at none.
size_t egb_bitmap_write_off_(egb_chunk_* chunk, const void** first);

// Takes up to `count` blocks that were never in use, as egb_fixed_alloc() each, in order of
// address, and sets their states, whatever they say. 0: there are none.
size_t egb_bitmap_take_fresh_(egb_chunk_* chunk, void** blocks, size_t count, unsigned state);

// How many are at home, and whether nobody wrote to them; of how many the system has had pages.
// O(touched blocks).
size_t egb_bitmap_count_(const egb_chunk_* chunk);
bool   egb_bitmap_whole_(const egb_chunk_* chunk);
size_t egb_bitmap_gone_(const egb_chunk_* chunk);

// Whether nobody wrote to the block with this index, which is at home.
bool egb_bitmap_is_sound_(const egb_chunk_* chunk, size_t index);

#endif  // EGGBOX_SRC_CORE_GROWING_BITMAP_H

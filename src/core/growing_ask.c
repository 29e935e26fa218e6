// SPDX-License-Identifier: MIT
// The questions one can ask a growing pool that alloc and free never ask.
#include "growing_private.h"

size_t egb_growing_capacity(const egb_growing* pool)
{
    return pool != NULL ? pool->capacity : 0;
}

size_t egb_growing_in_use(const egb_growing* pool)
{
    return pool != NULL ? pool->in_use : 0;
}

size_t egb_growing_peak(const egb_growing* pool)
{
    return pool != NULL ? pool->peak : 0;
}

size_t egb_growing_held(const egb_growing* pool)
{
    return pool != NULL ? pool->held : 0;
}

bool egb_growing_owns(const egb_growing* pool, const void* block)
{
    const egb_chunk_* const chunk = pool != NULL ? egb_growing_chunk_of_(pool, block) : NULL;
    return chunk != NULL && egb_fixed_owns(&chunk->fixed, block);
}

// ---- each ---------------------------------------------------------------------------------------

typedef struct visitor {
    egb_growing_visit_fn visit;
    void*                user;
} visitor;

static bool is_marked(const egb_fixed* fixed, size_t index)
{
    return fixed->first[index * fixed->stride + 1] == EGB_FIXED_MARK_;
}

// Whether a touched block has the mark exactly if it is on the free list: every block there has it,
// so it is enough to count both.
static bool marks_tell(const egb_fixed* fixed, uint32_t touched)
{
    if (fixed->mode != EGB_FIXED_MARKED_) {
        return false;
    }
    size_t unmarked = 0;
    for (uint32_t index = 0; index < touched; index++) {
        unmarked += is_marked(fixed, index) ? 0 : 1u;
    }
    return unmarked == egb_fixed_in_use(fixed);
}

void egb_growing_find_free_(
    const egb_fixed* fixed, uint32_t touched, uint32_t start, egb_word* is_free
)
{
    egb_clear_words_(is_free, sizeof(egb_word) * EGB_WINDOW_WORDS);
    uint32_t at = egb_fixed_head_(fixed);
    for (uint32_t left = touched; left > 0; left--) {
        const size_t in_window = egb_fixed_index_(fixed, at) - start;
        if (!egb_fixed_step_in_mode_(fixed, touched, &at)) {
            break;
        }
        if (in_window < EGB_WINDOW_BLOCKS) {
            is_free[in_window / 32] |= egb_fixed_live_mask_(in_window);
        }
    }
}

// With the free list alone to go by, and memory for a part of the answer only.
static void
visit_what_is_not_listed(const egb_fixed* fixed, uint32_t touched, const visitor* caller)
{
    egb_word is_free[EGB_WINDOW_WORDS];
    for (uint32_t index = 0; index < touched; index++) {
        const uint32_t in_window = index % EGB_WINDOW_BLOCKS;
        if (in_window == 0) {
            egb_growing_find_free_(fixed, touched, index, is_free);
        }
        if ((is_free[in_window / 32] & egb_fixed_live_mask_(in_window)) == 0) {
            caller->visit(fixed->first + (size_t)index * fixed->stride, caller->user);
        }
    }
}

static void visit_what_is_not_home(const egb_chunk_* chunk, const visitor* caller)
{
    const egb_fixed* const fixed   = &chunk->fixed;
    const uint32_t         touched = egb_fixed_count_touched_(fixed);
    for (uint32_t index = 0; index < touched; index++) {
        if (!egb_is_in_chunk_(&chunk->shape, index)) {
            caller->visit(fixed->first + (size_t)index * fixed->stride, caller->user);
        }
    }
}

static void visit_chunk(egb_chunk_* chunk, void* user)
{
    const visitor* const   caller  = (const visitor*)user;
    const egb_fixed* const fixed   = &chunk->fixed;
    const uint32_t         touched = egb_fixed_count_touched_(fixed);
    if (chunk->shape.states != NULL) {
        visit_what_is_not_home(chunk, caller);
        return;
    }
    if (!marks_tell(fixed, touched)) {
        visit_what_is_not_listed(fixed, touched, caller);
        return;
    }
    for (uint32_t index = 0; index < touched; index++) {
        if (!is_marked(fixed, index)) {
            caller->visit(fixed->first + (size_t)index * fixed->stride, caller->user);
        }
    }
}

void egb_growing_each(const egb_growing* pool, egb_growing_visit_fn visit, void* user)
{
    if (pool != NULL) {
        visitor caller = {visit, user};
        egb_growing_each_chunk_(pool, visit_chunk, &caller);
    }
}

// ---- whole --------------------------------------------------------------------------------------

static bool shape_is_right(const egb_chunk_* chunk, const egb_chunk_place* place)
{
    const egb_shape_* const shape = &chunk->shape;
    return shape->first == (uintptr_t)place->first && shape->blocks == place->count &&
           shape->inverse == chunk->fixed.inverse && shape->shift == chunk->fixed.shift;
}

// A touched block is free if its state says so, or without states if it is on the list.
static bool counts_are_right(const egb_chunk_* chunk)
{
    const bool   has_states = chunk->shape.states != NULL;
    const size_t home       = has_states ? egb_bitmap_count_(chunk) : 0;
    return egb_fixed_in_use(&chunk->fixed) == chunk->in_use + chunk->lost + home &&
           (!has_states || egb_bitmap_whole_(chunk));
}

static bool chunk_is_whole(const egb_growing* pool, const egb_chunk_* chunk)
{
    egb_chunk_place place;
    if (chunk->owner != pool || !egb_fixed_whole(&chunk->fixed) ||
        !egb_chunk_find_place_(&pool->options, chunk->range.start, chunk->range.bytes, &place)) {
        return false;
    }
    const size_t block_bytes = pool->options.block_bytes;
    return place.header == chunk && place.first == (void*)chunk->fixed.first &&
           place.count == egb_fixed_capacity(&chunk->fixed) && shape_is_right(chunk, &place) &&
           block_bytes == (size_t)chunk->fixed.stride * EGB_WORD_BYTES &&
           chunk->shape.states == (pool->options.with_states ? place.states : NULL) &&
           counts_are_right(chunk);
}

// Every chunk that is on the list belongs there, and there are `count` of them.
static bool list_has(const egb_growing* pool, size_t count)
{
    const egb_chunk_* before = NULL;
    for (const egb_chunk_* chunk = pool->available; chunk != NULL; chunk = chunk->next) {
        if (count-- == 0 || !egb_chunk_is_available_(chunk) ||
            egb_growing_chunk_of_(pool, chunk) != chunk ||
            (before != NULL && chunk->previous != before)) {
            return false;
        }
        before = chunk;
    }
    return count == 0 && (before == NULL || pool->available->previous == before);
}

// The sums over all chunks.
typedef struct sums {
    size_t    in_use, capacity, lost, held, chunks, available, idle;
    uintptr_t end;  // end of the chunk before
} sums;

static bool add_up(const egb_growing* pool, sums* all)
{
    for (const egb_chunk_* chunk = egb_growing_chunk_after_(pool, 0); chunk != NULL;
         chunk                   = egb_growing_chunk_after_(pool, (uintptr_t)chunk->range.start)) {
        if ((uintptr_t)chunk->range.start < all->end || all->chunks == pool->chunks ||
            !chunk_is_whole(pool, chunk) || !egb_range_is_ordered_at_(&chunk->range) ||
            egb_growing_chunk_of_(pool, chunk->range.start) != chunk) {
            return false;
        }
        all->in_use += chunk->in_use;
        all->capacity += chunk->shape.blocks;
        all->lost += chunk->lost;
        all->held += chunk->range.bytes;
        all->available += egb_chunk_is_available_(chunk);
        all->idle += egb_chunk_is_idle_(chunk) ? chunk->range.bytes : 0;
        all->chunks++;
        all->end = (uintptr_t)chunk->range.start + chunk->range.bytes;
    }
    return true;
}

bool egb_growing_whole(const egb_growing* pool)
{
    if (!egb_growing_is_made_(pool)) {
        return false;
    }
    const egb_growing_options* const options = &pool->options;
    sums                             all;
    egb_clear_words_(&all, sizeof all);
    return add_up(pool, &all) && all.in_use == pool->in_use && all.capacity == pool->capacity &&
           all.lost == pool->lost && all.held == pool->held && all.chunks == pool->chunks &&
           all.idle == pool->idle && pool->in_use <= pool->peak &&
           (options->max_blocks == 0 || pool->peak <= options->max_blocks) &&
           options->chunk_bytes <= pool->next_bytes &&
           pool->next_bytes <= options->chunk_bytes_max && list_has(pool, all.available);
}

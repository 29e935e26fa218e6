// SPDX-License-Identifier: MIT
// Alloc and free of a growing pool. Whatever is reported is reported last, when the pool is whole
// again: the handler may use this pool, destroy it even, or never return.
#include "growing_private.h"

// ---- alloc --------------------------------------------------------------------------------------

// Ends the free list if it leads to a place that is no free block, and returns that place; else
// NULL. If the list is one with marks, its next block is known not to have one.
static const void* end_list_astray(egb_fixed* fixed)
{
    const uint32_t head = egb_fixed_head_(fixed);
    if (head == EGB_FIXED_NONE_) {
        return NULL;
    }
    if (fixed->mode == EGB_FIXED_TINY_) {
        if (egb_fixed_index_(fixed, head) < egb_fixed_count_touched_(fixed)) {
            return NULL;
        }
        fixed->side.hidden = ~EGB_FIXED_NONE_;
    } else {
        fixed->head = EGB_FIXED_NONE_;
    }
    return egb_fixed_address_(fixed, head);
}

static bool has_states(const egb_chunk_* chunk)
{
    return chunk->shape.states != NULL;
}

// How many blocks of a chunk are free and out of reach, now that none was where one should be.
// Nothing is left of a list: the touched blocks that are not in use are lost. With states, those
// that were written to are added; or, if there is none such, it is all: someone wrote to the
// states.
static size_t count_lost(const egb_chunk_* chunk, size_t struck)
{
    const size_t free    = chunk->shape.blocks - chunk->in_use;
    const size_t touched = egb_fixed_count_touched_(&chunk->fixed);
    if (!has_states(chunk)) {
        return touched > chunk->in_use ? touched - chunk->in_use : 0;
    }
    return struck != 0 ? egb_smaller_(chunk->lost + struck, free) : free;
}

// If the pool has no fresh block either, the chunk has nothing more to give.
static void write_off(egb_growing* pool, egb_chunk_* chunk, size_t struck)
{
    const size_t before   = chunk->lost;
    const bool   was_idle = egb_chunk_is_idle_(chunk);
    chunk->lost           = (uint32_t)count_lost(chunk, struck);
    pool->lost            = pool->lost - before + chunk->lost;
    egb_growing_note_idle_(pool, chunk, was_idle);
    if (!egb_chunk_is_available_(chunk)) {
        egb_available_remove_(pool, chunk);
    }
}

// A block that was in use before; NULL: there is none, or it is damaged.
static void* take_recycled(egb_chunk_* chunk)
{
    void* block = NULL;
    if (has_states(chunk)) {
        if (egb_bitmap_take_(chunk, &block, 1) == 1) {
            egb_bitmap_note_use_(&chunk->shape, block);
        }
    } else if (egb_fixed_can_pop_(&chunk->fixed)) {
        block = egb_fixed_pop_(&chunk->fixed);
    }
    return block;
}

// In the order of address.
static size_t take_fresh_run(egb_chunk_* chunk, void** blocks, size_t count, unsigned state)
{
    const size_t most = egb_smaller_(count, egb_chunk_fresh_in_line_(chunk));
    if (has_states(chunk)) {
        return egb_bitmap_take_fresh_(chunk, blocks, most, state);
    }
    size_t taken = 0;
    while (taken < most && (blocks[taken] = egb_fixed_alloc(&chunk->fixed)) != NULL) {
        taken++;
    }
    return taken;
}

// Takes a block of `chunk`, which should have one. If it has none, someone wrote to a free block.
static void* take_from(egb_growing* pool, egb_chunk_* chunk, egb_damage* damage)
{
    egb_fixed* const fixed    = &chunk->fixed;
    void* const      recycled = take_recycled(chunk);
    if (recycled != NULL) {
        return recycled;
    }
    const void* led_to = NULL;
    size_t      struck = 0;
    if (has_states(chunk)) {
        struck = egb_bitmap_write_off_(chunk, &led_to);
    } else {
        led_to = end_list_astray(fixed);
    }
    if (led_to == NULL) {
        void* block;
        if (take_fresh_run(chunk, &block, 1, 0) == 1) {
            return block;
        }
    }
    damage->was_found = true;
    damage->address   = led_to;
    damage->index     = egb_fixed_index_of_(fixed, led_to);
    write_off(pool, chunk, struck);
    return NULL;
}

static void count_taken(egb_growing* pool, egb_chunk_* chunk, size_t count)
{
    const bool was_idle = egb_chunk_is_idle_(chunk);
    chunk->in_use += count;
    chunk->turn = pool->turn;
    pool->in_use += count;
    egb_growing_note_idle_(pool, chunk, was_idle);
    if (pool->in_use > pool->peak) {
        pool->peak = pool->in_use;
    }
    if (!egb_chunk_is_available_(chunk)) {
        egb_available_remove_(pool, chunk);
    }
}

void* egb_growing_take_(egb_growing* pool, egb_chunk_** from, egb_damage* damage)
{
    damage->was_found = false;
    if (egb_growing_is_at_limit_(pool)) {
        return NULL;
    }
    egb_chunk_* const chunk = pool->available != NULL ? pool->available : egb_growing_grow_(pool);
    void* const       block = chunk == NULL ? NULL : take_from(pool, chunk, damage);
    if (block != NULL) {
        count_taken(pool, chunk, 1);
        *from = chunk;
    }
    return block;
}

static size_t take_listed_run(egb_fixed* list, void** blocks, size_t count)
{
    egb_fixed fixed = *list;  // a copy is in registers: no block can be part of it
    size_t    taken = 0;
    while (taken < count && egb_fixed_can_pop_(&fixed)) {
        blocks[taken++] = egb_fixed_pop_(&fixed);
    }
    list->head = fixed.head;
    return taken;
}

// Whether there is a free block that is not fresh, whatever it is worth, after none was taken.
static bool has_recycled(const egb_chunk_* chunk)
{
    return has_states(chunk) ? chunk->groups != 0
                             : egb_fixed_head_(&chunk->fixed) != EGB_FIXED_NONE_;
}

// No more than the chunk can have, whatever its states say: else it would leave the list, and come
// back to it twice.
size_t egb_growing_take_run_(egb_growing* pool, egb_chunk_** from, void** blocks, size_t count)
{
    egb_chunk_* const chunk = pool->available;
    const size_t      limit = pool->options.max_blocks;
    if (chunk == NULL || (limit != 0 && count > limit - pool->in_use)) {
        return 0;
    }
    const size_t free  = chunk->shape.blocks - chunk->in_use - chunk->lost;
    const size_t most  = egb_smaller_(count, free);
    size_t       taken = has_states(chunk) ? egb_bitmap_take_(chunk, blocks, most)
                                           : take_listed_run(&chunk->fixed, blocks, most);
    if (taken == 0 && !has_recycled(chunk)) {
        taken = take_fresh_run(chunk, blocks, most, EGB_STATE_UNUSED_);
    }
    count_taken(pool, chunk, taken);
    *from = chunk;
    return taken;
}

// Every turn but the last writes off blocks of a chunk that was overwritten; then everything is
// looked at anew, because the handler may have changed it.
void* egb_growing_alloc(egb_growing* pool)
{
    if (!egb_growing_is_made_(pool)) {
        egb_report_(EGB_MISUSE_NO_POOL, pool, NULL, EGB_NO_INDEX, EGB_CALLER());
        return NULL;
    }
    for (;;) {
        egb_chunk_* from;
        egb_damage  damage;
        void* const block = egb_growing_take_(pool, &from, &damage);
        if (!damage.was_found) {
            return block;
        }
        egb_report_(EGB_MISUSE_OVERWRITTEN, pool, damage.address, damage.index, EGB_CALLER());
    }
}

// ---- free ---------------------------------------------------------------------------------------

// The fixed pool's own free, which reports nothing here, because it is asked beforehand.
static bool push(egb_chunk_* chunk, void* block)
{
    egb_fixed* const fixed = &chunk->fixed;
    if (has_states(chunk)) {
        return egb_bitmap_put_(chunk, &block, 1) == 1;
    }
    if (egb_fixed_can_push_(fixed, block)) {
        egb_fixed_push_(fixed, block);
        return true;
    }
    if (!egb_fixed_is_live(fixed, block)) {
        return false;
    }
    egb_fixed_free(fixed, block);
    return true;
}

// Without states, the chunk that a block came back to is used next. With states, a chunk keeps its
// place in the list until it is wholly free: blocks that come back in random order are of another
// chunk each, and a move would write to its two neighbours, too, which are in no cache. A wholly
// free chunk is used last, and may go.
static void keep_order(egb_growing* pool, egb_chunk_* chunk, bool was_available)
{
    if (!was_available) {
        egb_available_add_first_(pool, chunk);
    } else if (!has_states(chunk)) {
        egb_growing_prefer_(pool, chunk);
    } else if (egb_chunk_is_idle_(chunk)) {
        egb_available_remove_(pool, chunk);
        egb_available_add_last_(pool, chunk);
    }
}

static void count_put(egb_growing* pool, egb_chunk_* chunk, size_t count)
{
    const bool was_available = egb_chunk_is_available_(chunk);
    const bool was_idle      = egb_chunk_is_idle_(chunk);
    chunk->in_use -= count;
    if (chunk->turn == EGB_TURN_LOOKED_AT_) {
        chunk->turn = pool->turn;
    }
    pool->in_use -= count;
    egb_growing_note_idle_(pool, chunk, was_idle);
    keep_order(pool, chunk, was_available);
}

// If no block is in use, none can be freed, whatever the free list says.
bool egb_growing_put_other_(egb_chunk_* chunk, void* block)
{
    if (chunk->in_use == 0 || !push(chunk, block)) {
        return false;
    }
    count_put(chunk->owner, chunk, 1);
    return true;
}

void egb_growing_put_run_(egb_chunk_* chunk, void* const* blocks, size_t count)
{
    if (!has_states(chunk)) {
        for (size_t i = 0; i < count; i++) {
            (void)egb_growing_put_(chunk, blocks[i]);
        }
        return;
    }
    const size_t put = egb_bitmap_put_(chunk, blocks, count);
    if (put != 0) {
        count_put(chunk->owner, chunk, put);
    }
}

static void
report_free(const egb_growing* pool, const egb_chunk_* chunk, const void* block, const void* site)
{
    if (chunk == NULL) {
        egb_report_(EGB_MISUSE_FOREIGN, pool, block, EGB_NO_INDEX, site);
        return;
    }
    const size_t index = egb_fixed_index_of_(&chunk->fixed, block);
    const bool   is_home =
        has_states(chunk) && index < chunk->shape.blocks && egb_is_in_chunk_(&chunk->shape, index);
    const egb_misuse_kind kind =
        is_home ? EGB_MISUSE_DOUBLE_FREE : egb_fixed_kind_of_free_(&chunk->fixed, block, index);
    egb_report_(kind, pool, block, index, site);
}

void egb_growing_free(egb_growing* pool, void* block)
{
    if (block == NULL) {
        return;
    }
    if (!egb_growing_is_made_(pool)) {
        egb_report_(EGB_MISUSE_NO_POOL, pool, block, EGB_NO_INDEX, EGB_CALLER());
        return;
    }
    egb_chunk_* const chunk = egb_growing_chunk_of_(pool, block);
    if (chunk == NULL || !egb_growing_put_(chunk, block)) {
        report_free(pool, chunk, block, EGB_CALLER());
    }
}

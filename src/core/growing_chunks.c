// SPDX-License-Identifier: MIT
// How the chunks of a growing pool hang together: a tree by address (range.h), in which free finds
// a block's chunk, and a list of those with a free block, from which alloc takes. Both run through
// the chunks' headers and need no other memory.
#include "growing_private.h"

egb_chunk_* egb_growing_chunk_of_(const egb_growing* pool, const void* address)
{
    return egb_chunk_of_range_(egb_range_find_(pool->tree, address));
}

egb_chunk_* egb_growing_chunk_after_(const egb_growing* pool, uintptr_t address)
{
    return egb_chunk_of_range_(egb_range_after_(pool->tree, address));
}

void egb_growing_each_chunk_(
    const egb_growing* pool, void (*visit)(egb_chunk_* chunk, void* user), void* user
)
{
    egb_chunk_* chunk = egb_growing_chunk_after_(pool, 0);
    while (chunk != NULL) {
        visit(chunk, user);
        chunk = egb_growing_chunk_after_(pool, (uintptr_t)chunk->range.start);
    }
}

// ---- the list -----------------------------------------------------------------------------------

// Not the list of util.h: `previous` of the first chunk is the last one, which costs no word.

void egb_available_add_first_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const first = pool->available;
    chunk->next             = first;
    chunk->previous         = chunk;
    if (first != NULL) {
        chunk->previous = first->previous;
        first->previous = chunk;
    }
    pool->available = chunk;
}

void egb_available_add_last_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const first = pool->available;
    if (first == NULL) {
        egb_available_add_first_(pool, chunk);
        return;
    }
    chunk->next           = NULL;
    chunk->previous       = first->previous;
    first->previous->next = chunk;
    first->previous       = chunk;
}

void egb_available_remove_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const next = chunk->next;
    if (chunk == pool->available) {
        pool->available = next;
    } else {
        chunk->previous->next = next;
    }
    egb_chunk_* const behind = next != NULL ? next : pool->available;  // whoever points back at it
    if (behind != NULL) {
        behind->previous = chunk->previous;
    }
    chunk->next     = NULL;
    chunk->previous = NULL;
}

void egb_growing_prefer_recycled_(egb_growing* pool)
{
    egb_chunk_* const first  = pool->available;
    egb_chunk_* const second = first == NULL ? NULL : first->next;
    if (second != NULL && first->shape.states != NULL && first->groups == 0 &&
        second->groups != 0) {
        egb_available_remove_(pool, first);
        egb_available_add_last_(pool, first);
    }
}

void egb_growing_prefer_(egb_growing* pool, egb_chunk_* chunk)
{
    if (chunk != pool->available) {
        egb_available_remove_(pool, chunk);
        egb_available_add_first_(pool, chunk);
    }
}

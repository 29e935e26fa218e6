// SPDX-License-Identifier: MIT
// Blocks that become larger or smaller.
#include "../pool/registry.h"
#include "../region/large.h"
#include "heap.h"

// Whether a block of `room` bytes still suits `bytes`: at most twice too large, if a smaller class
// exists.
static bool is_right_size(size_t room, size_t bytes)
{
    return bytes <= room && (bytes > room / 2 || room <= EGB_HEAP_STEP_BYTES_);
}

static void* move_to_another(void* block, size_t room, size_t bytes, const void* site)
{
    void* const other = egb_heap_alloc_(1, bytes, false, site);
    if (other == NULL) {
        return bytes <= room ? block : NULL;  // a smaller size is never refused
    }
    (void)__builtin_memcpy(other, block, bytes < room ? bytes : room);
    egb_free_from_(block, site);
    return other;
}

static void* realloc_large(void* block, size_t bytes, const void* site)
{
    const size_t room       = egb_large_bytes_(block);
    const bool   is_guarded = egb_large_is_guarded_(block);
    if (!is_guarded && is_right_size(room, bytes)) {
        return block;
    }
    const bool  may_stay = is_guarded || bytes > EGB_HEAP_CLASS_BYTES_MAX;
    void* const resized  = may_stay ? egb_large_resize_(block, bytes) : NULL;
    return resized != NULL ? resized : move_to_another(block, room, bytes, site);
}

// For pools that the map does not contain. From level "guard" on the block always moves: there its
// room is the requested size.
static void* realloc_in_pool(egb_pool pool, void* block, size_t bytes, const void* site)
{
    const egb_control* const owner = egb_control_of_(pool);
    const size_t             room  = egb_block_bytes(block);
    const bool               stays = owner == NULL || EGB_LOAD_(owner->level) < EGB_LEVEL_GUARD;
    return stays && is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
}

void* egb_realloc_from_(void* block, size_t bytes, const void* site)
{
    if (block == NULL) {
        return egb_heap_alloc_(1, bytes, false, site);
    }
    const size_t room = egb_plain_bytes_(block);
    if (room != 0) {
        return is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
    }
    const egb_pool pool = egb_pool_of(block);
    if (egb_pool_is_live(pool, block)) {
        return realloc_in_pool(pool, block, bytes, site);
    }
    if (egb_large_is_live_(block)) {
        return realloc_large(block, bytes, site);
    }
    egb_free_refused_(block, site);
    return NULL;
}

void* egb_realloc(void* block, size_t bytes)
{
    return egb_realloc_from_(block, bytes, EGB_CALLER());
}

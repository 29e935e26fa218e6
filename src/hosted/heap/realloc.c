// SPDX-License-Identifier: MIT
// Blocks that become larger or smaller.
#include "../../os/os.h"
#include "../pool/registry.h"
#include "../region/early.h"
#include "../region/large.h"
#include "../settings/settings.h"
#include "heap.h"

// Whether a block of `room` bytes still suits `bytes`: at most twice too large, if a smaller class
// exists.
static bool is_right_size(size_t room, size_t bytes)
{
    return bytes <= room && (bytes > room / 2 || room <= EGB_HEAP_STEP_BYTES_);
}

// `other`: a new block of `bytes` bytes; NULL: it was refused.
static void* move_to(void* other, void* block, size_t room, size_t bytes, const void* site)
{
    if (other == NULL && bytes > room) {
        return NULL;
    }
    if (other == NULL) {  // a smaller size is never refused
        egb_heap_forget_sizes_();
        return block;
    }
    (void)__builtin_memcpy(other, block, bytes < room ? bytes : room);
    egb_free_from_(block, site);
    return other;
}

static void* move_to_another(void* block, size_t room, size_t bytes, const void* site)
{
    return move_to(egb_malloc_from_(bytes, site), block, room, bytes, site);
}

static void* realloc_large(void* block, size_t bytes, const void* site)
{
    const size_t room       = egb_large_bytes_(block);
    const bool   is_guarded = egb_large_is_guarded_(block);
    const bool   is_large   = bytes > EGB_HEAP_CLASS_BYTES_MAX;
    const bool   stays      = !is_guarded && egb_heap_suits_large_(room, bytes);
    void* const  resized    = stays                    ? block
                              : is_guarded || is_large ? egb_large_resize_(block, bytes)
                                                       : NULL;
    if (resized != NULL) {
        egb_heap_note_resized_large_(resized);
        egb_heap_track_large_(resized, bytes, site);
        return resized;
    }
    if (!is_guarded || !is_large) {
        return move_to_another(block, room, bytes, site);
    }
    const size_t moved = egb_large_moved_(block) + egb_smaller_(room, bytes);
    return move_to(egb_heap_alloc_moved_(bytes, moved, site), block, room, bytes, site);
}

// For blocks whose size the chunk map does not tell. From level "guard" on the block always moves:
// there its room is the requested size.
static void* realloc_in_pool(egb_pool pool, void* block, size_t bytes, const void* site)
{
    const egb_control* const owner = egb_control_of_(pool);
    const size_t             room  = egb_block_bytes(block);
    const bool stays = owner == NULL || egb_level_has_magazines_(EGB_LOAD_(owner->level));
    return stays && is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
}

static void* move_early(const void* block, size_t bytes, const void* site)
{
    void* const other = egb_malloc_from_(bytes, site);
    if (other != NULL) {
        egb_early_copy_(other, bytes, block);
    }
    return other;
}

void* egb_realloc_from_(void* block, size_t bytes, const void* site)
{
    if (block == NULL) {
        return egb_malloc_from_(bytes, site);
    }
    const size_t room = egb_plain_bytes_(block);
    if (room != 0) {
        return is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
    }
    if (egb_early_bytes_(block) != 0) {
        return move_early(block, bytes, site);
    }
    const egb_pool pool = egb_pool_of(block);
    if (egb_pool_is_live(pool, block)) {
        return realloc_in_pool(pool, block, bytes, site);
    }
    if (egb_large_is_live_(block)) {
        return realloc_large(block, bytes, site);
    }
    const size_t theirs = egb_os_c_library_bytes_(block);
    if (theirs != 0) {
        return move_to_another(block, theirs, bytes, site);
    }
    egb_free_refused_(block, site);
    return NULL;
}

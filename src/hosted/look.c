// SPDX-License-Identifier: MIT
// What eggbox/guard.h offers of blocks that are damaged.
#include "eggbox/guard.h"

#include "guard.h"
#include "heap_private.h"

static size_t look_at_pool(egb_pool pool, const void* site)
{
    egb_control* const control = egb_pool_lock(pool);
    if (control == NULL) {
        return 0;
    }
    const size_t damaged = control->guards == NULL ? 0 : egb_guard_look(control);
    egb_pool_unlock_and_report(control, pool, site);
    return damaged;
}

size_t egb_pool_check(egb_pool pool)
{
    return look_at_pool(pool, EGB_CALLER());
}

size_t egb_check_all(void)
{
    const size_t slots   = __atomic_load_n(&egb_the_world.slots, __ATOMIC_ACQUIRE);
    size_t       damaged = 0;
    for (size_t slot = 1; slot < slots; slot++) {
        damaged += look_at_pool(egb_handle_of(&egb_the_world.controls[slot]), EGB_CALLER());
    }
    return damaged + egb_large_check_all(EGB_CALLER());
}

egb_status egb_block_check(const void* block)
{
    const egb_pool pool = egb_pool_of(block);
    if (egb_is_null(pool) || !egb_pool_is_live(pool, block)) {
        return egb_large_check(block, EGB_CALLER());
    }
    egb_control* const control = egb_pool_lock(pool);
    if (control == NULL) {
        return EGB_INVALID;
    }
    const egb_chunk_* const chunk    = egb_chunk_in(control, block);
    const bool              is_whole = control->guards == NULL || chunk == NULL ||
                          egb_guard_is_whole(control, chunk, egb_chunk_index(chunk, block));
    egb_pool_unlock_and_report(control, pool, EGB_CALLER());
    return is_whole ? EGB_OK : EGB_CORRUPT;
}

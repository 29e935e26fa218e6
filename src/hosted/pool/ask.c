// SPDX-License-Identifier: MIT
// Questions about pools, and the calls that look at every chunk or every pool.
#include "../region/early.h"
#include "../region/large.h"
#include "layout.h"
#include "passthrough.h"
#include "registry.h"

bool egb_pool_alive(egb_pool pool)
{
    return egb_control_of_(pool) != NULL;
}

// Without a lock: the child of a fork asks, and that may be in a signal handler.
bool egb_pool_level_(egb_pool pool, egb_level* level)
{
    const egb_control* const control = egb_control_of_(pool);
    if (control == NULL) {
        return false;
    }
    *level = EGB_LOAD_(control->level);
    return true;
}

// ---- by address ---------------------------------------------------------------------------------

// The pool if `address` is in one of its blocks, else the null pool.
static egb_pool pool_if_it_has(egb_control* control, const void* address)
{
    const egb_pool none = {0, 0};
    egb_depot_lock_(&control->depot);
    const egb_chunk_* const chunk = egb_depot_chunk_of_(&control->depot, address);
    const bool              has   = chunk != NULL && egb_chunk_has_(chunk, address);
    const egb_pool          pool  = egb_handle_of_(control);
    egb_depot_let_go_(&control->depot);
    return has && pool.generation != 0 ? pool : none;
}

// Pools on static memory are few, and their memory may begin and end anywhere.
static egb_pool static_pool_of(const void* address)
{
    egb_pool found = {0, 0};
    egb_os_lock_(&egb_threads_.lock);
    egb_control* one = egb_registry_.statics;
    for (; one != NULL && found.generation == 0; one = one->tree.next_static) {
        found = pool_if_it_has(one, address);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return found;
}

egb_pool egb_pool_of(const void* address)
{
    const egb_pool     none  = {0, 0};
    egb_control* const owner = egb_owner_of_(address);
    if (owner != NULL) {
        return pool_if_it_has(owner, address);
    }
    const egb_control* const passed = egb_pass_find_(address).control;
    if (passed != NULL) {
        return egb_handle_of_(passed);
    }
    return __atomic_load_n(&egb_registry_.statics, __ATOMIC_ACQUIRE) == NULL
               ? none
               : static_pool_of(address);
}

uint64_t egb_mapped_key_(const void* block)
{
    return egb_key_of_unit_(egb_unit_of_(block));
}

size_t egb_plain_bytes_(const void* block)
{
    const egb_unit* const unit = egb_unit_of_(block);
    const bool            has  = egb_key_of_unit_(unit) != 0;
    return has && egb_is_live_in_(&unit->shape, EGB_LOAD_(unit->blocks), block)
               ? EGB_LOAD_(unit->block_bytes)
               : 0;
}

size_t egb_block_bytes(const void* block)
{
    const size_t plain = egb_plain_bytes_(block);
    if (plain != 0) {
        return plain;
    }
    const size_t early = egb_early_bytes_(block);
    if (early != 0) {
        return early;
    }
    egb_control* const control = egb_pool_lock_(egb_pool_of(block));
    if (control == NULL) {
        return egb_large_bytes_(block);
    }
    const size_t bytes = control->layout->bytes_of(control, block);
    egb_pool_unlock_(control);
    return bytes;
}

bool egb_pool_is_live(egb_pool pool, const void* block)
{
    const egb_unit* const unit = egb_unit_of_(block);
    const uint64_t        key  = egb_key_of_unit_(unit);
    if (key != 0 && key == egb_pool_key_(pool)) {
        return egb_is_live_in_(&unit->shape, EGB_LOAD_(unit->blocks), block);
    }
    bool               is_live = false;
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        is_live = control->layout->is_live(control, block);
        egb_pool_unlock_(control);
    }
    return is_live;
}

// ---- by handle ----------------------------------------------------------------------------------

size_t egb_pool_touched(egb_pool pool)
{
    size_t             count   = 0;
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_walk walk = {NULL, 0, 0};
        while (egb_walk_next_(control, &walk)) {
            const egb_shape_* const shape = &walk.chunk->shape;
            count += shape->states == NULL || egb_state_at_(shape, egb_walk_index_(&walk)) != 0;
        }
        egb_pool_unlock_(control);
    }
    return count;
}

// ---- the tree -----------------------------------------------------------------------------------

egb_pool egb_pool_parent(egb_pool pool)
{
    egb_pool parent = {0, 0};
    egb_os_lock_(&egb_threads_.lock);
    const egb_control* const control = egb_control_of_(pool);
    if (control != NULL) {
        parent = egb_handle_of_(control->tree.parent);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return parent;
}

bool egb_pool_is_ancestor(egb_pool above, egb_pool below)
{
    egb_os_lock_(&egb_threads_.lock);
    const egb_control* const top = egb_control_or_root_(above);
    const egb_control*       one = egb_control_of_(below);
    do {
        one = one == NULL ? NULL : one->tree.parent;
    } while (one != NULL && one != top);
    egb_os_unlock_(&egb_threads_.lock);
    return one != NULL;
}

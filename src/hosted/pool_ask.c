// SPDX-License-Identifier: MIT
// Questions about pools, and the calls that look at every chunk or every pool.
#include "depot.h"
#include "guard.h"
#include "heap_private.h"
#include "passthrough.h"
#include "seal.h"

bool egb_pool_alive(egb_pool pool)
{
    return egb_control_of(pool) != NULL;
}

bool egb_pool_level(egb_pool pool, egb_level* level)
{
    egb_control* const control = egb_pool_lock(pool);
    if (control == NULL) {
        return false;
    }
    *level = control->level;
    egb_pool_unlock(control);
    return true;
}

// ---- by address ---------------------------------------------------------------------------------

// The pool if `address` is in one of its blocks, else the null pool.
static egb_pool pool_if_it_has(egb_control* control, const void* address)
{
    const egb_pool none = {0, 0};
    egb_os_lock(&control->lock);
    const egb_chunk_* const chunk = egb_chunk_in(control, address);
    const bool              has   = chunk != NULL && egb_chunk_has(chunk, address);
    const egb_pool          pool  = egb_handle_of(control);
    egb_os_unlock(&control->lock);
    return has && pool.generation != 0 ? pool : none;
}

// Pools on static memory are few, and their memory may begin and end anywhere.
static egb_pool static_pool_of(const void* address)
{
    egb_pool found = {0, 0};
    egb_os_lock(&egb_the_world.lock);
    egb_control* one = egb_the_world.statics;
    for (; one != NULL && found.generation == 0; one = one->next_static) {
        found = pool_if_it_has(one, address);
    }
    egb_os_unlock(&egb_the_world.lock);
    return found;
}

egb_pool egb_pool_of(const void* address)
{
    const egb_pool     none  = {0, 0};
    egb_control* const owner = egb_chunk_map_owner(address);
    if (owner != NULL) {
        return owner == egb_the_world.controls ? none : pool_if_it_has(owner, address);
    }
    const egb_control* const passed = egb_pass_find(address).control;
    if (passed != NULL) {
        return egb_handle_of(passed);
    }
    return __atomic_load_n(&egb_the_world.statics, __ATOMIC_ACQUIRE) == NULL
               ? none
               : static_pool_of(address);
}

// At level "off" every block may be in use.
static bool is_live_in(const egb_shape_* shape, size_t blocks, const void* block)
{
    const size_t index = egb_shape_index_(shape, block);
    return index < blocks &&
           (shape->states == NULL || EGB_LOAD_(shape->states[index]) == EGB_STATE_LIVE_);
}

static bool is_live_in_chunk(const egb_chunk_* chunk, const void* block)
{
    return is_live_in(&chunk->shape, chunk->shape.blocks, block);
}

// With guards, which stand behind what was asked for, no more than that.
static size_t bytes_of(const egb_control* control, const void* block)
{
    if (egb_is_passthrough(control)) {
        return egb_pass_find(block).bytes;
    }
    const egb_chunk_* const chunk = control->guards == NULL ? NULL : egb_chunk_in(control, block);
    return chunk != NULL && is_live_in_chunk(chunk, block) ? egb_guard_bytes(control, block)
                                                           : control->block_bytes;
}

size_t egb_plain_bytes(const void* block)
{
    const egb_unit* const unit = egb_unit_of(block);
    const bool            has  = egb_key_of_unit(unit) != 0;
    return has && is_live_in(&unit->shape, EGB_LOAD_(unit->blocks), block)
               ? EGB_LOAD_(unit->block_bytes)
               : 0;
}

size_t egb_block_bytes(const void* block)
{
    const size_t plain = egb_plain_bytes(block);
    if (plain != 0) {
        return plain;
    }
    egb_control* const control = egb_pool_lock(egb_pool_of(block));
    if (control == NULL) {
        return egb_large_bytes(block);
    }
    const size_t bytes = bytes_of(control, block);
    egb_pool_unlock(control);
    return bytes;
}

bool egb_pool_is_live(egb_pool pool, const void* block)
{
    const egb_unit* const unit = egb_unit_of(block);
    const uint64_t        key  = egb_key_of_unit(unit);
    if (key != 0 && key == egb_pool_key_(pool)) {
        return is_live_in(&unit->shape, EGB_LOAD_(unit->blocks), block);
    }
    bool               is_live = false;
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL && egb_is_passthrough(control)) {
        is_live = egb_pass_find(block).control == control;
        egb_pool_unlock(control);
    } else if (control != NULL) {
        const egb_chunk_* const chunk = egb_chunk_in(control, block);
        is_live                       = chunk != NULL && is_live_in_chunk(chunk, block);
        egb_pool_unlock(control);
    }
    return is_live;
}

// ---- memory -------------------------------------------------------------------------------------

static egb_status reserve(egb_control* control, size_t blocks)
{
    if (egb_is_passthrough(control)) {
        return EGB_OK;  // there is nothing to keep them in
    }
    const egb_status status = egb_growing_reserve(&control->growing, blocks);
    if (status != EGB_NO_MEMORY) {
        return status;
    }
    const bool is_system = control->memory.region == NULL && control->refusal == EGB_NO_MEMORY;
    return is_system ? EGB_NO_MEMORY : EGB_LIMIT;
}

static bool has_free(const egb_control* control, size_t blocks)
{
    const egb_growing* const growing = &control->growing;
    const size_t             limit   = growing->options.max_blocks;
    const size_t             out     = egb_blocks_out(control);
    const size_t             free    = growing->capacity - growing->lost - out;
    return free >= blocks && (limit == 0 || limit - out >= blocks);
}

// Those in the depot are as good as those in chunks: while less is out than is reserved, a thread
// takes what others put there.
static egb_status reserve_beside_depot(egb_control* control, size_t blocks)
{
    const size_t     in_depot = control->depot_blocks;
    const size_t     out      = egb_blocks_out(control);
    const egb_status status   = reserve(control, blocks - egb_smaller(blocks, in_depot));
    if (status == EGB_OK) {
        control->reserved = egb_larger(control->reserved, out + blocks);
    }
    return status;
}

egb_status egb_pool_reserve(egb_pool pool, size_t blocks)
{
    if (egb_is_null(pool)) {
        return EGB_INVALID;
    }
    egb_status status = EGB_STALE;
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL) {
        if (!has_free(control, blocks)) {
            (void)egb_reclaim(control);
        }
        status = reserve_beside_depot(control, blocks);
        egb_pool_unlock(control);
    }
    egb_os_unlock(&egb_the_world.lock);
    egb_seal_report(pool, EGB_CALLER());
    return status;
}

size_t egb_pool_give_up(egb_pool pool, size_t keep_bytes, bool to_shelf)
{
    size_t given = 0;
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL) {
        (void)egb_reclaim(control);
        if (control->memory.region == NULL) {  // static memory is not the system's
            egb_forget_chunks(control);
            control->is_passing_on = to_shelf;
            given                  = egb_growing_trim(&control->growing, keep_bytes);
            control->is_passing_on = false;
            control->reserved      = given == 0 ? control->reserved : 0;
            if (control->growing.in_use != 0 && control->growing.held > keep_bytes) {
                control->is_gathering = true;  // it should be less
            }
        }
        egb_pool_unlock(control);
    }
    egb_os_unlock(&egb_the_world.lock);
    return given;
}

size_t egb_pool_trim(egb_pool pool, size_t keep_bytes)
{
    if (!egb_is_null(pool)) {
        return egb_pool_give_up(pool, keep_bytes, false);
    }
    (void)egb_workshops_trim();
    return egb_shelf_trim(keep_bytes, SIZE_MAX);
}

typedef struct egb_block_visitor {
    egb_block_visit_fn visit;
    void*              user;
} egb_block_visitor;

static void visit_live(egb_chunk_* chunk, void* user)
{
    const egb_block_visitor* const caller  = user;
    const egb_fixed* const         fixed   = &chunk->fixed;
    const size_t                   touched = egb_fixed_touched(fixed);
    for (size_t index = 0; index < touched; index++) {
        if (EGB_LOAD_(chunk->shape.states[index]) == EGB_STATE_LIVE_) {
            caller->visit(fixed->first + index * fixed->stride, caller->user);
        }
    }
}

// Without states the free lists must tell, which know nothing about what is in magazines.
void egb_pool_each_block(egb_pool pool, egb_block_visit_fn visit, void* user)
{
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = visit == NULL ? NULL : egb_pool_lock(pool);
    if (control != NULL) {
        (void)egb_reclaim(control);
        egb_block_visitor caller = {visit, user};
        if (egb_is_passthrough(control)) {
            egb_pass_each(control, visit, user);
        } else if (control->is_checked) {
            egb_growing_each_chunk(&control->growing, visit_live, &caller);
        } else {
            egb_growing_each_by_list(&control->growing, visit, user);
        }
        egb_pool_unlock(control);
    }
    egb_os_unlock(&egb_the_world.lock);
}

static void count_touched(egb_chunk_* chunk, void* user)
{
    size_t* const count      = user;
    const bool    has_states = chunk->shape.states != NULL;
    const size_t  touched    = egb_fixed_touched(&chunk->fixed);
    for (size_t index = 0; index < touched; index++) {
        *count += !has_states || egb_state_at(&chunk->shape, index) != 0;
    }
}

size_t egb_pool_touched(egb_pool pool)
{
    size_t             count   = 0;
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL) {
        egb_growing_each_chunk(&control->growing, count_touched, &count);
        egb_pool_unlock(control);
    }
    return count;
}

// ---- the tree -----------------------------------------------------------------------------------

egb_pool egb_pool_parent(egb_pool pool)
{
    egb_pool parent = {0, 0};
    egb_os_lock(&egb_the_world.lock);
    const egb_control* const control = egb_control_of(pool);
    if (control != NULL) {
        parent = egb_handle_of(control->parent);
    }
    egb_os_unlock(&egb_the_world.lock);
    return parent;
}

bool egb_pool_is_ancestor(egb_pool above, egb_pool below)
{
    egb_os_lock(&egb_the_world.lock);
    const egb_control* const top = egb_control_or_root(above);
    const egb_control*       one = egb_control_of(below);
    do {
        one = one == NULL ? NULL : one->parent;
    } while (one != NULL && one != top);
    egb_os_unlock(&egb_the_world.lock);
    return one != NULL;
}

void egb_pool_each(egb_pool root, egb_pool_visit_fn visit, void* user)
{
    egb_os_lock(&egb_the_world.lock);
    egb_control* const first = visit == NULL ? NULL : egb_control_or_root(root);
    for (egb_control* one = first; one != NULL; one = egb_tree_next(first, one)) {
        if (one->slot != 0) {
            visit(egb_handle_of(one), user);
        }
    }
    egb_os_unlock(&egb_the_world.lock);
}

// ---- numbers ------------------------------------------------------------------------------------

typedef struct egb_counts {
    size_t   cached;
    uint64_t frees;
} egb_counts;

static void count_magazine(egb_magazine_* magazine, void* user)
{
    egb_counts* const counts = user;
    const uintptr_t   top    = EGB_LOAD_(magazine->top);
    if (top > magazine->lowest) {
        counts->cached += (top - magazine->lowest) / sizeof(egb_entry_);
    }
    counts->cached += magazine->spare == NULL ? 0 : magazine->spare->count;
    counts->cached += egb_magazine_count_away(magazine);
    counts->frees += EGB_LOAD_(magazine->frees);
}

static size_t min_of(size_t one, size_t other)
{
    return one < other ? one : other;
}

// Another thread may be allocating or freeing, so that the numbers do not quite fit together: then
// they are kept from going below zero.
static void add_pool(egb_control* control, egb_stats* sum)
{
    egb_os_lock(&control->lock);
    egb_counts counts = {egb_depot_blocks(control), control->frees};
    egb_each_magazine(control, count_magazine, &counts);
    const size_t taken  = control->growing.in_use;
    const size_t cached = min_of(counts.cached, taken);
    const size_t in_use = taken - cached;
    sum->pools++;
    sum->capacity += control->growing.capacity;
    sum->in_use += in_use;
    sum->cached += cached;
    sum->peak += control->peak;
    sum->allocations += counts.frees + in_use;
    sum->frees += counts.frees;
    sum->failures += control->failures;
    sum->chunks += control->growing.chunks;
    sum->bytes_held += control->growing.held;
    sum->bytes_prefaulted += control->prefaulted;
    sum->bytes_huge += control->huge;
    egb_os_unlock(&control->lock);
}

static void describe_pool(const egb_control* control, egb_stats* out)
{
    const egb_stats none = {{0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    *out                 = none;
    for (size_t i = 0; i < EGB_NAME_BYTES; i++) {
        out->name[i] = control->name[i];
    }
    out->block_bytes  = control->block_bytes;
    out->stride_bytes = control->growing.options.block_bytes;
    out->max_blocks   = control->growing.options.max_blocks;
    out->budget_bytes = control->budget_bytes;
}

egb_status egb_pool_stats(egb_pool pool, egb_stats* out)
{
    if (out == NULL || egb_is_null(pool)) {
        return EGB_INVALID;
    }
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_control_of(pool);
    if (control != NULL) {
        describe_pool(control, out);
        add_pool(control, out);
    }
    egb_os_unlock(&egb_the_world.lock);
    return control != NULL ? EGB_OK : EGB_STALE;
}

egb_status egb_pool_stats_subtree(egb_pool root, egb_stats* out)
{
    if (out == NULL) {
        return EGB_INVALID;
    }
    const bool is_there = egb_world_is_made();
    egb_os_lock(&egb_the_world.lock);
    egb_control* const first = is_there ? egb_control_or_root(root) : NULL;
    if (first != NULL) {
        describe_pool(first, out);
    }
    for (egb_control* one = first; one != NULL; one = egb_tree_next(first, one)) {
        if (one->slot != 0) {
            add_pool(one, out);
        }
    }
    egb_os_unlock(&egb_the_world.lock);
    return first != NULL ? EGB_OK : is_there ? EGB_STALE : EGB_NO_MEMORY;
}

// SPDX-License-Identifier: MIT
// Memory that a pool is to have, or to give back.
#include "../region/chunk_cache.h"
#include "../region/large.h"
#include "../region/obtain.h"
#include "backing.h"
#include "events.h"
#include "layout.h"
#include "registry.h"

static egb_status reserve(egb_control* control, size_t blocks)
{
    if (!control->layout->has_chunks) {
        return EGB_OK;  // there is nothing to keep them in
    }
    const egb_status status = egb_growing_reserve(&control->depot.growing, blocks);
    if (status != EGB_NO_MEMORY) {
        return status;
    }
    const bool is_system =
        control->source.memory.region == NULL && control->source.refusal == EGB_NO_MEMORY;
    return is_system ? EGB_NO_MEMORY : EGB_LIMIT;
}

static bool has_free(const egb_control* control, size_t blocks)
{
    const egb_growing* const growing = &control->depot.growing;
    const size_t             limit   = growing->options.max_blocks;
    const size_t             out     = egb_blocks_out_(&control->depot);
    const size_t             free    = growing->capacity - growing->lost - out;
    return free >= blocks && (limit == 0 || limit - out >= blocks);
}

// Blocks in the depot are as good as blocks in chunks: while fewer are out than reserved, a thread
// takes the batches of others.
static egb_status reserve_beside_depot(egb_control* control, size_t blocks)
{
    const size_t     in_depot = control->depot.blocks;
    const size_t     out      = egb_blocks_out_(&control->depot);
    const egb_status status   = reserve(control, blocks - egb_smaller_(blocks, in_depot));
    if (status == EGB_OK) {
        control->depot.reserved = egb_larger_(control->depot.reserved, out + blocks);
    }
    return status;
}

egb_status egb_pool_reserve(egb_pool pool, size_t blocks)
{
    if (egb_is_null_(pool)) {
        return EGB_INVALID;
    }
    egb_status status = EGB_STALE;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        if (!has_free(control, blocks)) {
            egb_reclaim_(control);
        }
        status = reserve_beside_depot(control, blocks);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    egb_freeze_report_(pool, EGB_CALLER());
    return status;
}

// Static memory is not the system's.
static size_t give_idle_chunks(egb_control* control, size_t keep_bytes, bool to_cache)
{
    if (control->source.memory.region != NULL || control->depot.growing.idle == 0) {
        return 0;
    }
    egb_forget_chunks_(&control->depot);
    control->source.is_passing_on = to_cache;
    const size_t given            = egb_growing_trim(&control->depot.growing, keep_bytes);
    control->source.is_passing_on = false;
    if (to_cache) {
        egb_large_limit_cache_();
    }
    control->depot.reserved = given == 0 ? control->depot.reserved : 0;
    return given;
}

size_t egb_pool_flush_(egb_pool pool)
{
    size_t             idle    = 0;
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_depot_flush_(&control->depot);
        idle = control->depot.growing.idle;
        egb_pool_unlock_(control);
    }
    return idle;
}

size_t egb_pool_give_idle_(egb_pool pool, size_t bytes, bool to_cache)
{
    size_t given = 0;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_depot_flush_(&control->depot);  // its batches remember blocks of chunks that may go
        const size_t held = control->depot.growing.held;
        given             = give_idle_chunks(control, held - egb_smaller_(bytes, held), to_cache);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return given;
}

size_t egb_pool_give_up_(egb_pool pool, size_t keep_bytes, bool to_cache)
{
    size_t given = 0;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_reclaim_(control);
        given = give_idle_chunks(control, keep_bytes, to_cache);
        if (control->source.memory.region == NULL && control->depot.growing.in_use != 0 &&
            control->depot.growing.held > keep_bytes) {
            control->depot.is_gathering = true;  // it should be less
        }
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return given;
}

void egb_pool_reclaim_idle_(egb_pool pool)
{
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_depot_reclaim_idle_(&control->depot);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
}

size_t egb_pool_idle_(egb_pool pool)
{
    const egb_control* const control = egb_control_of_(pool);
    return control == NULL ? 0 : EGB_LOAD_(control->depot.growing.idle);
}

size_t egb_pool_trim(egb_pool pool, size_t keep_bytes)
{
    if (!egb_is_null_(pool)) {
        return egb_pool_give_up_(pool, keep_bytes, false);
    }
    (void)egb_batch_slabs_trim_();
    (void)egb_threads_trim_(SIZE_MAX);
    egb_plain_trim_();
    (void)egb_obtain_trim_();
    return egb_region_cache_trim_(keep_bytes, SIZE_MAX);
}

// SPDX-License-Identifier: MIT
// Free where the thread's magazine did not take the block as it came: see free.h.
#include "free.h"

#include "../../os/os.h"
#include "passthrough.h"
#include "redzone.h"
#include "registry.h"
#include "reports.h"

// A free that was refused, or may yet be.
typedef struct egb_free_request {
    void*          block;
    egb_chunk_*    chunk;
    unsigned char* state;  // NULL: its pool has none
    size_t         index;  // EGB_NO_INDEX: it is no block
} egb_free_request;

static egb_event_kind kind_of_stranger(const void* address)
{
    const egb_pool other = egb_pool_of(address);
    return other.generation != 0 ? EGB_EVENT_WRONG_POOL : EGB_EVENT_FOREIGN;
}

// What is wrong with freeing the block: 0 is nothing. At level "off" only what cannot be freed.
static int fault_of(const egb_control* control, egb_free_request* freeing)
{
    freeing->state = NULL;
    freeing->index = EGB_NO_INDEX;
    freeing->chunk = egb_depot_chunk_of_(&control->depot, freeing->block);
    if (freeing->chunk == NULL || !egb_chunk_has_(freeing->chunk, freeing->block)) {
        return EGB_EVENT_FOREIGN;
    }
    const size_t index = egb_chunk_index_(freeing->chunk, freeing->block);
    if (index >= egb_fixed_capacity(&freeing->chunk->fixed)) {
        return EGB_EVENT_INTERIOR;
    }
    freeing->index = index;
    if (!control->depot.is_checked) {
        return 0;
    }
    freeing->state = freeing->chunk->shape.states + index;
    switch (egb_state_at_(&freeing->chunk->shape, index)) {
        case EGB_STATE_LIVE_: return 0;
        case EGB_STATE_FREE_: return EGB_EVENT_DOUBLE_FREE;
        default: return EGB_EVENT_NEVER_ALLOCATED;
    }
}

static void
free_locked(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_free_request freeing)
{
    if (!egb_magazine_attach_(&control->depot, magazine, pool)) {
        if (freeing.state != NULL) {
            EGB_STORE_(*freeing.state, EGB_STATE_FREE_);
        }
        const size_t before = control->depot.growing.in_use;
        egb_put_back_(&control->depot, freeing.block);
        control->depot.frees += before - control->depot.growing.in_use;  // 0: it was free already
        egb_os_watch_given_(control, freeing.block, control->block_bytes);
        egb_open_link_(&control->depot, freeing.block);
        return;
    }
    if (control->depot.is_checked && egb_has_own_chunks_(&control->depot) &&
        egb_key_of_chunk_(freeing.chunk) != magazine->chunk_key &&
        egb_magazine_make_room_remote_(&control->depot, magazine)) {
        (void)egb_push_remote_(magazine, freeing.block, freeing.state);
        return;
    }
    while (!egb_push_local_(magazine, freeing.block, freeing.state, control->depot.is_checked)) {
        egb_magazine_make_room_(&control->depot, magazine);
    }
}

// What is no block of any pool the C library gets, for the tool that watches it to say so.
static int fault_of_passed(egb_control* control, void* block)
{
    if (egb_pass_give_(control, block)) {
        return 0;
    }
    return egb_pass_find_(block).control != NULL || egb_owner_of_(block) != NULL
               ? EGB_EVENT_WRONG_POOL
               : EGB_EVENT_FOREIGN;
}

void egb_pool_free_locked_(egb_pool pool, egb_cache* cache, void* block, const void* site)
{
    if (block == NULL) {
        return;
    }
    egb_magazine_* const magazine = egb_magazine_for_(pool, cache);
    egb_control* const   control  = egb_pool_lock_(pool);
    if (control == NULL) {
        egb_pool_report_handle_(pool, block, site);
        return;
    }
    egb_free_request freeing   = {.block = block};
    const bool       is_passed = egb_is_passthrough_(control);
    int fault = is_passed ? fault_of_passed(control, block) : fault_of(control, &freeing);
    if (is_passed) {
        // It is done, or it is misuse.
    } else if (fault == 0 && control->redzones != NULL) {
        egb_redzone_give_(control, freeing.chunk, block, site);
    } else if (fault == 0) {
        free_locked(control, magazine, pool, freeing);
    }
    egb_pool_unlock_and_report_(control, pool, site);
    egb_freeze_report_(pool, site);
    if (fault == EGB_EVENT_FOREIGN) {
        fault = (int)kind_of_stranger(block);
    }
    if (fault == EGB_EVENT_FOREIGN && is_passed) {
        egb_os_free_(block);
        return;
    }
    if (fault != 0) {
        egb_pool_report_((egb_event_kind)fault, pool, block, freeing.index, site);
    }
}

// False: it was not for want of room that the magazine did not take a block.
static bool make_room(egb_magazine_* magazine, egb_pool pool, const void* site)
{
    if (egb_is_above_(&magazine->full, EGB_LOAD_(magazine->top))) {
        return false;
    }
    egb_control* const control = egb_pool_lock_(pool);
    const bool         is_its  = control != NULL && magazine->depot == &control->depot;
    if (is_its) {
        egb_magazine_make_room_(&control->depot, magazine);
    }
    if (control != NULL) {
        egb_pool_unlock_(control);
    }
    egb_freeze_report_(pool, site);
    return is_its;
}

// What egb_push_block_() did not take, if that was for want of room. False: for
// egb_pool_free_locked_() to find out. At level "off" nothing has looked at the block yet:
// egb_pool_free_locked_() does, at least now.
bool egb_free_after_room_(egb_magazine_* magazine, uint64_t key, void* block, const void* site)
{
    return block != NULL && egb_key_is_checked_(key) && EGB_LOAD_(magazine->key) == key &&
           make_room(magazine, egb_pool_of_key_(key), site) &&
           egb_push_block_(magazine, key, block);
}

void egb_pool_free_cold_(egb_pool pool, void* block)
{
    egb_pool_free_locked_(pool, NULL, block, EGB_CALLER());
}

static EGB_COLD void
free_cold(egb_magazine_* magazine, egb_pool pool, egb_cache* cache, void* block, const void* site)
{
    if (!egb_free_after_room_(magazine, egb_pool_key_(pool), block, site)) {
        egb_pool_free_locked_(pool, cache, block, site);
    }
}

void egb_pool_free_other_(egb_pool pool, void* block)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (EGB_UNLIKELY(!egb_push_block_(magazine, key, block))) {
        free_cold(magazine, pool, NULL, block, EGB_CALLER());
    }
}

void egb_cache_free_other_(egb_cache* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    if (EGB_UNLIKELY(!egb_push_block_(magazine, egb_pool_key_(cache->pool), block))) {
        free_cold(magazine, cache->pool, cache, block, EGB_CALLER());
    }
}

void egb_pool_free_many(egb_pool pool, void* const* blocks, size_t count)
{
    for (size_t i = 0; blocks != NULL && i < count; i++) {
        egb_pool_free(pool, blocks[i]);
    }
}

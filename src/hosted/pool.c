// SPDX-License-Identifier: MIT
// Alloc and free where the thread's magazine could not serve them, and calls made of them.
#include "heap_private.h"

// ---- alloc --------------------------------------------------------------------------------------

// The magazine that a call is to use: the cache's own, or this thread's.
static egb_magazine_* magazine_for(egb_pool pool, egb_cache* cache)
{
    if (cache == NULL) {
        return egb_thread_magazine(pool);
    }
    // It may be not open, or emptied in the child of a fork.
    const bool is_open = cache->magazine.control != NULL || egb_cache_open(cache, pool) == EGB_OK;
    return is_open ? &cache->magazine : NULL;
}

static void* take(egb_control* control, egb_magazine_* magazine, egb_pool pool)
{
    if (!egb_magazine_attach(control, magazine, pool)) {
        return egb_take_one(control);
    }
    void* block;
    if (egb_magazine_refill(control, magazine) &&
        egb_magazine_pop_(magazine, &block, control->is_checked)) {
        return block;
    }
    return NULL;
}

// Takes the free blocks out of everyone's magazines. Whether there is one to be had now: this call
// need not be the one that took it out.
static bool reclaim(egb_pool pool)
{
    bool has_block = false;
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL) {
        (void)egb_reclaim(control);
        has_block = egb_growing_has_free(&control->growing);
        egb_pool_unlock(control);
    }
    egb_os_unlock(&egb_the_world.lock);
    return has_block;
}

static void* fail(egb_pool pool)
{
    egb_control* const control = egb_pool_lock(pool);
    if (control != NULL) {
        control->failures++;
        egb_pool_unlock(control);
    }
    return NULL;
}

static void* alloc(egb_pool pool, egb_cache* cache, const void* site)
{
    for (;;) {
        egb_magazine_* const magazine = magazine_for(pool, cache);
        egb_control* const   control  = egb_pool_lock(pool);
        if (control == NULL) {
            egb_pool_report_handle(pool, site);
            return NULL;
        }
        void* const            block        = take(control, magazine, pool);
        const egb_exhausted_fn on_exhausted = control->on_exhausted;
        void* const            user         = control->user;
        egb_pool_unlock_and_report(control, pool, site);
        if (block != NULL) {
            return block;
        }
        if (reclaim(pool)) {
            continue;
        }
        if (on_exhausted == NULL || on_exhausted(pool, user) != EGB_EXHAUSTED_RETRY) {
            return fail(pool);
        }
    }
}

void* egb_pool_alloc_cold_(egb_pool pool)
{
    return alloc(pool, NULL, EGB_CALLER());
}

void* egb_cache_alloc_cold_(egb_cache* cache)
{
    return alloc(cache->pool, cache, EGB_CALLER());
}

size_t egb_pool_alloc_many(egb_pool pool, void** out, size_t count)
{
    size_t got = 0;
    while (out != NULL && got < count) {
        void* const block = egb_pool_alloc(pool);
        if (block == NULL) {
            break;
        }
        out[got++] = block;
    }
    return got;
}

// ---- free ---------------------------------------------------------------------------------------

// A free that was refused, or may yet be.
typedef struct egb_giving {
    void*          block;
    egb_chunk_*    chunk;
    unsigned char* state;  // NULL: its pool has none
    size_t         index;  // EGB_NO_INDEX: it is no block
} egb_giving;

static egb_event_kind kind_of_stranger(const void* address)
{
    const egb_pool other = egb_pool_of(address);
    return other.generation != 0 ? EGB_EVENT_WRONG_POOL : EGB_EVENT_FOREIGN;
}

// What is wrong with freeing the block: 0 is nothing. At level "off" only what cannot be freed.
static int fault_of(const egb_control* control, egb_giving* giving)
{
    giving->state = NULL;
    giving->index = EGB_NO_INDEX;
    giving->chunk = egb_chunk_in(control, giving->block);
    if (giving->chunk == NULL || !egb_chunk_has(giving->chunk, giving->block)) {
        return EGB_EVENT_FOREIGN;
    }
    const size_t index = egb_chunk_index(giving->chunk, giving->block);
    if (index >= egb_fixed_capacity(&giving->chunk->fixed)) {
        return EGB_EVENT_INTERIOR;
    }
    giving->index = index;
    if (!control->is_checked) {
        return 0;
    }
    giving->state = giving->chunk->shape.states + index;
    switch (EGB_LOAD_(*giving->state)) {
        case EGB_STATE_LIVE_: return 0;
        case EGB_STATE_FREE_: return EGB_EVENT_DOUBLE_FREE;
        default: return EGB_EVENT_NEVER_ALLOCATED;
    }
}

static void give(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_giving giving)
{
    if (!egb_magazine_attach(control, magazine, pool)) {
        if (giving.state != NULL) {
            EGB_STORE_(*giving.state, EGB_STATE_FREE_);
        }
        egb_put_back(control, giving.block);
        return;
    }
    while (!egb_magazine_push(magazine, giving.block, giving.state, control->is_checked)) {
        egb_magazine_make_room(control, magazine);
    }
}

static void put(egb_pool pool, egb_cache* cache, void* block, const void* site)
{
    if (block == NULL) {
        return;
    }
    egb_magazine_* const magazine = magazine_for(pool, cache);
    egb_control* const   control  = egb_pool_lock(pool);
    if (control == NULL) {
        egb_pool_report_handle(pool, site);
        return;
    }
    egb_giving giving = {.block = block};
    int        fault  = fault_of(control, &giving);
    if (fault == 0) {
        give(control, magazine, pool, giving);
    }
    egb_pool_unlock(control);
    if (fault == EGB_EVENT_FOREIGN) {
        fault = (int)kind_of_stranger(block);
    }
    if (fault != 0) {
        egb_pool_report((egb_event_kind)fault, pool, block, giving.index, site);
    }
}

// Into a magazine of the pool's, without a lock: while a block is in use its chunk cannot go, not
// even with its pool, of which this thread has a magazine.
static inline bool give_checked(egb_magazine_* magazine, const egb_shape_* shape, void* block)
{
    const size_t index = egb_shape_index_(shape, block);
    if (EGB_UNLIKELY(index >= shape->blocks)) {
        return false;
    }
    unsigned char* const state = shape->states + index;
    return EGB_LOAD_(*state) == EGB_STATE_LIVE_ && egb_magazine_push(magazine, block, state, true);
}

static inline bool give_unchecked(egb_magazine_* magazine, void* block)
{
    return block != NULL && egb_magazine_push(magazine, block, NULL, false);
}

static inline const egb_shape_* shape_at(const egb_unit* unit)
{
    return &EGB_LOAD_(unit->chunk)->shape;
}

// Into a magazine that may be another pool's. False, and nothing has changed: that is for put().
static inline bool give_other(egb_magazine_* magazine, egb_pool pool, void* block)
{
    const uint64_t key = egb_pool_key_(pool);
    if (EGB_LOAD_(magazine->key) != key) {
        return false;
    }
    if (!egb_pool_is_checked_(pool)) {
        return give_unchecked(magazine, block);
    }
    const egb_unit* const unit = egb_unit_of(block);
    if (EGB_LIKELY(unit != NULL && __atomic_load_n(&unit->key, __ATOMIC_ACQUIRE) == key)) {
        return give_checked(magazine, shape_at(unit), block);
    }
    return magazine->shape != NULL && give_checked(magazine, magazine->shape, block);
}

void egb_pool_free_cold_(egb_pool pool, void* block)
{
    put(pool, NULL, block, EGB_CALLER());
}

void egb_pool_free_other_(egb_pool pool, void* block)
{
    egb_magazine_* const magazine = egb_magazine_of_(egb_thread_self_(), pool);
    if (EGB_UNLIKELY(!give_other(magazine, pool, block))) {
        put(pool, NULL, block, EGB_CALLER());
    }
}

void egb_cache_free_other_(egb_cache* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    const bool           is_open  = EGB_LOAD_(magazine->top) != 0;
    if (EGB_UNLIKELY(!is_open || !give_other(magazine, cache->pool, block))) {
        put(cache->pool, cache, block, EGB_CALLER());
    }
}

EGB_COLD void egb_free_refused(void* block, const void* site)
{
    // Whether the address is that of a block is for put() to find out, with the pool locked.
    const egb_control* const owner = egb_chunk_map_owner(block);
    const egb_pool           pool  = owner != NULL ? egb_handle_of(owner) : egb_pool_of(block);
    if (pool.generation != 0) {
        put(pool, NULL, block, site);
    } else if (block != NULL && !egb_large_free(block, site)) {
        egb_pool_report(EGB_EVENT_FOREIGN, pool, block, EGB_NO_INDEX, site);
    }
}

// As egb_pool_free(), with the handle from the chunk map.
void egb_free(void* block)
{
    const egb_unit* const unit = egb_unit_of(block);
    if (EGB_LIKELY(unit != NULL)) {
        const uint64_t       key        = __atomic_load_n(&unit->key, __ATOMIC_ACQUIRE);
        const egb_pool       pool       = {(uint32_t)key, (uint32_t)(key >> 32)};
        const bool           is_checked = egb_pool_is_checked_(pool);
        egb_magazine_* const magazine   = egb_magazine_of_(egb_thread_self_(), pool);
        if (EGB_LIKELY(EGB_LOAD_(magazine->key) == key) &&
            (egb_magazine_undo_(magazine, block, is_checked) ||
             (is_checked ? give_checked(magazine, shape_at(unit), block)
                         : give_unchecked(magazine, block)))) {
            return;
        }
    }
    egb_free_refused(block, EGB_CALLER());
}

void egb_pool_free_many(egb_pool pool, void* const* blocks, size_t count)
{
    for (size_t i = 0; blocks != NULL && i < count; i++) {
        egb_pool_free(pool, blocks[i]);
    }
}

// ---- owned magazines ----------------------------------------------------------------------------

egb_status egb_cache_open(egb_cache* cache, egb_pool pool)
{
    if (cache == NULL || egb_is_null(pool)) {
        return EGB_INVALID;
    }
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_pool_lock(pool);
    egb_status         status  = EGB_STALE;
    if (control != NULL) {
        const egb_cache none = {.magazine = {.key = EGB_NO_KEY_}};
        if (control->growing.options.block_bytes > EGB_MAGAZINE_BYTES_MAX) {
            status = EGB_INVALID;
        } else if (control->batch_blocks == 0) {
            *cache      = none;  // there are no magazines here: each call goes to the pool
            cache->pool = pool;
            status      = EGB_OK;
        } else {
            *cache      = none;
            cache->pool = pool;
            status = egb_magazine_attach(control, &cache->magazine, pool) ? EGB_OK : EGB_NO_MEMORY;
            if (status != EGB_OK) {
                cache->pool.slot = cache->pool.generation = 0;  // it is not open
            }
        }
        egb_pool_unlock(control);
    }
    if (status == EGB_OK && cache->magazine.control != NULL) {
        egb_cache_link(cache);
    }
    egb_os_unlock(&egb_the_world.lock);
    return status;
}

static void give_back_magazine(egb_cache* cache)
{
    egb_os_lock(&egb_the_world.lock);
    egb_cache_unlink(cache);
    egb_magazine_let_go(&cache->magazine);
    egb_os_unlock(&egb_the_world.lock);
}

void egb_cache_close(egb_cache* cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->magazine.control != NULL) {
        give_back_magazine(cache);
    }
    const egb_cache none = {.pool = {0, 0}};
    *cache               = none;
}

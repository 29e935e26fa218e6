// SPDX-License-Identifier: MIT
// Alloc and free where the thread's magazine could not serve them, and calls made of them.
#include "depot.h"
#include "guard.h"
#include "heap_private.h"
#include "holders.h"
#include "level.h"
#include "passthrough.h"
#include "seal.h"

// ---- alloc --------------------------------------------------------------------------------------

// The magazine that a call is to use: the cache's own, or this thread's.
static egb_magazine_* magazine_for(egb_pool pool, egb_cache* cache)
{
    if (cache == NULL) {
        return egb_thread_magazine(pool);
    }
    (void)egb_thread_magazine(pool);  // the cache takes blocks of the lane of who uses it
    // It may be not open, or emptied in the child of a fork.
    if (cache->magazine.control != NULL || egb_cache_open(cache, pool) == EGB_OK) {
        return &cache->magazine;
    }
    cache->pool = pool;  // it goes on without a magazine
    return NULL;
}

static void* take_without_magazine(egb_control* control)
{
    egb_entry_ entry;
    if (egb_take_one(control, &entry) == NULL) {
        return NULL;
    }
    const unsigned state = control->is_checked ? *entry.state : EGB_STATE_FREE_;
    egb_watch_taken(control, entry.block, control->block_bytes, state);
    if (control->is_checked) {
        EGB_STORE_(*entry.state, EGB_STATE_LIVE_);
    }
    return entry.block;
}

static void*
take(egb_control* control, egb_magazine_* magazine, egb_pool pool, const egb_request* request)
{
    if (control->guards != NULL) {
        return egb_guard_take(control, request);
    }
    if (egb_is_passthrough(control)) {
        return egb_pass_take(control, request);
    }
    if (!egb_magazine_attach(control, magazine, pool)) {
        return take_without_magazine(control);
    }
    void* block;
    if (egb_magazine_refill(control, magazine) && egb_magazine_pop_(magazine, &block)) {
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
        const bool is_tracked = control->level == EGB_LEVEL_TRACK;
        control->failures++;
        egb_pool_unlock(control);
        if (is_tracked) {
            egb_holders_print_exhausted(pool);
        }
    }
    return NULL;
}

bool egb_pool_fails(egb_pool pool)
{
    const egb_control* const control = egb_control_of(pool);
    return control != NULL && egb_fail_is_set(&control->fail);
}

static bool fails_on_purpose(egb_pool pool, const void* site)
{
    egb_control* const control = egb_control_of(pool);
    return control != NULL && egb_fail_is_set(&control->fail) && egb_fail_now(&control->fail, site);
}

static void* alloc(egb_pool pool, egb_cache* cache, const egb_request* request)
{
    if (fails_on_purpose(pool, request->site)) {
        return fail(pool);
    }
    for (;;) {
        egb_magazine_* const magazine = magazine_for(pool, cache);
        egb_control* const   control  = egb_pool_lock(pool);
        if (control == NULL) {
            egb_pool_report_handle(pool, NULL, request->site);
            return NULL;
        }
        void* const            block        = take(control, magazine, pool, request);
        const egb_exhausted_fn on_exhausted = control->on_exhausted;
        void* const            user         = control->user;
        const bool             is_damaged   = control->damage.was_found;
        egb_pool_unlock_and_report(control, pool, request->site);
        egb_seal_report(pool, request->site);
        if (block != NULL) {
            return block;
        }
        if (is_damaged || reclaim(pool)) {  // there may be one behind the damage
            continue;
        }
        if (on_exhausted == NULL || on_exhausted(pool, user) != EGB_EXHAUSTED_RETRY) {
            return fail(pool);
        }
    }
}

void* egb_pool_alloc_for(egb_pool pool, const egb_request* request)
{
    return alloc(pool, NULL, request);
}

void* egb_pool_alloc_cold_(egb_pool pool)
{
    const egb_request request = {.site = EGB_CALLER()};
    return alloc(pool, NULL, &request);
}

void* egb_pool_alloc_cold_at_(egb_pool pool, const char* file, unsigned line)
{
    const egb_request request = {.site = EGB_CALLER(), .file = file, .line = line};
    return alloc(pool, NULL, &request);
}

void* egb_cache_alloc_cold_(egb_cache* cache)
{
    const egb_request request = {.site = EGB_CALLER()};
    return alloc(cache->pool, cache, &request);
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
    switch (egb_state_at(&giving->chunk->shape, index)) {
        case EGB_STATE_LIVE_: return 0;
        case EGB_STATE_FREE_: return EGB_EVENT_DOUBLE_FREE;
        default: return EGB_EVENT_NEVER_ALLOCATED;
    }
}

// Puts a block, which is the pool's and in use, behind the newest of some entries, and counts the
// free. False, and nothing has changed: they are full. `state` is not looked at where blocks have
// none.
// NOLINTBEGIN(readability-non-const-parameter): both are written to, atomically
EGB_INLINE bool put_entry(
    egb_magazine_*   magazine,
    uintptr_t*       top_of,
    const uintptr_t* full,
    void*            block,
    unsigned char*   state,
    bool             is_checked
)
{
    const uintptr_t top = EGB_LOAD_(*top_of);
    if (EGB_UNLIKELY(!egb_is_above_(full, top))) {
        return false;
    }
    egb_entry_* const entry = (egb_entry_*)top;
    if (is_checked) {
        EGB_STORE_(*state, EGB_STATE_FREE_);
        EGB_STORE_(entry->state, state);  // not both at once: a load of half of it would wait
    }
    EGB_STORE_(entry->block, block);
    __atomic_store_n(top_of, top + sizeof(egb_entry_), __ATOMIC_RELEASE);
    egb_count_one_(&magazine->frees);
    return true;
}
// NOLINTEND(readability-non-const-parameter)

// To be handed out next.
EGB_INLINE bool
put_on_top(egb_magazine_* magazine, void* block, unsigned char* state, bool is_checked)
{
    return put_entry(magazine, &magazine->top, &magazine->full, block, state, is_checked);
}

// To wait there to go back to its lane.
static inline bool put_away(egb_magazine_* magazine, void* block, unsigned char* state)
{
    return put_entry(magazine, &magazine->away_top, &magazine->away_full, block, state, true);
}

static void
give_locked(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_giving giving)
{
    if (!egb_magazine_attach(control, magazine, pool)) {
        if (giving.state != NULL) {
            EGB_STORE_(*giving.state, EGB_STATE_FREE_);
        }
        const size_t before = control->growing.in_use;
        egb_put_back(control, giving.block);
        control->frees += before - control->growing.in_use;  // 0: it was free already
        egb_os_watch_given(control, giving.block, control->block_bytes);
        egb_open_link(control, giving.block);
        return;
    }
    if (control->is_checked && egb_has_own_chunks(control) &&
        egb_key_of_chunk(giving.chunk) != magazine->home &&
        egb_magazine_make_room_away(control, magazine)) {
        (void)put_away(magazine, giving.block, giving.state);
        return;
    }
    while (!put_on_top(magazine, giving.block, giving.state, control->is_checked)) {
        egb_magazine_make_room(control, magazine);
    }
}

// What is no block of any pool the C library gets, for the tool that watches it to say so.
static int fault_of_passed(egb_control* control, void* block)
{
    if (egb_pass_give(control, block)) {
        return 0;
    }
    return egb_pass_find(block).control != NULL || egb_chunk_map_owner(block) != NULL
               ? EGB_EVENT_WRONG_POOL
               : EGB_EVENT_FOREIGN;
}

static void put(egb_pool pool, egb_cache* cache, void* block, const void* site)
{
    if (block == NULL) {
        return;
    }
    egb_magazine_* const magazine = magazine_for(pool, cache);
    egb_control* const   control  = egb_pool_lock(pool);
    if (control == NULL) {
        egb_pool_report_handle(pool, block, site);
        return;
    }
    egb_giving giving    = {.block = block};
    const bool is_passed = egb_is_passthrough(control);
    int        fault     = is_passed ? fault_of_passed(control, block) : fault_of(control, &giving);
    if (is_passed) {
        // It is done, or it is misuse.
    } else if (fault == 0 && control->guards != NULL) {
        egb_guard_give(control, giving.chunk, block, site);
    } else if (fault == 0) {
        give_locked(control, magazine, pool, giving);
    }
    egb_pool_unlock_and_report(control, pool, site);
    egb_seal_report(pool, site);
    if (fault == EGB_EVENT_FOREIGN) {
        fault = (int)kind_of_stranger(block);
    }
    if (fault == EGB_EVENT_FOREIGN && is_passed) {
        egb_os_free(block);
        return;
    }
    if (fault != 0) {
        egb_pool_report((egb_event_kind)fault, pool, block, giving.index, site);
    }
}

// Finds the state of a block in use. False: no block that is in use starts there.
EGB_INLINE bool find_live(const egb_shape_* shape, const void* block, unsigned char** state)
{
    const size_t index = egb_shape_index_(shape, block);
    if (EGB_UNLIKELY(index >= shape->blocks)) {
        return false;
    }
    *state = shape->states + index;
    return EGB_LIKELY(egb_state_is_(*state, EGB_STATE_LIVE_));
}

// Into a magazine of the pool's, without a lock: while a block is in use its chunk cannot go, not
// even with its pool, of which this thread has a magazine.
EGB_INLINE bool give_checked(egb_magazine_* magazine, const egb_shape_* shape, void* block)
{
    unsigned char* state;
    return find_live(shape, block, &state) && put_on_top(magazine, block, state, true);
}

static inline bool give_unchecked(egb_magazine_* magazine, void* block)
{
    return block != NULL && put_on_top(magazine, block, NULL, false);
}

// A block that is in a chunk of the map's, if that is of the pool that the magazine is of: to be
// handed out again from here, or on its way to the lane it is from.
EGB_INLINE bool give_mapped(egb_magazine_* magazine, const egb_unit* unit, void* block)
{
    const uint64_t apart = egb_key_at(unit) ^ EGB_LOAD_(magazine->home);
    if (EGB_LIKELY(apart == 0)) {
        return give_checked(magazine, &unit->shape, block);
    }
    unsigned char* state;
    return (apart & ~EGB_KEY_LANES) == 0 && find_live(&unit->shape, block, &state) &&
           put_away(magazine, block, state);
}

// A block of a pool on static memory, which is in no map. Of a pool that is just destroyed, too,
// for as long as another thread is inside of a call.
EGB_INLINE bool give_static(egb_magazine_* magazine, void* block)
{
    const egb_control* const control = EGB_LOAD_(magazine->control);
    const egb_shape_* const  shape   = control == NULL ? NULL : EGB_LOAD_(control->static_shape);
    return shape != NULL && give_checked(magazine, shape, block);
}

// False: it was not for want of room that the magazine did not take a block.
static bool make_room(egb_magazine_* magazine, egb_pool pool, const void* site)
{
    if (egb_is_above_(&magazine->full, EGB_LOAD_(magazine->top))) {
        return false;
    }
    egb_control* const control = egb_pool_lock(pool);
    const bool         is_its  = control != NULL && magazine->control == control;
    if (is_its) {
        egb_magazine_make_room(control, magazine);
    }
    if (control != NULL) {
        egb_pool_unlock(control);
    }
    egb_seal_report(pool, site);
    return is_its;
}

// Into the thread's magazine, if that is the pool's. An address that has more bits than others gets
// the unit of another one, in which it is no block's.
EGB_INLINE bool give(egb_magazine_* magazine, uint64_t key, void* block)
{
    if (EGB_UNLIKELY(!egb_key_is_(&magazine->key, key))) {
        return false;
    }
    if (!egb_key_is_checked_(key)) {
        return give_unchecked(magazine, block);
    }
    const egb_unit* const unit = egb_unit_like(block);
    return EGB_LIKELY(unit != NULL && give_mapped(magazine, unit, block)) ||
           give_static(magazine, block);
}

// What give() did not take, if that was for want of room. False: for put() to find out. At level
// "off" nothing has looked at the block yet: put() does, at least now.
static bool give_after_room(egb_magazine_* magazine, uint64_t key, void* block, const void* site)
{
    return block != NULL && egb_key_is_checked_(key) && EGB_LOAD_(magazine->key) == key &&
           make_room(magazine, egb_pool_of_key_(key), site) && give(magazine, key, block);
}

void egb_pool_free_cold_(egb_pool pool, void* block)
{
    put(pool, NULL, block, EGB_CALLER());
}

static EGB_COLD void
free_other(egb_magazine_* magazine, egb_pool pool, egb_cache* cache, void* block, const void* site)
{
    if (!give_after_room(magazine, egb_pool_key_(pool), block, site)) {
        put(pool, cache, block, site);
    }
}

void egb_pool_free_other_(egb_pool pool, void* block)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (EGB_UNLIKELY(!give(magazine, key, block))) {
        free_other(magazine, pool, NULL, block, EGB_CALLER());
    }
}

void egb_cache_free_other_(egb_cache* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    if (EGB_UNLIKELY(!give(magazine, egb_pool_key_(cache->pool), block))) {
        free_other(magazine, cache->pool, cache, block, EGB_CALLER());
    }
}

EGB_COLD void egb_free_refused(void* block, const void* site)
{
    // Whether the address is that of a block is for put() to find out, with the pool locked.
    const egb_control* const owner = egb_chunk_map_owner(block);
    const egb_pool           pool  = owner != NULL ? egb_handle_of(owner) : egb_pool_of(block);
    if (pool.generation != 0) {
        put(pool, NULL, block, site);
    } else if (egb_large_free(block, site)) {
        // It is done.
    } else if (egb_level_of_no_pool() == EGB_LEVEL_PASSTHROUGH && egb_os_has_malloc()) {
        egb_os_free(block);
    } else {
        egb_pool_report(EGB_EVENT_FOREIGN, pool, block, EGB_NO_INDEX, site);
    }
}

// Into the magazine in which blocks of this unit go on; at "off" whatever its lane, as nothing is
// sent back there. False: none does. An address that has more bits than others gets the unit of
// another one: only level "off" has to ask. Nobody asks here whether the block is the one taken
// last: where it sometimes is, no processor can tell beforehand.
EGB_INLINE bool free_home(void* block)
{
    const egb_unit* const unit = egb_unit_like(block);
    if (EGB_UNLIKELY(unit == NULL)) {
        return false;
    }
    const uint64_t       key      = egb_key_at(unit);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (!egb_key_is_checked_(key)) {
        return EGB_LIKELY(egb_key_is_(&magazine->key, egb_key_in_lane(key, 0))) &&
               egb_is_address(block) && put_on_top(magazine, block, NULL, false);
    }
    return EGB_LIKELY(egb_key_is_(&magazine->home, key)) &&
           give_checked(magazine, &unit->shape, block);
}

// Of another lane, or refused. Programs free NULL as often as not: nobody is asked for that.
static void free_elsewhere(void* block, const void* site)
{
    if (block == NULL) {
        return;
    }
    const egb_unit* const unit = egb_unit_of(block);
    if (unit != NULL) {
        const uint64_t       key      = egb_key_of_unit(unit);
        egb_magazine_* const magazine = egb_magazine_of_key_(key);
        if (give(magazine, key, block) || give_after_room(magazine, key, block, site)) {
            return;
        }
    }
    egb_free_refused(block, site);
}

void egb_free(void* block)
{
    if (!free_home(block)) {
        free_elsewhere(block, EGB_CALLER());
    }
}

void egb_free_from(void* block, const void* site)
{
    if (!free_home(block)) {
        free_elsewhere(block, site);
    }
}

// The table in which alloc finds the pool of a small size leads to the magazine, too. What was
// taken last is of that size; of another block the map says whether it is.
EGB_INLINE bool free_small(void* block, size_t bytes)
{
    const size_t         step     = (bytes + EGB_HEAP_STEP_BYTES_ - 1) / EGB_HEAP_STEP_BYTES_;
    const uint64_t       key      = EGB_LOAD_(egb_heap_small_[step]);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (egb_pool_undo_(magazine, key, block)) {
        return true;
    }
    if (!egb_key_is_checked_(key)) {
        // Nothing is said of sizes at "off". The null pool's key stands for a size nobody had yet.
        return egb_key_is_(&magazine->key, key) && free_home(block);
    }
    const egb_unit* const unit = egb_unit_like(block);
    return EGB_LIKELY(
        unit != NULL && egb_key_is_(&magazine->key, key) &&
        egb_key_is_(&magazine->home, egb_key_at(unit)) &&
        give_checked(magazine, &unit->shape, block)
    );
}

void egb_free_sized_(void* block, size_t bytes)
{
    if (EGB_UNLIKELY(bytes > EGB_HEAP_SMALL_BYTES_ || !free_small(block, bytes))) {
        egb_heap_free_sized(block, 1, bytes, EGB_CALLER());
    }
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
        if (control->block_bytes > EGB_MAGAZINE_BYTES_MAX) {
            status = EGB_INVALID;
        } else if (control->batch_blocks == 0) {
            *cache      = none;  // there are no magazines here: each call goes to the pool
            cache->pool = pool;
            status      = EGB_OK;
        } else {
            *cache      = none;
            cache->pool = pool;
            status = egb_magazine_attach(control, &cache->magazine, pool) ? EGB_OK : EGB_NO_MEMORY;
            cache->is_unchecked = status == EGB_OK && !control->is_checked;
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

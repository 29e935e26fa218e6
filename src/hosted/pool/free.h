// SPDX-License-Identifier: MIT
// Room pool: how a block comes back, as far as that needs no lock. A free is tried in this order:
//
//   1. egb_pool_undo_()        the newest popped entry of the magazine: inlined in the program
//   2. egb_push_block_()        the thread's magazine of the pool: as a local block, or as a remote
//                              block of another lane; a block of static memory, which is in no map
//   3. egb_free_after_room_()   the same once more, when the magazine was full
//   4. egb_pool_free_locked_()  the pool, with its lock: takes the block, or reports the misuse
//
// egb_free() finds the pool in the chunk map first: heap/free.c.
#ifndef EGGBOX_SRC_HOSTED_POOL_FREE_H
#define EGGBOX_SRC_HOSTED_POOL_FREE_H

#include "../region/chunk_map.h"
#include "control.h"

// Puts a block, which is the pool's and in use, behind the newest of some entries, and counts the
// free. False, and nothing has changed: they are full. `state` is not looked at where blocks have
// none.
// NOLINTBEGIN(readability-non-const-parameter): both are written to, atomically
EGB_INLINE bool egb_push_entry_(
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
egb_push_local_(egb_magazine_* magazine, void* block, unsigned char* state, bool is_checked)
{
    return egb_push_entry_(magazine, &magazine->top, &magazine->full, block, state, is_checked);
}

// To wait there to go back to its lane.
EGB_INLINE bool egb_push_remote_(egb_magazine_* magazine, void* block, unsigned char* state)
{
    return egb_push_entry_(
        magazine, &magazine->remote_top, &magazine->remote_full, block, state, true
    );
}

// Finds the state of a block in use. False: no block that is in use starts there.
EGB_INLINE bool egb_find_live_(const egb_shape_* shape, const void* block, unsigned char** state)
{
    const size_t index = egb_shape_index_(shape, block);
    if (EGB_UNLIKELY(index >= shape->blocks)) {
        return false;
    }
    *state = shape->states + index;
    return EGB_LIKELY(egb_state_is_(*state, EGB_STATE_LIVE_));
}

// Pushes into a magazine of the pool without a lock. The chunk of a block in use cannot go, not
// even with its pool, because this thread has a magazine of that pool.
EGB_INLINE bool egb_push_if_live_(egb_magazine_* magazine, const egb_shape_* shape, void* block)
{
    unsigned char* state;
    return egb_find_live_(shape, block, &state) && egb_push_local_(magazine, block, state, true);
}

EGB_INLINE bool egb_push_unchecked_(egb_magazine_* magazine, void* block)
{
    return block != NULL && egb_push_local_(magazine, block, NULL, false);
}

// A block that is in a chunk of the map's, if that is of the pool that the magazine is of: to be
// handed out again from here, or on its way to the lane it is from.
EGB_INLINE bool egb_push_mapped_(egb_magazine_* magazine, const egb_unit* unit, void* block)
{
    const uint64_t apart = egb_key_at_(unit) ^ EGB_LOAD_(magazine->chunk_key);
    if (EGB_LIKELY(apart == 0)) {
        return egb_push_if_live_(magazine, &unit->shape, block);
    }
    unsigned char* state;
    return (apart & ~EGB_KEY_LANES) == 0 && egb_find_live_(&unit->shape, block, &state) &&
           egb_push_remote_(magazine, block, state);
}

// A block of a pool on static memory, which is in no map. The shape of a pool that is just being
// destroyed stays valid while a thread is inside a call.
EGB_INLINE bool egb_push_static_(egb_magazine_* magazine, void* block)
{
    const egb_depot* const  depot = EGB_LOAD_(magazine->depot);
    const egb_shape_* const shape = depot == NULL ? NULL : EGB_LOAD_(depot->static_shape);
    return shape != NULL && egb_push_if_live_(magazine, shape, block);
}

// Into the thread's magazine, if that is the pool's. An address that has more bits than others gets
// the unit of another one, in which it is no block's.
EGB_INLINE bool egb_push_block_(egb_magazine_* magazine, uint64_t key, void* block)
{
    if (EGB_UNLIKELY(!egb_key_is_(&magazine->key, key))) {
        return false;
    }
    if (!egb_key_is_checked_(key)) {
        return egb_push_unchecked_(magazine, block);
    }
    const egb_unit* const unit = egb_unit_like_(block);
    return EGB_LIKELY(unit != NULL && egb_push_mapped_(magazine, unit, block)) ||
           egb_push_static_(magazine, block);
}

// Frees what egb_push_block_() did not take for want of room. False: the reason was another one. At
// level "off" the answer is always false: egb_pool_free_locked_() looks at the block there.
bool egb_free_after_room_(egb_magazine_* magazine, uint64_t key, void* block, const void* site);

// Frees a block with the lock of the pool, or reports the misuse. `cache`: the owned magazine that
// the block is for; NULL: the thread's.
void egb_pool_free_locked_(egb_pool pool, egb_magazine* cache, void* block, const void* site);

// The magazine that a call is to use: the cache's own, or this thread's. NULL: it has none.
egb_magazine_* egb_magazine_for_(egb_pool pool, egb_magazine* cache);

#endif  // EGGBOX_SRC_HOSTED_POOL_FREE_H

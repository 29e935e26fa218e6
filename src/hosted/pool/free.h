// SPDX-License-Identifier: MIT
// Room pool: how a block comes back, as far as that needs no lock. A free is tried in this order:
//
//   1. egb_pool_undo_()        the newest popped entry of the magazine: inlined in the program
//   2. egb_push_block_()        the thread's magazine of the pool: as a local block, or as a remote
//                              block of another lane; a block of static memory, which is in no map
//   3. egb_free_after_room_()   the same once more, when the magazine was full
//      egb_free_ended_()        this, when the magazine took the block and had no room for it
//   4. egb_pool_free_locked_()  the pool, with its lock: takes the block, or reports the misuse
//
// egb_free() finds the pool in the chunk map first: heap/free.c.
#ifndef EGGBOX_SRC_HOSTED_POOL_FREE_H
#define EGGBOX_SRC_HOSTED_POOL_FREE_H

#include "../region/chunk_map.h"
#include "control.h"

// Puts a block, which is the pool's and in use, behind the newest of some entries. Returns its
// entry. `state` is not looked at where blocks have none.
// NOLINTBEGIN(readability-non-const-parameter): both are written to, atomically
EGB_INLINE uintptr_t
egb_add_entry_(uintptr_t* top_of, void* block, unsigned char* state, bool is_checked)
{
    const uintptr_t   top   = EGB_LOAD_(*top_of);
    egb_entry_* const entry = (egb_entry_*)top;
    if (is_checked) {
        EGB_STORE_(*state, EGB_STATE_FREE_);
        EGB_STORE_(entry->state, state);  // not both at once: a load of half of it would wait
    }
    EGB_STORE_(entry->block, block);
    __atomic_store_n(top_of, top + sizeof(egb_entry_), __ATOMIC_RELEASE);
    return top;
}
// NOLINTEND(readability-non-const-parameter)

// How a push ends. Ended: the block was put where there is no room, and egb_push_ended_() is to be
// called next.
typedef enum egb_push { EGB_PUSH_NO, EGB_PUSH_DONE, EGB_PUSH_ENDED } egb_push;

// To be handed out next. Counts the free. The order matters: first raise `top`, then look for the
// end of the room. A thread that looks for the last free block of a pool does the opposite, with a
// fence for both in between: one of the two therefore sees the other. Behind the room is place for
// one entry more.
EGB_INLINE egb_push
egb_push_local_(egb_magazine_* magazine, void* block, unsigned char* state, bool is_checked)
{
    const uintptr_t entry = egb_add_entry_(&magazine->top, block, state, is_checked);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (EGB_UNLIKELY(!egb_is_above_(&magazine->full, entry))) {
        return EGB_PUSH_ENDED;
    }
    egb_count_one_(&magazine->frees);
    return EGB_PUSH_DONE;
}

// Takes the block back that was put where there is no room. False: another thread has taken it
// meanwhile, and the free is done.
EGB_COLD bool egb_push_ended_(egb_magazine_* magazine);

// For calls that look no further: whether the block is free now.
static inline bool egb_push_is_done_(egb_magazine_* magazine, egb_push push)
{
    return push == EGB_PUSH_DONE || (push == EGB_PUSH_ENDED && !egb_push_ended_(magazine));
}

// To wait there to go back to its lane.
EGB_INLINE egb_push egb_push_remote_(egb_magazine_* magazine, void* block, unsigned char* state)
{
    if (EGB_UNLIKELY(!egb_is_above_(&magazine->remote_full, EGB_LOAD_(magazine->remote_top)))) {
        return EGB_PUSH_NO;
    }
    (void)egb_add_entry_(&magazine->remote_top, block, state, true);
    egb_count_one_(&magazine->frees);
    return EGB_PUSH_DONE;
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
EGB_INLINE egb_push egb_push_if_live_(egb_magazine_* magazine, const egb_shape_* shape, void* block)
{
    unsigned char* state;
    return egb_find_live_(shape, block, &state) ? egb_push_local_(magazine, block, state, true)
                                                : EGB_PUSH_NO;
}

EGB_INLINE egb_push egb_push_unchecked_(egb_magazine_* magazine, void* block)
{
    return block != NULL ? egb_push_local_(magazine, block, NULL, false) : EGB_PUSH_NO;
}

// A block that is in a chunk of the map's, if that is of the pool that the magazine is of: to be
// handed out again from here, or on its way to the lane it is from.
EGB_INLINE egb_push egb_push_mapped_(egb_magazine_* magazine, const egb_unit* unit, void* block)
{
    const uint64_t apart = egb_key_at_(unit) ^ EGB_LOAD_(magazine->chunk_key);
    if (EGB_LIKELY(apart == 0)) {
        return egb_push_if_live_(magazine, &unit->shape, block);
    }
    unsigned char* state;
    return (apart & ~EGB_KEY_LANES) == 0 && egb_find_live_(&unit->shape, block, &state)
               ? egb_push_remote_(magazine, block, state)
               : EGB_PUSH_NO;
}

// A block of a pool on static memory, which is in no map. The shape of a pool that is just being
// destroyed stays valid while a thread is inside a call.
EGB_INLINE egb_push egb_push_static_(egb_magazine_* magazine, void* block)
{
    const egb_depot* const  depot = EGB_LOAD_(magazine->depot);
    const egb_shape_* const shape = depot == NULL ? NULL : EGB_LOAD_(depot->static_shape);
    return shape != NULL ? egb_push_if_live_(magazine, shape, block) : EGB_PUSH_NO;
}

// Into the thread's magazine, if that is the pool's. An address that has more bits than others gets
// the unit of another one, in which it is no block's.
EGB_INLINE egb_push egb_push_block_(egb_magazine_* magazine, uint64_t key, void* block)
{
    if (EGB_UNLIKELY(!egb_key_is_(&magazine->key, key))) {
        return EGB_PUSH_NO;
    }
    if (!egb_key_is_checked_(key)) {
        return egb_push_unchecked_(magazine, block);
    }
    const egb_unit* const unit = egb_unit_like_(block);
    const egb_push push = unit != NULL ? egb_push_mapped_(magazine, unit, block) : EGB_PUSH_NO;
    return EGB_LIKELY(push != EGB_PUSH_NO) ? push : egb_push_static_(magazine, block);
}

// Frees what egb_push_block_() did not take for want of room. False: the reason was another one. At
// level "off" the answer is always false: egb_pool_free_locked_() looks at the block there.
bool egb_free_after_room_(egb_magazine_* magazine, uint64_t key, void* block, const void* site);

// Takes the block back, and frees it as egb_free_after_room_() and egb_pool_free_locked_() do.
EGB_COLD void egb_free_ended_(
    egb_magazine_* magazine, egb_pool pool, egb_magazine* cache, void* block, const void* site
);

// Frees a block with the lock of the pool, or reports the misuse. `cache`: the owned magazine that
// the block is for; NULL: the thread's.
void egb_pool_free_locked_(egb_pool pool, egb_magazine* cache, void* block, const void* site);

// The claims of a sized free about its block, beside that the block is in use.
typedef struct egb_claim {
    bool   fits;     // the pool is for such blocks, and the block's address is aligned so
    size_t bytes;    // 0: any
    size_t rounded;  // up to the alignment: programs give this, too
} egb_claim;

// The same with such a claim, for a pool with red zones, which know the requested bytes: one lock
// for the look at them and the free.
void egb_pool_free_claimed_(egb_pool pool, const egb_claim* claim, void* block, const void* site);

// The magazine that a call is to use: the cache's own, or this thread's. NULL: it has none.
egb_magazine_* egb_magazine_for_(egb_pool pool, egb_magazine* cache);

#endif  // EGGBOX_SRC_HOSTED_POOL_FREE_H

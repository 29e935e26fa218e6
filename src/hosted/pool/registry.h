// SPDX-License-Identifier: MIT
// Room pool: slots, handles and the tree of pools.
#ifndef EGGBOX_SRC_HOSTED_POOL_REGISTRY_H
#define EGGBOX_SRC_HOSTED_POOL_REGISTRY_H

#include "../cache/threads.h"
#include "control.h"

// The pools of a process. It is never taken down: static destructors and threads that end late may
// still use it. The registry lock is egb_threads_.lock.
typedef struct egb_pool_registry {
    egb_control* controls;  // the first is the root's; atomic, NULL: no pool was ever made
    size_t       slots;     // in use or used once, atomic
    size_t       slots_max;
    uint64_t     pools_made;   // ever; kept by the registry lock
    egb_control* statics;      // atomic
    egb_os_mutex budget_lock;  // keeps budgets and free slots
    egb_control* free_slots;
    egb_wait*    short_of_budget;  // threads that wait for a block; kept by the budget lock
    uint64_t     uncharged;        // how often a budget got bytes back. Atomic
    bool         has_asked;        // for calls at the ends of threads and around a fork. Atomic

    // NULL, or what wants to know of the end of pools. It is called with the registry and the pool
    // locked. Atomic.
    void (*on_end)(const egb_pool_stats* stats, const char* parent, egb_level level);
} egb_pool_registry;

extern egb_pool_registry egb_registry_;

// Makes the registry at the first call; no lock is held. False: the system refused.
bool egb_registry_is_made_(void);

// Reads once more what the environment says: for tests, which have one thread then.
void egb_environment_read_(void);

// A control block for a new pool, still without a generation; NULL: there are too many pools, or
// the system refused. And back.
egb_control* egb_slot_take_(void);
void         egb_slot_give_back_(egb_control* control);

// The null pool: the root, which is no pool that a call can be for.
static inline bool egb_is_null_(egb_pool pool)
{
    return pool.slot == 0 && pool.generation == 0;
}

// The control block of a handle, without a lock; NULL for null and stale handles.
static inline egb_control* egb_control_of_(egb_pool pool)
{
    egb_control* const controls = __atomic_load_n(&egb_registry_.controls, __ATOMIC_ACQUIRE);
    const size_t       index    = pool.slot / EGB_SLOT_STEP_;
    if (controls == NULL || pool.generation == 0 ||
        index >= __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    egb_control* const control = &controls[index];
    return __atomic_load_n(&control->id.generation, __ATOMIC_ACQUIRE) == pool.generation &&
                   EGB_LOAD_(control->id.slot) == pool.slot
               ? control
               : NULL;
}

// The same, and the root's of {0, 0}.
egb_control* egb_control_or_root_(egb_pool pool);

egb_pool egb_handle_of_(const egb_control* control);

// Locks the pool; NULL if there is none.
egb_control* egb_pool_lock_(egb_pool pool);
void         egb_pool_unlock_(egb_control* control);

// The next pool after `control` in the subtree of `root`, parents first; NULL: that was the last.
egb_control* egb_tree_next_(const egb_control* root, egb_control* control);

// Whose chunk an address is in, any part of it; NULL: no pool's, a large block's, or that of a pool
// on static memory. The owner may have changed when the caller looks.
egb_control* egb_owner_of_(const void* address);

// Takes all free blocks of a pool to its chunks, with the registry and the pool locked.
void egb_reclaim_(egb_control* control);

// The same for a pool that has no block to give, which is tight from then on: cache/tight.h.
void egb_look_(egb_control* control);

// As egb_pool_get_stats(), with the registry and the pool locked.
void egb_pool_stats_of_(egb_control* control, egb_pool_stats* out);

// The same, with the counts since egb_pools_count_anew_(). The second takes the locks; it answers
// EGB_OK or EGB_STALE.
void       egb_pool_stats_for_report_(egb_control* control, egb_pool_stats* out);
egb_status egb_pool_get_stats_for_report_(egb_pool pool, egb_pool_stats* out);

// The counts of all pools for reports begin now. Takes the registry lock, and that of each pool.
void egb_pools_count_anew_(void);

// False: there is no such pool.
bool egb_pool_level_(egb_pool pool, egb_level* level);

// As egb_pool_create(), and what the freeze refused is still to be reported.
egb_status egb_pool_make_(egb_pool* out, const egb_pool_options* options);

#endif  // EGGBOX_SRC_HOSTED_POOL_REGISTRY_H

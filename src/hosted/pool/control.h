// SPDX-License-Identifier: MIT
// Room pool: the control block, which a handle leads to. It is composed of parts; each part says
// which file it is for, and which lock keeps it: docs/locks.md.
#ifndef EGGBOX_SRC_HOSTED_POOL_CONTROL_H
#define EGGBOX_SRC_HOSTED_POOL_CONTROL_H

#include "../cache/depot.h"
#include "../region/chunk_cache.h"
#include "../settings/fault_injection.h"
#include "samples.h"

enum { EGB_NAME_BYTES = 48 };

// registry.c: what tells a live handle from a stale one. Atomic.
typedef struct egb_identity {
    uint32_t slot;             // as in the handle
    uint32_t generation;       // the pool that is there now; 0: none
    uint32_t last_generation;  // that was ever there
} egb_identity;

// registry.c: the place in the tree, kept by the registry lock.
typedef struct egb_tree_links {
    struct egb_control* parent;
    struct egb_control* child;
    struct egb_control* next;
    struct egb_control* previous;
    struct egb_control* next_static;  // in the list of pools on static memory
    uint64_t            born;         // a larger number than that of any pool made before
} egb_tree_links;

// budget.c: `held` is kept by the budget lock, the rest by the pool's lock.
typedef struct egb_budget {
    size_t held;        // bytes of this pool and its descendants
    size_t bytes;       // may be held at most; 0: no limit
    bool   is_charged;  // the bytes held count for the ancestors
} egb_budget;

// backing.c: chunks from the system, kept by the pool's lock.
typedef struct egb_chunk_source {
    egb_static_region memory;   // in place of the system's
    egb_status        refusal;  // why the backing said no; EGB_INVALID: the pool's own budget
    size_t            prefaulted;
    size_t            huge;
    egb_cached_chunk  recycled;       // the region that is to become a chunk is from the cache
    bool              is_passing_on;  // regions that are given back go to large blocks
    bool              is_forgotten;   // the pages of the blocks went back when it was destroyed
} egb_chunk_source;

// alloc.c: what happens when there is no block to give.
typedef struct egb_exhaustion {
    egb_exhausted_fn handler;
    void*            user;
    uint64_t         failures;
    egb_fault_plan   fault_plan;
} egb_exhaustion;

struct egb_request;

// wait.c: a thread that waits for a block; on its stack. Kept by the pool's lock.
typedef struct egb_wait {
    uint32_t            word;    // atomic; the thread sleeps while this is EGB_WAIT_SLEEP_
    egb_status          answer;  // from EGB_WAIT_ANSWERED_ on
    void*               block;   // for EGB_OK
    struct egb_request* request;
    struct egb_wait*    next;        // in the line of the pool
    struct egb_wait*    next_short;  // among those who wait for a budget: kept by the budget lock
    uint64_t            uncharged;   // egb_registry_.uncharged when the budget was asked
    bool                is_in_line;
    bool                is_first;    // in the line; its thread's own
    bool                is_short;    // it waits for a budget; out of the line its thread's own
    bool                is_refused;  // by the system or the freeze; its thread's own
} egb_wait;

// wait.c: the threads that wait for a block, in the order of their arrival.
typedef struct egb_line {
    egb_wait* first;
    egb_wait* last;
    size_t    count;
} egb_line;

// stats.c: what the pool had counted when the report of this process began, which counts from then
// on: the child of a fork has the pools of its parent.
typedef struct egb_earlier {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
} egb_earlier;

// All control blocks are in an array that is never given back: a stale handle leads to a control
// block with another generation. Unless a part names another lock, the pool's lock keeps it, which
// is the lock of the depot.
typedef struct egb_control {
    EGB_ALIGNAS_(128) egb_depot depot;

    egb_identity             id;
    egb_level                level;
    unsigned                 flags;
    size_t                   block_bytes;
    const struct egb_layout* layout;    // how the blocks lie in memory
    struct egb_redzones*     redzones;  // the layout's data; NULL: none
    egb_samples*             samples;   // at level "sample", else NULL
    egb_exhaustion           exhaustion;
    egb_line                 line;
    egb_earlier              earlier;
    egb_chunk_source         source;
    egb_budget               budget;
    egb_tree_links           tree;
    struct egb_control*      next_free;  // in the list of free slots: kept by the budget lock
    char                     name[EGB_NAME_BYTES];
} egb_control;

EGB_STATIC_ASSERT(offsetof(egb_control, depot) == 0, "a depot leads to its control block");

static inline egb_control* egb_control_of_depot_(egb_depot* depot)
{
    return (egb_control*)(void*)depot;
}

// Tells a watching tool that a block with the state `state` is taken: its contents are unknown,
// unless they are zero.
static inline void
egb_watch_taken_(const egb_control* control, const void* block, size_t bytes, unsigned state)
{
    egb_os_watch_taken_(control, block, bytes);
    if (state == 0 && (control->flags & EGB_FRESH_ZERO) != 0) {
        egb_os_watch_open_(block, bytes);
    }
}

#endif  // EGGBOX_SRC_HOSTED_POOL_CONTROL_H

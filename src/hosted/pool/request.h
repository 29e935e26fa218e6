// SPDX-License-Identifier: MIT
// Room pool: a request for a block, on its way behind the magazines.
#ifndef EGGBOX_SRC_HOSTED_POOL_REQUEST_H
#define EGGBOX_SRC_HOSTED_POOL_REQUEST_H

#include "control.h"

// The caller of a request, and the bytes asked for.
typedef struct egb_request {
    size_t      bytes;  // 0: all of the block
    const void* site;
    const char* file;  // NULL: not known
    unsigned    line;
    double      scale;   // out: how many blocks the block stands for, a sample; 0: it is none
    uint32_t    thread;  // the caller's number; 0: it is the one that takes the block
    egb_wait*   wait;    // the wait of a caller that waits for the block; NULL: it does not
} egb_request;

// As egb_pool_alloc(), without a look at the magazine first. No lock is held. At level "track" the
// request's site becomes its stack.
void* egb_pool_alloc_request_(egb_pool pool, egb_request* request);

// The same, and no failure is counted. EGB_OK; EGB_EMPTY; EGB_NO_MEMORY: it failed on purpose;
// EGB_STALE: there is no such pool, which was reported.
egb_status egb_pool_alloc_now_(egb_pool pool, egb_request* request, void** block);

// Counts a failure.
void egb_pool_fail_(egb_pool pool);

// How one attempt to get a block ended.
typedef struct egb_attempt {
    void*            block;  // NULL: none
    bool             has_pool;
    bool             is_damaged;  // and there may be a block behind the damage
    bool             is_bare;     // a look would find none
    bool             knows_all;   // as egb_depot_knows_all_()
    egb_exhausted_fn on_exhausted;
    void*            user;
} egb_attempt;

// No lock is held.
egb_attempt egb_pool_try_(egb_pool pool, egb_magazine* cache, egb_request* request);

// Looks for free blocks in everyone's magazines, and takes them out. No lock is held.
typedef struct egb_look {
    bool has_block;  // there is one to be had now: this call need not be the one that took it out
    bool knows_all;
} egb_look;

egb_look egb_pool_look_(egb_pool pool);

// The unwinder is called while no lock is held. Until now only its state says what the block is.
void egb_pool_note_sample_(egb_pool pool, const void* block, const egb_request* request);

// Whether some allocations of the pool fail on purpose.
bool egb_pool_has_faults_(egb_pool pool);

#endif  // EGGBOX_SRC_HOSTED_POOL_REQUEST_H

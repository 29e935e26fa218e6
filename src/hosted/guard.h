// SPDX-License-Identifier: MIT
// Layer hosted: blocks of pools at the levels "guard" and "track". Everything here runs with the
// pool locked.
//
//     slot: | record | front | the block | back |
//
// The record stands there at "track" only. The front says how many bytes were asked for, and is
// sealed; the back is a pattern, from the end of those bytes on. A block that is free is filled
// with another pattern. It waits in quarantine before it is handed out again, and when it is, what
// is not as it was filled was written to meanwhile. Pools without guards have none of this.
#ifndef EGGBOX_SRC_HOSTED_GUARD_H
#define EGGBOX_SRC_HOSTED_GUARD_H

#include "pool_private.h"

// Who asks for a block, and for how much of it.
typedef struct egb_request {
    size_t      bytes;  // 0: all of the block
    const void* site;
    const char* file;  // NULL: not known
    unsigned    line;
} egb_request;

enum {
    EGB_GUARD_ALIGN           = 8,     // of blocks, at least
    EGB_BACK_BYTES_MIN        = 16,    // what stands behind the block at least
    EGB_BACK_BYTES_MAX        = 128,   // what of it is looked at
    EGB_FILL_BYTES_MAX        = 4096,  // of a free block
    EGB_QUARANTINE_BLOCKS_MAX = 256,
    EGB_QUARANTINE_BYTES_MAX  = 262144
};

// What was found in a block; `kind` 0: nothing.
typedef struct egb_finding {
    int         kind;  // an egb_event_kind
    const void* block;
    size_t      index;
    egb_history history;
} egb_finding;

// What was found in a pool since the last time.
egb_finding egb_guard_finding(egb_control* control);

// Tells the misuse handler. No lock is held.
void egb_pool_report_finding(egb_pool pool, const egb_finding* finding, const void* site);

// What a pool with guards has beside its control block.
typedef struct egb_guards {
    egb_finding finding;        // the first one since the lock was taken, to be reported afterwards
    uint64_t    serial;         // of the block handed out last
    uint64_t    serial_before;  // of the last one that the reports of this process leave out
    size_t      oldest;         // the quarantine: a ring
    size_t      count;
    size_t      bytes;
    void*       quarantine[EGB_QUARANTINE_BLOCKS_MAX];
} egb_guards;

// As egb_pool_alloc(), in pool.c, without a look at the magazine first; no lock is held.
void* egb_pool_alloc_for(egb_pool pool, const egb_request* request);

// Bytes before the first block of each chunk, and before each block.
size_t egb_guard_lead(egb_level level, size_t align);

// Whether there ever was a pool at level "track".
bool egb_has_tracked(void);

// What a pool with guards needs; NULL: refused. And back; NULL is none.
egb_guards* egb_guards_new(egb_level level);
void        egb_guards_drop(egb_guards* guards);

// A block, in use from now on; NULL: there is none.
void* egb_guard_take(egb_control* control, const egb_request* request);

// Takes back a block that is in use, and looks at what is around it.
void egb_guard_give(egb_control* control, egb_chunk_* chunk, void* block, const void* site);

// All blocks in quarantine become free.
void   egb_quarantine_flush(egb_control* control);
size_t egb_quarantine_count(const egb_control* control);

// Looks at every block. Returns how many are not as they should be.
size_t egb_guard_look(egb_control* control);

// Looks at one block of a chunk.
bool egb_guard_is_whole(egb_control* control, const egb_chunk_* chunk, size_t index);

// What is known of a block, damaged or not.
egb_history egb_guard_history(const egb_control* control, const void* block);

// How many bytes were asked for.
size_t egb_guard_bytes(const egb_control* control, const void* block);

// Whether that is known: not where it was written over.
bool egb_guard_knows_bytes(const void* block);

// When a block of a pool at level "track" was allocated, in the system's milliseconds.
uint64_t egb_guard_when(const void* block);

#endif  // EGGBOX_SRC_HOSTED_GUARD_H

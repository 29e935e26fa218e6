// SPDX-License-Identifier: MIT
// Room pool: red zones, around blocks of pools at the levels "guard"
// and "track". Everything here runs with the pool locked.
//
//     slot: | gap | record | front | the block | back |
//
// The record stands there at "track" only, a gap where the alignment leaves bytes between the parts
// of two blocks. The front says how many bytes were asked for, and is closed with a canary. Gap and
// back are a pattern; the back begins at the end of those bytes. A block that is free is filled
// with another pattern. It waits in quarantine before it is handed out again. A byte that differs
// from the fill by then was overwritten meanwhile. Pools without red zones have none of this.
#ifndef EGGBOX_SRC_HOSTED_POOL_REDZONE_H
#define EGGBOX_SRC_HOSTED_POOL_REDZONE_H

#include "layout.h"

enum {
    EGB_REDZONE_ALIGN         = 8,                     // least alignment of blocks
    EGB_BACK_BYTES_MIN        = EGB_POOL_BACK_BYTES_,  // least bytes behind the block
    EGB_BACK_BYTES_MAX        = 128,                   // most of them that are checked
    EGB_GAP_BYTES_MAX         = EGB_POOL_GAP_BYTES_MAX_,
    EGB_FILL_BYTES_MAX        = 1048576,  // most of a free block that is filled
    EGB_QUARANTINE_BLOCKS_MAX = 288,
    EGB_QUARANTINE_BYTES_MAX  = 294912,

    // If so much waits behind the oldest block, alloc takes that one. Between the two limits allocs
    // and frees in any order meet, and the chunks are not asked.
    EGB_QUARANTINE_BLOCKS_ENOUGH = 256,
    EGB_QUARANTINE_BYTES_ENOUGH  = 262144
};

// The data of a pool with red zones, beside its control block.
typedef struct egb_redzones {
    egb_finding finding;     // the first one since the lock was taken, to be reported afterwards
    uint64_t    serial;      // number of the block handed out last
    uint64_t serial_before;  // number of the last block that the reports of this process leave out
    size_t   oldest;         // the quarantine: a ring of depot.quarantined blocks
    size_t   bytes;
    egb_entry_ quarantine[EGB_QUARANTINE_BLOCKS_MAX];
} egb_redzones;

// Whether there ever was a pool with red zones; at level "track".
bool egb_has_redzones_(void);
bool egb_has_tracked_(void);

// Looks at the blocks of a chunk that goes.
void egb_redzone_look_at_(egb_control* control, const egb_chunk_* chunk);

// All blocks in quarantine become free.
void egb_quarantine_flush_(egb_control* control);

// The history of a block, damaged or not.
egb_history egb_redzone_history_(const egb_control* control, const void* block);

// The site of its allocation, or the stack. Nothing is said of the free, and no stack is told.
egb_history
egb_redzone_origin_(const egb_control* control, const void* block, const void** alloc_site);

// How many bytes were asked for.
size_t egb_redzone_bytes_(const egb_control* control, const void* block);

// Whether that is known: not where it was written over.
bool egb_redzone_knows_bytes_(const void* block);

// The mark that a look for reachable blocks makes on a block in use, of a pool at level "track";
// NULL: none.
const void** egb_redzone_mark_(const void* block);

// When a block of a pool at level "track" was allocated, in the system's milliseconds.
uint64_t egb_redzone_when_(const void* block);

#endif  // EGGBOX_SRC_HOSTED_POOL_REDZONE_H

// SPDX-License-Identifier: MIT
// Room cache: batches, arrays of free blocks, and the slabs that they are allocated from.
#ifndef EGGBOX_SRC_HOSTED_CACHE_BATCH_H
#define EGGBOX_SRC_HOSTED_CACHE_BATCH_H

#include "eggbox/pool.h"

// An array of free blocks: what magazines hold, and what they exchange with the depot. Each entry
// behind the last is one that was taken, or no block's; so is the last one always.
typedef struct egb_batch {
    EGB_ALIGNAS_(64) struct egb_batch* next;  // in the depot
    uint32_t   count;                         // of entries, while it is not loaded in a magazine
    uint32_t   lane;                          // of the workshop it is from
    egb_entry_ entries[EGB_MAGAZINE_BLOCKS_MAX + 1];
} egb_batch;

// An empty batch for so many blocks from the lane's workshop; NULL: the system refused, or is not
// asked, because the process is sealed. And back; NULL is no batch.
egb_batch* egb_batch_new_(size_t lane, size_t blocks);
void       egb_batch_drop_(egb_batch* batch);

// Blocks that come in the order of address are parted: none is to be handed out right after the one
// in front of it, so what runs over the end of a block does not meet the one that was taken next.
// First come the odd ones of eight, then the even ones: farther apart they would share less of the
// caches. Those of a list stay as they are, or programs that free and take in turns would scatter
// them.
void egb_part_neighbours_(void** run, size_t count);

// Puts what was taken first on top: it is handed out first.
void egb_batch_turn_around_(egb_batch* batch);

// Asks for the entries of a batch that waited so long that they are in no near cache: every alloc
// would wait for its own.
void egb_batch_fetch_(const egb_batch* batch);

// An entry that is no block's.
const egb_entry_* egb_no_entry_(void);

// Gives wholly free chunks of batches back to the system, and says how many bytes that were.
size_t egb_batch_slabs_trim_(void);

// The locks of all workshops.
void egb_batch_slabs_lock_(void);
void egb_batch_slabs_unlock_(void);
void egb_batch_slabs_reset_(void);

#endif  // EGGBOX_SRC_HOSTED_CACHE_BATCH_H

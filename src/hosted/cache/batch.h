// SPDX-License-Identifier: MIT
// Room cache: batches, arrays of free blocks, and the slabs that they are allocated from.
#ifndef EGGBOX_SRC_HOSTED_CACHE_BATCH_H
#define EGGBOX_SRC_HOSTED_CACHE_BATCH_H

#include "eggbox/pool.h"

enum { EGB_BATCH_MARK_WORDS = 4 };

// In front of the entries. While a magazine has the batch loaded, an entry of no block, for a `top`
// that is led aside: tight.h. Else the batch's place in the depot.
typedef union egb_batch_front {
    egb_entry_ aside;
    struct {
        const void*       no_block;
        struct egb_batch* next;
    } list;
} egb_batch_front;

// An array of free blocks: magazines hold batches, and exchange them with the depot. Entries behind
// the last block are stale or empty; the very last one, behind its room, always is. A batch has as
// much memory as its length says.
typedef struct egb_batch {
    EGB_ALIGNAS_(64) egb_batch_front front;
    uint32_t   count;                        // entries, while no magazine has it loaded
    uint16_t   room;                         // entries at most
    uint8_t    lane;                         // the batch slab that it is from: of this lane,
    uint8_t    length;                       // and with batches of this length
    uint32_t   marks[EGB_BATCH_MARK_WORDS];  // these four are for marks.c alone
    uint32_t   fired;
    uint16_t   thinned;
    uint16_t   halvings;
    egb_entry_ entries[EGB_MAGAZINE_BLOCKS_MAX + 1];
} egb_batch;

// The room of batches by their length, least first.
enum { EGB_BATCH_LENGTHS = 4 };
extern const uint16_t egb_batch_rooms_[EGB_BATCH_LENGTHS];

// The shortest length with room for `blocks` blocks, but none longer than `length`.
size_t egb_batch_length_for_(size_t blocks, size_t length);

// An empty batch of the lane's batch slabs, with room for `blocks` blocks or, if it is shorter, for
// as many as that length has. NULL: the system refused, or the process is frozen. And back; NULL is
// allowed.
egb_batch* egb_batch_new_(size_t lane, size_t blocks, size_t length);
void       egb_batch_drop_(egb_batch* batch);

// Parts blocks that come in order of address: no block is to be handed out right after the one in
// front of it, so an overrun does not meet the next block taken. The odd ones of eight come first,
// then the even ones: farther apart they would share fewer cache lines. Blocks of a list keep their
// order, or programs that free and allocate in turns would scatter them.
void egb_part_neighbours_(void** run, size_t count);

// Reverses a batch: the block taken first is handed out first.
void egb_batch_turn_around_(egb_batch* batch);

// Prefetches the entries of a batch that waited long and left the near caches: else every alloc
// would wait for its entry.
void egb_batch_fetch_(const egb_batch* batch);

// The unused entry.
const egb_entry_* egb_no_entry_(void);

// Gives wholly free chunks of the batch slabs back to the system. Returns the bytes given back.
size_t egb_batch_slabs_trim_(void);

// The locks of all batch slabs.
void egb_batch_slabs_lock_(void);
void egb_batch_slabs_unlock_(void);
void egb_batch_slabs_reset_(void);

#endif  // EGGBOX_SRC_HOSTED_CACHE_BATCH_H

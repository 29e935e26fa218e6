// SPDX-License-Identifier: MIT
// Room pool: how the blocks of a pool lie in memory. A pool has one
// layout for its whole life, which make.c chooses by the level:
//
//     plain.c         levels "off" and "check": blocks and nothing else, handed out by magazines
//     redzone.c       levels "guard" and "track": red zones around each block, and a quarantine
//     passthrough.c   level "passthrough": each block is one of the C library's malloc
//
// The functions are called with the pool locked.
#ifndef EGGBOX_SRC_HOSTED_POOL_LAYOUT_H
#define EGGBOX_SRC_HOSTED_POOL_LAYOUT_H

#include "../report/misuse.h"
#include "request.h"

// Why a free was refused; `kind` 0: it was not.
typedef struct egb_free_fault {
    int    kind;   // an egb_misuse_kind
    size_t index;  // index of the block; EGB_NO_INDEX: no block starts there
} egb_free_fault;

// Some blocks of a pool, as they were at one moment: for a walk that lets go of the pool's lock
// between two windows, and remembers no more than this. It starts with `after` 0.
typedef struct egb_block_window {
    uint64_t  after;   // the last block's address, or its place in the order of the layout
    egb_word* first;   // a block
    size_t    stride;  // to the next one, in words
    size_t    count;
    egb_word  in_use[EGB_WINDOW_WORDS];  // a bit for each block
} egb_block_window;

typedef struct egb_layout {
    bool has_chunks;         // the pool's memory is its own, and can be reserved
    bool has_fixed_bytes;    // every block is `block_bytes` long: the chunk map may say so
    bool passes_foreign_on;  // a block of no pool is given to the C library's free()

    // Bytes before and behind each block, and the least alignment. The gap: the most bytes that
    // belong to the second of two blocks, of those that the alignment leaves between them.
    size_t (*head)(egb_level level);
    size_t back_bytes;
    size_t gap_bytes_max;
    size_t align_min;

    // A block, in use from now on; NULL: there is none.
    void* (*take)(
        egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request
    );

    // Takes a block back, unless that is misuse.
    egb_free_fault (*give)(
        egb_control* control, egb_magazine_* magazine, egb_pool pool, void* block, const void* site
    );

    // How many bytes the owner of a block may use; and whether a block in use starts there.
    size_t (*bytes_of)(const egb_control* control, const void* block);
    bool (*is_live)(const egb_control* control, const void* block);

    // Fills the next window of blocks. False: there is none. No block is in a magazine.
    bool (*next_window)(const egb_control* control, egb_block_window* window);

    // How many blocks are damaged; and whether this one is not. The first damage becomes a finding.
    size_t (*check)(egb_control* control);
    bool (*is_whole)(egb_control* control, const void* block);

    // The finding since the last call; and the history of a block.
    egb_finding (*take_finding)(egb_control* control);
    egb_history (*history)(const egb_control* control, const void* block);

    // Makes the data of the layout, before the chunks; and ends it.
    egb_status (*begin)(egb_control* control);
    void (*end)(egb_control* control);
} egb_layout;

extern const egb_layout egb_layout_plain_;
extern const egb_layout egb_layout_redzone_;
extern const egb_layout egb_layout_passthrough_;

// The functions of a layout that puts nothing around blocks.
size_t      egb_plain_head_(egb_level level);
size_t      egb_plain_check_(egb_control* control);
bool        egb_plain_is_whole_(egb_control* control, const void* block);
egb_finding egb_plain_finding_(egb_control* control);
egb_history egb_plain_history_(const egb_control* control, const void* block);
egb_status  egb_plain_begin_(egb_control* control);

// Finds the block of a chunk that is to be freed, and the fault in that, if there is one.
typedef struct egb_free_request {
    void*          block;
    egb_chunk_*    chunk;
    unsigned char* state;  // NULL: its pool has none
    egb_free_fault fault;
} egb_free_request;

egb_free_request egb_free_find_(const egb_control* control, void* block);

static inline bool egb_is_live_state_(unsigned state)
{
    return (state & ~EGB_STATE_SAMPLE_) == EGB_STATE_LIVE_;
}

// Whether a block in use starts there, by the states of its chunk. At level "off" every block may
// be in use.
static inline bool egb_is_live_in_(const egb_shape_* shape, size_t blocks, const void* block)
{
    const size_t index = egb_shape_index_(shape, block);
    return index < blocks &&
           (shape->states == NULL || egb_is_live_state_(EGB_LOAD_(shape->states[index])));
}

// The same, by the pool's chunks.
bool egb_is_live_in_chunk_(const egb_control* control, const void* block);

// A walk over the touched blocks of a pool, in order of address. It starts with {NULL, 0, 0}.
// Meanwhile the pool may not change.
typedef struct egb_walk {
    egb_chunk_* chunk;
    size_t      next;     // index of the block behind the current one
    size_t      touched;  // number of touched blocks of the chunk
} egb_walk;

// Goes on to the next block. False: there is none. Inline: a walk is then a plain loop.
static inline bool egb_walk_next_(const egb_control* control, egb_walk* walk)
{
    while (walk->next == walk->touched) {
        const uintptr_t before = walk->chunk == NULL ? 0 : (uintptr_t)walk->chunk->range.start;
        walk->chunk            = egb_growing_chunk_after_(&control->depot.growing, before);
        if (walk->chunk == NULL) {
            return false;
        }
        walk->next    = 0;
        walk->touched = egb_fixed_touched(&walk->chunk->fixed);
    }
    walk->next++;
    return true;
}

// The index of the current block in its chunk, and the block.
static inline size_t egb_walk_index_(const egb_walk* walk)
{
    return walk->next - 1;
}

static inline void* egb_walk_block_(const egb_walk* walk)
{
    return walk->chunk->fixed.first + egb_walk_index_(walk) * walk->chunk->fixed.stride;
}

// Calls `visit` with each block in use, by the states of the chunks.
void egb_each_live_(const egb_control* control, egb_block_visit_fn visit, void* user);

// The next window of a layout with chunks.
bool egb_chunk_window_(const egb_control* control, egb_block_window* window);

#endif  // EGGBOX_SRC_HOSTED_POOL_LAYOUT_H

// SPDX-License-Identifier: MIT
// Pages of a chunk that hold free blocks only, while other blocks of the chunk are in use: a block
// in each chunk would else keep the memory of all. The chunk stays as it is, with its states. The
// blocks of such pages stay free, at home, and marked as gone (EGB_STATE_GONE_): each word of them
// is as before, or zero. A page comes back when a block of it is taken.
//
// A program whose use goes up and down would have such pages back soon. They go only if no block of
// the chunk was taken for a while. Time is counted in turns, and a chunk notes the turn in which a
// block was last taken. Blocks that are freed meanwhile do not count: a class that others replace
// shrinks all the time, and would keep all its pages.
#include "../region/keep.h"
#include "../region/obtain.h"
#include "backing.h"
#include "layout.h"
#include "registry.h"

// A step ends with the chunk that reaches one of these limits, of bytes given or looked at: the
// pool is locked, and other threads wait for its blocks.
static const size_t GIVEN_BYTES  = (size_t)1 << 20;
static const size_t LOOKED_BYTES = (size_t)4 << 20;
enum { STEP_CHUNKS = 64 };

// The blocks of a chunk that a range of pages has parts of.
typedef struct block_span {
    size_t from;
    size_t end;
} block_span;

static size_t stride_bytes(const egb_chunk_* chunk)
{
    return (size_t)chunk->fixed.stride * EGB_WORD_BYTES;
}

static block_span blocks_in(const egb_chunk_* chunk, uintptr_t start, uintptr_t end)
{
    const size_t     block = stride_bytes(chunk);
    const block_span all   = {
        (start - chunk->shape.first) / block, (end - chunk->shape.first + block - 1) / block
    };
    return all;
}

static unsigned own_state(const egb_chunk_* chunk, size_t index)
{
    return EGB_LOAD_(chunk->shape.states[index]) & EGB_STATE_OWN_;
}

// At home, and some are in memory as far as their states tell.
static bool are_free(const egb_chunk_* chunk, block_span blocks)
{
    bool is_there = false;
    for (size_t i = blocks.from; i < blocks.end; i++) {
        const unsigned own = own_state(chunk, i);
        if ((own & EGB_STATE_IN_CHUNK_) == 0) {
            return false;
        }
        is_there = is_there || own == EGB_STATE_IN_CHUNK_;
    }
    return is_there;
}

// A block that was written to while it was free stays, for the alloc that reports it. One that is
// gone and starts in front of the page is not read: that could bring its page back.
static bool are_sound(const egb_chunk_* chunk, block_span blocks, uintptr_t page)
{
    for (size_t i = blocks.from; i < blocks.end; i++) {
        const uintptr_t start = chunk->shape.first + i * stride_bytes(chunk);
        const bool      skip  = start < page && own_state(chunk, i) != EGB_STATE_IN_CHUNK_;
        if (!skip && !egb_bitmap_is_sound_(chunk, i)) {
            return false;
        }
    }
    return true;
}

static bool page_may_go(const egb_chunk_* chunk, uintptr_t page, size_t page_bytes)
{
    const block_span blocks = blocks_in(chunk, page, page + page_bytes);
    return are_free(chunk, blocks) && are_sound(chunk, blocks, page);
}

// Blocks that nobody had yet keep their state. All are sound at first. If the system refuses, it
// may have taken pages before it came to one that is locked: blocks that are sound no more were
// on those. Returns the bytes given.
static size_t let_go(egb_chunk_* chunk, uintptr_t start, uintptr_t end)
{
    const block_span blocks   = blocks_in(chunk, start, end);
    const bool       is_taken = egb_os_forget_((void*)start, end - start);
    size_t           gone     = 0;
    for (size_t i = blocks.from; i < blocks.end; i++) {
        unsigned char* const state = &chunk->shape.states[i];
        if (own_state(chunk, i) == EGB_STATE_IN_CHUNK_ &&
            (is_taken || !egb_bitmap_is_sound_(chunk, i))) {
            EGB_STORE_(*state, (unsigned char)(EGB_LOAD_(*state) | EGB_STATE_GONE_));
            gone++;
        }
    }
    chunk->owner->gone += gone;
    return is_taken ? end - start : 0;
}

// A request to the system for each run of such pages.
static size_t give_pages_of(egb_chunk_* chunk)
{
    const size_t    page    = egb_os_page_bytes_();
    const size_t    touched = egb_fixed_count_touched_(&chunk->fixed);
    const uintptr_t first   = egb_round_up_(chunk->shape.first, page);
    const uintptr_t end     = chunk->shape.first + touched * stride_bytes(chunk);
    uintptr_t       start   = first;  // the start of a run
    size_t          given   = 0;
    for (uintptr_t at = first; start + page <= end; at += page) {
        if (at + page <= end && page_may_go(chunk, at, page)) {
            continue;
        }
        if (start < at) {
            given += let_go(chunk, start, at);
        }
        start = at + page;
    }
    return given;
}

// Whether no block was taken in all of the last turn; of a chunk that was looked at before, nor did
// one come back.
static bool is_calm(const egb_chunk_* chunk)
{
    return chunk->owner->turn - chunk->turn >= 2;
}

static bool is_to_look_at(const egb_chunk_* chunk, bool at_once)
{
    return !egb_chunk_is_idle_(chunk) && chunk->turn != EGB_TURN_LOOKED_AT_ &&
           (at_once || is_calm(chunk));
}

static egb_chunk_* last_in_list(const egb_growing* growing)
{
    return growing->available == NULL ? NULL : growing->available->previous;
}

// The chunk to go on with. NULL: there is none left, or it is no longer in the list.
static egb_chunk_* next_of(const egb_growing* growing, const egb_page_walk* walk)
{
    egb_chunk_* const chunk =
        walk->next == NULL ? last_in_list(growing) : egb_growing_chunk_of_(growing, walk->next);
    return chunk != NULL && egb_chunk_is_available_(chunk) ? chunk : NULL;
}

static void walk_on(const egb_growing* growing, egb_page_walk* walk)
{
    egb_chunk_* chunk  = next_of(growing, walk);
    size_t      given  = 0;
    size_t      looked = 0;
    for (size_t i = 0;
         i < STEP_CHUNKS && chunk != NULL && given < GIVEN_BYTES && looked < LOOKED_BYTES;
         i++) {
        if (is_to_look_at(chunk, walk->at_once)) {
            given += give_pages_of(chunk);
            looked += chunk->range.bytes;
            chunk->turn = EGB_TURN_LOOKED_AT_;
        }
        chunk = chunk == growing->available ? NULL : chunk->previous;
    }
    walk->given += given;
    walk->looked += looked;
    walk->next    = chunk == NULL ? NULL : chunk->range.start;
    walk->is_over = chunk == NULL;
}

// In a sandbox a system call without need may end the program. Pages that the program asked for
// stay, and so do all during the freeze.
static bool may_give_pages(const egb_control* control)
{
    return control->layout->has_fixed_bytes && control->depot.is_checked &&
           control->source.memory.region == NULL &&
           (control->flags & (EGB_PREFAULT | EGB_HUGE_PAGES)) == 0 && !egb_is_frozen_() &&
           !egb_keep_expects_sandbox_();
}

void egb_pool_give_pages_(egb_pool pool, egb_page_walk* walk)
{
    egb_control* const control = egb_pool_lock_(pool);
    walk->is_over              = true;
    if (control == NULL) {
        return;
    }
    if (may_give_pages(control)) {
        walk_on(&control->depot.growing, walk);
    }
    egb_pool_unlock_(control);
}

void egb_pool_begin_turn_(egb_pool pool)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        control->depot.growing.turn++;
        egb_pool_unlock_(control);
    }
}

// SPDX-License-Identifier: MIT
// Pools that ran out of blocks: see tight.h.
#include "tight.h"

#include "peak.h"
#include "threads.h"

static bool has_block(const egb_depot* depot)
{
    const egb_growing* const growing = &depot->growing;
    const size_t             limit   = growing->options.max_blocks;
    return growing->in_use < growing->capacity - growing->lost &&
           (limit == 0 || growing->in_use < limit);
}

// The next look visits as many magazines as calls have been made by then. The free blocks may be
// fewer, and so may be all blocks of the pool.
bool egb_depot_is_tight_(egb_depot* depot)
{
    if (depot->is_tight) {
        depot->tight_calls++;
        depot->is_tight = egb_depot_is_waited_for_(depot) || depot->tight_calls < depot->attached ||
                          !has_block(depot);
    }
    return depot->is_tight;
}

void egb_magazine_forget_(egb_magazine_* magazine)
{
    egb_entry_* const entry = (egb_entry_*)EGB_LOAD_(magazine->top);
    EGB_STORE_(entry->block, egb_no_entry_()->block);
}

// Its thread cannot make a free block of one in use by itself. A push finds no room, and an undo no
// block. The magazine was closed before the fence of the look that made the pool tight: a push
// either had raised `top` by then, or sees the end of the room. The remote batch has no such order.
static bool is_sure(const egb_magazine_* magazine)
{
    const uintptr_t top = EGB_LOAD_(magazine->top);
    const uintptr_t end = (uintptr_t)(magazine->loaded->entries + magazine->loaded->room);
    return EGB_LOAD_(magazine->full) == EGB_NO_ROOM && magazine->remote == NULL &&
           top == magazine->lowest && top <= end &&
           EGB_LOAD_(((const egb_entry_*)top)->block) == egb_no_entry_()->block;
}

// It is sure from now on. One that was sure when it was looked at need not be now: its thread may
// be in a push, and another one may have taken the block. It was not counted.
void egb_magazine_settle_(egb_depot* depot, egb_magazine_* magazine)
{
    if (magazine->is_unsure) {
        magazine->is_unsure = false;
        depot->unsure--;
    }
    if (is_sure(magazine)) {
        return;
    }
    egb_peak_settle_(depot, magazine);
    egb_magazine_take_out_(depot, magazine);
    egb_magazine_drop_remote_(depot, magazine);
    magazine->lowest = (uintptr_t)magazine->loaded->entries;
    EGB_STORE_(magazine->top, magazine->lowest);
    egb_magazine_close_room_(magazine);
    egb_magazine_set_bottom_(depot, magazine, magazine->lowest);
    egb_magazine_forget_(magazine);
    // A push into a full magazine left its block there.
    EGB_STORE_(magazine->loaded->entries[magazine->loaded->room].block, egb_no_entry_()->block);
    egb_peak_leave_(depot);
}

bool egb_depot_is_bare_(const egb_depot* depot)
{
    return depot->quarantined == 0 &&
           (depot->attached == 0 || (depot->is_tight && depot->unsure == 0));
}

bool egb_depot_knows_all_(const egb_depot* depot)
{
    return depot->quarantined == 0 &&
           (depot->batch_blocks == 0 || (depot->is_tight && depot->unsure == 0));
}

// Its thread finds no block to undo, and no room, when it frees the next one: it comes to the lock.
// Whatever call it is in at this moment knows the entry that it is at, and ends as usual: it stores
// a `top` of its own, and that is the magazine's again. No entry is written to. One that is led
// aside already, or is not empty, is only read.
static void lead_aside(egb_magazine_* magazine)
{
    uintptr_t       top   = magazine->lowest;
    const uintptr_t aside = (uintptr_t)&magazine->loaded->front.aside;
    if (EGB_LOAD_(magazine->top) == top) {
        (void)__atomic_compare_exchange_n(
            &magazine->top, &top, aside, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED
        );
    }
}

bool egb_magazine_take_back_aside_(const egb_depot* depot, egb_magazine_* magazine)
{
    egb_entry_* const aside    = &magazine->loaded->front.aside;
    const bool        is_there = EGB_LOAD_(magazine->top) == (uintptr_t)(aside + 1);
    if (is_there) {
        EGB_STORE_(magazine->top, (uintptr_t)aside);
    }
    if (is_there && depot->is_checked) {
        EGB_STORE_(*EGB_LOAD_(aside->state), EGB_STATE_LIVE_);
    }
    return is_there;
}

typedef struct verdict {
    size_t held;
    size_t unsure;
} verdict;

static void judge(egb_magazine_* magazine, void* user)
{
    verdict* const sum  = user;
    magazine->is_unsure = !is_sure(magazine);
    if (magazine->is_unsure) {
        lead_aside(magazine);
    }
    sum->held += egb_magazine_count_(magazine);
    sum->unsure += magazine->is_unsure ? 1 : 0;
}

static verdict judge_all(egb_depot* depot)
{
    verdict sum = {0, 0};
    egb_each_magazine_(depot, judge, &sum);
    depot->unsure = sum.unsure;
    return sum;
}

// A thread may free a block while others are taken out, until its `top` is led aside: once more,
// then. Each time it has fewer entries left that it could undo.
void egb_depot_look_(egb_depot* depot)
{
    egb_depot_flush_(depot);
    while (!depot->is_tight || judge_all(depot).held != 0) {
        depot->is_tight    = egb_depot_reclaim_and_close_(depot);
        depot->tight_calls = 0;
        if (!depot->is_tight) {
            (void)judge_all(depot);
            return;
        }
    }
}

// SPDX-License-Identifier: MIT
// Pools that ran out of blocks: see tight.h.
#include "tight.h"

#include "peak.h"
#include "threads.h"

static size_t blocks_free(const egb_depot* depot)
{
    const egb_growing* const growing = &depot->growing;
    const size_t             limit   = growing->options.max_blocks;
    const size_t             free    = growing->capacity - growing->lost - growing->in_use;
    const size_t most = limit == 0 ? free : limit - egb_smaller_(limit, growing->in_use);
    return egb_smaller_(free, most) + depot->blocks;
}

bool egb_depot_is_tight_(egb_depot* depot)
{
    if (depot->is_tight && blocks_free(depot) >= depot->attached) {
        depot->is_tight = false;
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

// One that is not sure was not when it was looked at, either: it is sure from now on.
void egb_magazine_settle_(egb_depot* depot, egb_magazine_* magazine)
{
    if (is_sure(magazine)) {
        return;
    }
    depot->unsure -= depot->unsure == 0 ? 0 : 1;
    egb_peak_settle_(depot, magazine);
    egb_magazine_take_out_(depot, magazine);
    egb_magazine_drop_remote_(depot, magazine);
    magazine->lowest = (uintptr_t)magazine->loaded->entries;
    EGB_STORE_(magazine->top, magazine->lowest);
    egb_magazine_close_room_(magazine);
    egb_magazine_set_bottom_(depot, magazine, magazine->lowest);
    egb_magazine_forget_(magazine);
    egb_peak_leave_(depot);
}

bool egb_depot_is_bare_(const egb_depot* depot)
{
    return depot->quarantined == 0 &&
           (depot->attached == 0 || (depot->is_tight && depot->unsure == 0));
}

typedef struct verdict {
    size_t held;
    size_t unsure;
} verdict;

static void judge(egb_magazine_* magazine, void* user)
{
    verdict* const sum = user;
    sum->held += egb_magazine_count_(magazine);
    sum->unsure += is_sure(magazine) ? 0 : 1;
}

static verdict judge_all(egb_depot* depot)
{
    verdict sum = {0, 0};
    egb_each_magazine_(depot, judge, &sum);
    depot->unsure = sum.unsure;
    return sum;
}

void egb_depot_look_(egb_depot* depot)
{
    egb_depot_flush_(depot);
    if (!depot->is_tight || judge_all(depot).held != 0) {
        depot->is_tight = egb_depot_reclaim_and_close_(depot);
        (void)judge_all(depot);
    }
}

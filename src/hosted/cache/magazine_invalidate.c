// SPDX-License-Identifier: MIT
// Entries that a magazine remembers but does not hold, in chunks that may go.
#include "magazine.h"

static void invalidate(const egb_depot* depot, egb_entry_* entry)
{
    void*                   block = EGB_LOAD_(entry->block);
    const egb_chunk_* const chunk =
        block == egb_no_entry_()->block ? NULL : egb_depot_chunk_of_(depot, block);
    if (chunk != NULL && chunk->in_use == 0) {
        // Leaves the entry if the thread just put another block there. This block it will not: it
        // is free.
        (void)__atomic_compare_exchange_n(
            &entry->block, &block, egb_no_entry_()->block, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
        );
    }
}

// Invalidates entries of a batch around the ones it holds, which are from `first` to `end`. Behind
// the room one may be in a push that finds no room.
static void invalidate_around(
    const egb_depot* depot, egb_batch* batch, const egb_entry_* first, const egb_entry_* end
)
{
    for (size_t i = 0; i <= batch->room; i++) {
        egb_entry_* const entry = &batch->entries[i];
        if (entry < first || entry >= end) {
            invalidate(depot, entry);
        }
    }
}

void egb_magazine_invalidate_(const egb_depot* depot, egb_magazine_* magazine)
{
    invalidate_around(
        depot,
        magazine->loaded,
        (const egb_entry_*)magazine->lowest,
        (const egb_entry_*)EGB_LOAD_(magazine->top)
    );
    if (magazine->spare != NULL) {
        const egb_entry_* const first = magazine->spare->entries;
        invalidate_around(depot, magazine->spare, first, first + magazine->spare->count);
    }
    if (magazine->remote != NULL) {  // it may be loaded later
        invalidate_around(
            depot,
            magazine->remote,
            &magazine->remote->entries[magazine->remote_first],
            (const egb_entry_*)EGB_LOAD_(magazine->remote_top)
        );
    }
}

// SPDX-License-Identifier: MIT
// Blocks of other lanes' chunks, which wait in a magazine's remote batch. The pool is locked.
#include "magazine.h"

#include "batch.h"
#include "claims.h"

// A block that one thread allocated and another freed goes back to its lane, not to the next caller
// in the other thread: else blocks of all threads would mix in time, and threads would take the
// cache lines of states, and of small blocks, from each other.

size_t egb_magazine_count_remote_(const egb_magazine_* magazine)
{
    const egb_entry_* const top =
        (const egb_entry_*)__atomic_load_n(&magazine->remote_top, __ATOMIC_ACQUIRE);
    return magazine->remote == NULL
               ? 0
               : (size_t)(top - &magazine->remote->entries[magazine->remote_first]);
}

size_t egb_magazine_count_(const egb_magazine_* magazine)
{
    const uintptr_t top = EGB_LOAD_(magazine->top);
    const size_t held = top > magazine->lowest ? (top - magazine->lowest) / sizeof(egb_entry_) : 0;
    return held + (magazine->spare == NULL ? 0 : magazine->spare->count) +
           egb_magazine_count_remote_(magazine);
}

void egb_magazine_flush_remote_(egb_depot* depot, egb_magazine_* magazine)
{
    const size_t count = egb_magazine_count_remote_(magazine);
    for (size_t i = 0; i < count; i++) {
        egb_put_back_(depot, magazine->remote->entries[magazine->remote_first + i].block);
    }
    magazine->remote_first += (uint32_t)count;
}

void egb_magazine_drop_remote_(egb_depot* depot, egb_magazine_* magazine)
{
    if (magazine->remote != NULL) {
        egb_depot_keep_empty_(depot, magazine->lane, magazine->remote);
        magazine->remote = NULL;
    }
    EGB_STORE_(magazine->remote_top, 0);
    EGB_STORE_(magazine->remote_full, EGB_NO_ROOM);
}

// A full batch goes to the lane that most of it is likely from. The rest of a batch, after another
// thread took some, goes to the chunks.
static void ship(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const batch = magazine->remote;
    const size_t     count = egb_magazine_count_remote_(magazine);
    if (count == batch->room && egb_depot_has_room_(depot, count)) {
        batch->count = batch->room;
        egb_depot_push_(depot, egb_lane_of_batch_(batch), batch);
    } else {
        egb_magazine_flush_remote_(depot, magazine);
        egb_depot_keep_empty_(depot, magazine->lane, batch);
    }
    magazine->remote = NULL;
}

void egb_magazine_set_remote_(egb_depot* depot, egb_magazine_* magazine, egb_batch* batch)
{
    const size_t    length = magazine->remote_length;
    const uintptr_t start  = batch == NULL ? 0 : (uintptr_t)batch->entries;
    if (batch != NULL) {
        egb_batch_shorten_remote_(depot, magazine, batch);
    }
    const size_t most       = egb_claim_remote_length_(depot, magazine);
    magazine->remote_length = (uint8_t)egb_smaller_(length + 1, most);
    magazine->remote        = batch;
    magazine->remote_first  = 0;
    EGB_STORE_(magazine->remote_top, start);
    EGB_STORE_(
        magazine->remote_full,
        batch == NULL ? EGB_NO_ROOM : (uintptr_t)(batch->entries + batch->room)
    );
}

bool egb_magazine_make_room_remote_(egb_depot* depot, egb_magazine_* magazine)
{
    if (magazine->remote != NULL &&
        egb_is_above_(&magazine->remote_full, EGB_LOAD_(magazine->remote_top))) {
        return true;
    }
    if (magazine->remote != NULL) {
        ship(depot, magazine);
    }
    const size_t length = magazine->remote_length;
    egb_magazine_set_remote_(
        depot, magazine, egb_depot_empty_batch_(depot, magazine->lane, length)
    );
    return magazine->remote != NULL;
}

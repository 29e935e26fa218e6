// SPDX-License-Identifier: MIT
// What magazines have room for: see claims.h.
#include "claims.h"

#include "../region/keep.h"
#include "threads.h"

bool egb_magazine_is_of_thread_(const egb_magazine_* magazine)
{
    const egb_thread_* const thread = egb_thread_self_();
    return (uintptr_t)magazine - (uintptr_t)thread < sizeof *thread;
}

// The bytes that a batch claims. Beside one of full length there is a spare one as a rule.
static size_t claim_of(const egb_depot* depot, const egb_batch* batch)
{
    const size_t batches = batch == NULL ? 0 : batch->room == depot->batch_blocks ? 2 : 1;
    return batches == 0 ? 0 : batches * batch->room * depot->block_bytes;
}

static void claim_room(size_t more, size_t less)
{
    if (more != less) {
        (void)__atomic_add_fetch(&egb_threads_.claimed, more - less, __ATOMIC_RELAXED);
    }
}

void egb_magazine_close_room_(egb_magazine_* magazine)
{
    if (EGB_LOAD_(magazine->full) != EGB_NO_ROOM) {
        claim_room(0, claim_of(magazine->depot, magazine->loaded));
        EGB_STORE_(magazine->full, EGB_NO_ROOM);
    }
}

// A closed magazine has no claim, but its thread still counts the batch as its own.
void egb_claim_change_(
    const egb_depot* depot, const egb_magazine_* magazine, const egb_batch* batch
)
{
    const size_t more      = claim_of(depot, batch);
    const size_t less      = claim_of(depot, magazine->loaded);
    const bool   is_closed = EGB_LOAD_(magazine->full) == EGB_NO_ROOM;
    claim_room(more, is_closed ? 0 : less);
    if (egb_magazine_is_of_thread_(magazine)) {
        egb_thread_self_()->room_bytes += more - less;
    }
}

// All threads together may have so many bytes in batches, and more if no two of them share a lane;
// but each may have a few. What threads claimed that do nothing is claimed by others only once the
// purge has closed their magazines.
static const size_t ROOM_BYTES_OF_MANY = (sizeof(void*) < 8 ? 4 : 16) << 20;
static const size_t ROOM_BYTES_OF_FEW  = (sizeof(void*) < 8 ? 16 : 64) << 20;
static const size_t ROOM_BYTES_LEAST   = 32 << 10;

static size_t thread_count(void)
{
    return egb_larger_(EGB_LOAD_(egb_threads_.count), 1);
}

static size_t bytes_of_all(void)
{
    const bool is_few = thread_count() <= EGB_LANES;
    return egb_smaller_(is_few ? ROOM_BYTES_OF_FEW : ROOM_BYTES_OF_MANY, egb_keep_share_());
}

static size_t part_of_thread(void)
{
    return egb_larger_(bytes_of_all() / thread_count(), ROOM_BYTES_LEAST);
}

bool egb_claim_is_allowed_(size_t bytes)
{
    const size_t own = egb_thread_self_()->room_bytes + bytes;
    return own <= ROOM_BYTES_LEAST ||
           (own <= part_of_thread() && EGB_LOAD_(egb_threads_.claimed) + bytes <= bytes_of_all());
}

bool egb_claim_is_too_much_(void)
{
    return egb_thread_self_()->room_bytes > part_of_thread() &&
           EGB_LOAD_(egb_threads_.claimed) > bytes_of_all();
}

// A thread that has its part keeps a few blocks of each further pool. What it may not have is told
// by an entry of no block, as at the end of each batch. So are all behind it: they are in no room
// that is looked through when chunks go, and the batch is made long again later.
void egb_batch_shorten_(const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch)
{
    enum { ROOM_SHORT = 3 };
    if (batch->room > ROOM_SHORT && egb_magazine_is_of_thread_(magazine) &&
        !egb_claim_is_allowed_(batch->room * depot->block_bytes)) {
        for (size_t i = ROOM_SHORT; i <= batch->room; i++) {
            batch->entries[i] = *egb_no_entry_();
        }
        batch->room = ROOM_SHORT;
    }
}

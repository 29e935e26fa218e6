// SPDX-License-Identifier: MIT
// Access to private parts of the library: see cuts.h.
#include "cuts.h"

#include "cache/batch.h"
#include "cache/claims.h"
#include "cache/threads.h"
#include "pool/free.h"

static egb_magazine_* own_magazine(egb_pool pool)
{
    return egb_magazine_of_key_(egb_pool_key_(pool));
}

void begin_free(egb_pool pool, void* block)
{
    unsigned char* state;
    if (egb_find_live_(&egb_unit_of_(block)->shape, block, &state)) {
        (void)egb_add_entry_(&own_magazine(pool)->top, block, state, true);
    }
}

void end_free(egb_pool pool, void* block)
{
    egb_magazine_* const magazine = own_magazine(pool);
    if (egb_is_above_(&magazine->full, EGB_LOAD_(magazine->top) - sizeof(egb_entry_))) {
        egb_count_one_(&magazine->frees);
    } else {
        egb_free_ended_(magazine, pool, NULL, block, NULL);
    }
}

cold_code code_of_end(void)
{
    return (cold_code)egb_free_ended_;
}

ptrdiff_t room_left(egb_pool pool)
{
    const egb_magazine_* const magazine = own_magazine(pool);
    const egb_entry_* const    end      = magazine->loaded->entries + magazine->loaded->room;
    return end - (const egb_entry_*)EGB_LOAD_(magazine->top);
}

size_t room_of(egb_pool pool)
{
    return own_magazine(pool)->loaded->room;
}

const void* behind_room(egb_pool pool)
{
    const egb_batch* const batch = own_magazine(pool)->loaded;
    return EGB_LOAD_(batch->entries[batch->room].block);
}

size_t remembered_behind_room(egb_pool pool)
{
    const egb_batch* const batch = own_magazine(pool)->loaded;
    size_t                 count = 0;
    for (size_t i = batch->room; i <= egb_batch_rooms_[batch->length]; i++) {
        count += EGB_LOAD_(batch->entries[i].block) != egb_no_entry_()->block;
    }
    return count;
}

size_t room_when_shortened(egb_pool pool, size_t held)
{
    const egb_magazine_* const magazine = own_magazine(pool);
    const egb_depot* const     depot    = magazine->depot;
    egb_batch* const batch = egb_batch_new_(0, depot->batch_blocks, EGB_BATCH_LENGTHS - 1);
    batch->count           = (uint32_t)held;
    egb_batch_shorten_(depot, magazine, batch);
    const size_t room = batch->room;
    batch->count      = 0;
    egb_batch_drop_(batch);
    return room;
}

bool may_claim(size_t bytes)
{
    return bytes <= egb_claim_allowed_(egb_thread_self_()->room_bytes);
}

size_t claimed_bytes(void)
{
    return EGB_LOAD_(egb_threads_.claimed);
}

// SPDX-License-Identifier: MIT
// The depot of a pool: full and empty batches on their way between magazines and chunks. The pool
// is locked.
#include "depot.h"

#include "../region/keep.h"
#include "../region/obtain.h"
#include "split.h"

// ---- back to the chunks -------------------------------------------------------------------------

// The chunk that a block of a batch returns to. NULL: the address is in no chunk of the pool, as a
// misused free at level "off" leaves it; the caller drops such a block, as one that the chunk
// already has. Static memory is in no map: it need not be whole units.
egb_chunk_* egb_depot_chunk_of_(const egb_depot* depot, const void* address)
{
    return depot->is_static ? egb_growing_chunk_of_(&depot->growing, address)
                            : egb_chunk_map_find_(depot->key, address);
}

static void put_run(egb_chunk_* chunk, void* const* blocks, size_t count)
{
    if (chunk != NULL) {
        egb_growing_put_run_(chunk, blocks, count);
    }
}

void egb_put_back_(egb_depot* depot, void* block)
{
    put_run(egb_depot_chunk_of_(depot, block), &block, 1);
}

// A block freed a while ago is in no processor's cache, and the next one is elsewhere: blocks that
// will be touched are prefetched, or each would be waited for.
void egb_batch_flush_(egb_depot* depot, egb_batch* batch)
{
    enum { AHEAD = 8, RUN_BLOCKS = 64 };  // few: the thread's stack may be short
    const uint32_t fetched = egb_touches_free_(&depot->growing.options) ? batch->count : 0;
    void*          run[RUN_BLOCKS];
    size_t         count = 0;
    egb_chunk_*    chunk = NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        void* const block = batch->entries[i].block;
        if (i + AHEAD < fetched) {
            __builtin_prefetch(batch->entries[i + AHEAD].block, 1);
        }
        // Neighbours are often of one chunk.
        if (chunk == NULL || count == RUN_BLOCKS || !egb_chunk_has_(chunk, block)) {
            put_run(chunk, run, count);
            count = 0;
            chunk = egb_depot_chunk_of_(depot, block);
        }
        run[count++] = block;
    }
    put_run(chunk, run, count);
    batch->count = 0;
}

// ---- in and out ---------------------------------------------------------------------------------

size_t egb_depot_blocks_(const egb_depot* depot)
{
    return depot->blocks + depot->quarantined;
}

size_t egb_depot_out_(const egb_depot* depot)
{
    return depot->growing.in_use - egb_depot_blocks_(depot);
}

// After so many puts every batch could have been out in the meantime. Blocks that stayed in all
// along are not needed: the working set of Bonwick and Adams (USENIX 2001), measured in exchanges,
// not in time. If they are many, later batches go to their chunks, so that chunks become free.
// Nothing is taken out.
void egb_depot_end_window_(egb_depot* depot)
{
    const size_t depot_max = EGB_DEPOT_BATCHES_MAX * depot->batch_blocks;
    const size_t many      = egb_smaller_(depot->growing.capacity / 4, depot_max / 2);
    const bool   can_give  = !depot->is_static;
    if (can_give && depot->least > many) {
        depot->is_gathering = true;
    }
    depot->least = depot->blocks;
    depot->puts  = 0;
}

static void push_full(egb_depot* depot, size_t lane, egb_batch* batch)
{
    egb_batch_push_(&egb_depot_lane_(depot, lane)->full, batch);
    if (depot->is_split) {
        depot->parts[lane].of.full++;
    }
}

static egb_batch* pop_full(egb_depot* depot, size_t lane)
{
    egb_batch* const batch = egb_batch_pop_(&egb_depot_lane_(depot, lane)->full);
    if (batch != NULL && depot->is_split) {
        depot->parts[lane].of.full--;
    }
    return batch;
}

void egb_depot_push_(egb_depot* depot, size_t lane, egb_batch* batch)
{
    push_full(depot, lane, batch);
    depot->batches++;
    depot->blocks += batch->count;
    depot->puts++;
    if (depot->puts >= EGB_DEPOT_BATCHES_MAX) {
        egb_depot_end_window_(depot);
    }
}

egb_batch* egb_depot_pop_(egb_depot* depot, size_t lane)
{
    if (depot->is_split) {
        egb_split_share_full_(depot, lane);
    }
    egb_batch* batch = pop_full(depot, lane);
    for (size_t i = 0; batch == NULL && depot->batches != 0; i++) {
        batch = pop_full(depot, i);
    }
    if (batch != NULL) {
        depot->batches--;
        depot->blocks -= batch->count;
        depot->least = (uint32_t)egb_smaller_(depot->least, depot->blocks);
    }
    return batch;
}

void egb_depot_keep_empty_(egb_depot* depot, size_t lane, egb_batch* batch)
{
    if (batch != NULL) {
        egb_batch_push_(&egb_depot_lane_(depot, lane)->empty, batch);
    }
}

// Shorter ones go: the threads that had them need longer ones by now.
egb_batch* egb_depot_pop_empty_(const egb_depot* depot, egb_lane* lane, size_t length)
{
    egb_batch* batch = egb_batch_pop_(&lane->empty);
    while (batch != NULL && batch->length < length && batch->room < depot->batch_blocks) {
        egb_batch_drop_(batch);
        batch = egb_batch_pop_(&lane->empty);
    }
    if (batch != NULL) {
        batch->count = 0;
        batch->room  = (uint16_t)egb_smaller_(depot->batch_blocks, egb_batch_rooms_[batch->length]);
    }
    return batch;
}

// If one thread allocates and another frees, all empty batches are in the first thread's lane.
static egb_batch* find_empty(egb_depot* depot, size_t lane, size_t length)
{
    if (depot->is_split) {
        egb_split_share_empty_(depot, lane);
    }
    egb_batch* batch = egb_depot_pop_empty_(depot, egb_depot_lane_(depot, lane), length);
    for (size_t i = 0; batch == NULL && i < EGB_LANES; i++) {
        batch = egb_depot_pop_empty_(depot, egb_depot_lane_(depot, i), length);
    }
    return batch != NULL ? batch : egb_batch_new_(lane, depot->batch_blocks, length);
}

egb_batch* egb_depot_empty_batch_(egb_depot* depot, size_t lane, size_t length)
{
    egb_batch* const batch = find_empty(depot, lane, length);
    if (batch == NULL) {
        (void)egb_may_obtain_();  // reported: during the freeze calls will take the lock more often
    }
    return batch;
}

static void drop_empty_batches(egb_depot* depot)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_batch** const list = &egb_depot_lane_(depot, lane)->empty;
        while (*list != NULL) {
            egb_batch_drop_(egb_batch_pop_(list));
        }
    }
}

void egb_depot_flush_(egb_depot* depot)
{
    while (depot->batches != 0) {
        egb_batch* const batch = egb_depot_pop_(depot, 0);
        egb_batch_flush_(depot, batch);
        egb_batch_drop_(batch);
    }
    drop_empty_batches(depot);
}

void egb_depot_drop_(egb_depot* depot)
{
    while (depot->batches != 0) {
        egb_batch_drop_(egb_depot_pop_(depot, 0));
    }
    drop_empty_batches(depot);
}

// ---- room ---------------------------------------------------------------------------------------

// Lanes with locks of their own need a stock each, or the lock of the whole is taken all the same.
static size_t stock_of_lanes(const egb_depot* depot)
{
    enum { PART_OF_POOL = 8, PART_OF_SHARE = 16 };
    const size_t bytes = depot->growing.in_use * depot->growing.options.block_bytes;
    return depot->is_split ? egb_smaller_(bytes / PART_OF_POOL, egb_keep_share_() / PART_OF_SHARE)
                           : 0;
}

// With states, blocks come back from their chunks in order of address, which pays if many are on a
// page. Taking them from few chunks pays if others are to become free. Otherwise each block costs a
// cache miss. A pool with one thread saves no wait for the lock by the depot. A block that waits
// here keeps its chunk from becoming free: the heap, with its many pools, has less.
size_t egb_depot_bytes_max_(const egb_depot* depot)
{
    const bool is_short = depot->growing.options.block_bytes < EGB_UNMARKED_BYTES;
    if (!depot->is_gathering && !(depot->is_checked && is_short)) {
        const size_t stock = is_short ? 0 : stock_of_lanes(depot);
        return depot->is_shared ? egb_larger_(stock, EGB_DEPOT_BYTES_SHARED) : SIZE_MAX;
    }
    const bool is_alone = depot->attached == 1 && depot->is_checked;
    return is_alone           ? EGB_DEPOT_BYTES_ALONE
           : depot->is_shared ? EGB_DEPOT_BYTES_SHARED
                              : EGB_DEPOT_BYTES_MAX;
}

// If blocks are many, half a batch is worth its place; smaller batches could become too many.
bool egb_depot_has_room_(const egb_depot* depot, size_t blocks)
{
    const size_t most =
        egb_is_half_full_(depot, blocks) ? EGB_DEPOT_BATCHES_MAX : EGB_DEPOT_SMALL_MAX;
    return blocks != 0 && depot->batches < most &&
           depot->blocks * depot->growing.options.block_bytes < egb_depot_bytes_max_(depot);
}

egb_batch* egb_depot_exchange_(egb_depot* depot, size_t lane, egb_batch* batch)
{
    const bool       has_room = egb_depot_has_room_(depot, batch->count);
    egb_batch* const empty    = has_room ? find_empty(depot, lane, batch->length) : NULL;
    if (empty == NULL) {
        egb_batch_flush_(depot, batch);
        return batch;
    }
    egb_depot_push_(depot, lane, batch);
    return empty;
}

// The heap has many pools, and in many programs all threads end at one time: the blocks that they
// leave would be one or two in each chunk, and hold it. A few blocks make the start of the next
// thread faster. A thread that waits for a block finds it in its chunk.
static bool may_leave(const egb_depot* depot, size_t blocks)
{
    return egb_depot_has_room_(depot, blocks) && !egb_depot_is_waited_for_(depot) &&
           (!depot->is_shared ||
            (depot->blocks + blocks) * depot->block_bytes <= EGB_DEPOT_BYTES_LEFT);
}

void egb_depot_keep_or_flush_(egb_depot* depot, size_t lane, egb_batch* batch)
{
    if (may_leave(depot, batch->count)) {
        egb_depot_push_(depot, lane, batch);
    } else {
        egb_batch_flush_(depot, batch);
        egb_batch_drop_(batch);
    }
}

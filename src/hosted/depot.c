// SPDX-License-Identifier: MIT
// The depot of a pool: whole batches of free blocks, and empty ones, on their way between magazines
// and chunks. Everything here runs with the pool locked.
#include "depot.h"
#include "guard.h"
#include "seal.h"

// ---- home ---------------------------------------------------------------------------------------

// What its thread put in a batch goes back to its chunk. What is in no chunk of the pool, at level
// "off" the trace of a free that was misuse, is dropped here; so is what the chunk has already.
static void put_run(egb_chunk_* chunk, void* const* blocks, size_t count)
{
    if (chunk != NULL) {
        egb_growing_put_run(chunk, blocks, count);
    }
}

void egb_put_back(egb_control* control, void* block)
{
    put_run(egb_chunk_in(control, block), &block, 1);
}

// A block that was freed a while ago is in no cache, and the next one elsewhere: where they are
// touched they are fetched ahead, or each is waited for.
void egb_batch_flush(egb_control* control, egb_batch* batch)
{
    enum { AHEAD = 8 };
    const uint32_t fetched = egb_touches_free(&control->growing.options) ? batch->count : 0;
    void*          run[EGB_MAGAZINE_BLOCKS_MAX];
    size_t         count = 0;
    egb_chunk_*    chunk = NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        void* const block = batch->entries[i].block;
        if (i + AHEAD < fetched) {
            __builtin_prefetch(batch->entries[i + AHEAD].block, 1);
        }
        if (chunk == NULL || !egb_chunk_has(chunk, block)) {  // neighbours often are of one
            put_run(chunk, run, count);
            count = 0;
            chunk = egb_chunk_in(control, block);
        }
        run[count++] = block;
    }
    put_run(chunk, run, count);
    batch->count = 0;
}

// ---- in and out ---------------------------------------------------------------------------------

size_t egb_depot_blocks(const egb_control* control)
{
    return control->depot_blocks + egb_quarantine_count(control);
}

static egb_batch* pop_batch(egb_batch** list)
{
    egb_batch* const batch = *list;
    if (batch != NULL) {
        *list = batch->next;
    }
    return batch;
}

static void push_batch(egb_batch** list, egb_batch* batch)
{
    batch->next = *list;
    *list       = batch;
}

// After so many puts every batch could have been out in the meantime. Blocks that never were are
// not needed: the working set of Bonwick and Adams (USENIX 2001), by exchanges in place of time. If
// they are many, others go home from now on, so that chunks become free. Nothing is taken out.
static void end_window(egb_control* control)
{
    const size_t depot_max = EGB_DEPOT_BATCHES_MAX * control->batch_blocks;
    const size_t many      = egb_smaller(control->growing.capacity / 4, depot_max / 2);
    const bool   can_give  = control->memory.region == NULL;
    if (can_give && control->depot_least > many) {
        control->is_gathering = true;
    }
    control->depot_least = control->depot_blocks;
    control->depot_puts  = 0;
}

void egb_depot_push(egb_control* control, size_t lane, egb_batch* batch)
{
    push_batch(&control->lanes[lane].full, batch);
    control->depot_batches++;
    control->depot_blocks += batch->count;
    control->depot_puts++;
    if (control->depot_puts == EGB_DEPOT_BATCHES_MAX) {
        end_window(control);
    }
}

egb_batch* egb_depot_pop(egb_control* control, size_t lane)
{
    egb_batch* batch = pop_batch(&control->lanes[lane].full);
    for (size_t i = 0; batch == NULL && control->depot_batches != 0; i++) {
        batch = pop_batch(&control->lanes[i].full);
    }
    if (batch != NULL) {
        control->depot_batches--;
        control->depot_blocks -= batch->count;
        control->depot_least = (uint32_t)egb_smaller(control->depot_least, control->depot_blocks);
    }
    return batch;
}

void egb_depot_keep_empty(egb_control* control, size_t lane, egb_batch* batch)
{
    if (batch != NULL) {
        push_batch(&control->lanes[lane].empty, batch);
    }
}

// Where one thread allocates and another frees, the empty ones are all in the first one's lane.
static egb_batch* find_empty(egb_control* control, size_t lane)
{
    egb_batch* batch = pop_batch(&control->lanes[lane].empty);
    for (size_t i = 0; batch == NULL && i < EGB_LANES; i++) {
        batch = pop_batch(&control->lanes[i].empty);
    }
    if (batch == NULL) {
        return egb_batch_new(lane, control->batch_blocks);
    }
    batch->count = 0;
    return batch;
}

egb_batch* egb_depot_empty_batch(egb_control* control, size_t lane)
{
    egb_batch* const batch = find_empty(control, lane);
    if (batch == NULL) {
        (void)egb_may_ask();  // a sealed process is told: calls will take the lock more often
    }
    return batch;
}

static void drop_empty_batches(egb_control* control)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        while (control->lanes[lane].empty != NULL) {
            egb_batch_drop(pop_batch(&control->lanes[lane].empty));
        }
    }
}

void egb_depot_flush(egb_control* control)
{
    while (control->depot_batches != 0) {
        egb_batch* const batch = egb_depot_pop(control, 0);
        egb_batch_flush(control, batch);
        egb_batch_drop(batch);
    }
    drop_empty_batches(control);
}

void egb_depot_drop(egb_control* control)
{
    while (control->depot_batches != 0) {
        egb_batch_drop(egb_depot_pop(control, 0));
    }
    drop_empty_batches(control);
}

// ---- room ---------------------------------------------------------------------------------------

// With states blocks come back from their chunks in order of address, which is worth the way home
// where many are on a page. Any come back out of few chunks, which is worth it where others are to
// become free. Else it is a line in no cache for each of them. To a thread alone the depot saves no
// wait for the lock.
static size_t depot_bytes_max(const egb_control* control)
{
    const bool is_short = control->growing.options.block_bytes < EGB_UNMARKED_BYTES;
    if (!control->is_gathering && !(control->is_checked && is_short)) {
        return SIZE_MAX;
    }
    const bool is_alone = control->attached == 1 && control->is_checked;
    return is_alone ? EGB_DEPOT_BYTES_ALONE : EGB_DEPOT_BYTES_MAX;
}

// Where there are many, half a batch is worth its place; of less there could be too many.
bool egb_depot_has_room(const egb_control* control, size_t blocks)
{
    const size_t most =
        egb_is_half_full(control, blocks) ? EGB_DEPOT_BATCHES_MAX : EGB_DEPOT_SMALL_MAX;
    return blocks != 0 && control->depot_batches < most &&
           control->depot_blocks * control->growing.options.block_bytes < depot_bytes_max(control);
}

egb_batch* egb_depot_exchange(egb_control* control, size_t lane, egb_batch* batch)
{
    const bool       has_room = egb_depot_has_room(control, batch->count);
    egb_batch* const empty    = has_room ? find_empty(control, lane) : NULL;
    if (empty == NULL) {
        egb_batch_flush(control, batch);
        return batch;
    }
    egb_depot_push(control, lane, batch);
    return empty;
}

void egb_depot_keep_or_flush(egb_control* control, size_t lane, egb_batch* batch)
{
    if (egb_depot_has_room(control, batch->count)) {
        egb_depot_push(control, lane, batch);
    } else {
        egb_batch_flush(control, batch);
        egb_batch_drop(batch);
    }
}

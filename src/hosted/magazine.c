// SPDX-License-Identifier: MIT
// Magazines and the depot they exchange whole batches with. Everything here runs with the pool
// locked.
#include "guard.h"

// ---- blocks in and out of chunks ----------------------------------------------------------------

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

void* egb_take_from_chunks(egb_control* control, egb_chunk_** chunk)
{
    if (control->damage.was_found) {
        return NULL;
    }
    return egb_growing_take(&control->growing, chunk, &control->damage);
}

// At least one block, unless there is none to be had: all of one chunk.
static size_t take_run(egb_control* control, egb_chunk_** chunk, void** blocks, size_t count)
{
    const size_t taken = egb_growing_take_run(&control->growing, chunk, blocks, count);
    if (taken != 0) {
        return taken;
    }
    blocks[0] = egb_take_from_chunks(control, chunk);
    return blocks[0] != NULL ? 1 : 0;
}

static void
set_entries(egb_entry_* entries, const egb_chunk_* chunk, void* const* blocks, size_t count)
{
    const egb_shape_ shape = chunk->shape;  // a copy is in registers: no entry can be part of it
    for (size_t i = 0; i < count; i++) {
        entries[i].block = blocks[i];
        if (shape.states != NULL) {
            entries[i].state = shape.states + egb_shape_index_(&shape, blocks[i]);
        }
    }
}

size_t egb_depot_blocks(const egb_control* control)
{
    return control->depot_blocks + egb_quarantine_count(control);
}

void egb_note_peak(egb_control* control)
{
    const size_t out = control->growing.in_use - egb_depot_blocks(control);
    if (out > control->peak) {
        control->peak = out;
    }
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

static void depot_push(egb_control* control, size_t lane, egb_batch* batch)
{
    push_batch(&control->lanes[lane].full, batch);
    control->depot_batches++;
    control->depot_blocks += batch->count;
}

// A batch that this thread, or at least its lane, filled is in its processor's cache.
static egb_batch* depot_pop(egb_control* control, size_t lane)
{
    egb_batch* batch = pop_batch(&control->lanes[lane].full);
    for (size_t i = 0; batch == NULL && control->depot_batches != 0; i++) {
        batch = pop_batch(&control->lanes[i].full);
    }
    if (batch != NULL) {
        control->depot_batches--;
        control->depot_blocks -= batch->count;
    }
    return batch;
}

// Empty batches stay with the pool, whose lock is held already: the workshop's is one for all
// pools, and threads that have nothing in common would meet there.
static void keep_empty(egb_control* control, size_t lane, egb_batch* batch)
{
    if (batch != NULL) {
        push_batch(&control->lanes[lane].empty, batch);
    }
}

// Where one thread allocates and another frees, the empty ones are all in the first one's lane.
static egb_batch* empty_batch(egb_control* control, size_t lane)
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
        egb_batch* const batch = depot_pop(control, 0);
        egb_batch_flush(control, batch);
        egb_batch_drop(batch);
    }
    drop_empty_batches(control);
}

void egb_depot_drop(egb_control* control)
{
    while (control->depot_batches != 0) {
        egb_batch_drop(depot_pop(control, 0));
    }
    drop_empty_batches(control);
}

egb_chunk_* egb_take_one(egb_control* control, egb_entry_* entry)
{
    if (control->depot_batches != 0) {
        egb_depot_flush(control);
    }
    egb_chunk_* chunk;
    void*       block = egb_take_from_chunks(control, &chunk);
    if (block == NULL) {
        return NULL;
    }
    set_entries(entry, chunk, &block, 1);
    egb_note_peak(control);
    return chunk;
}

// ---- a magazine ---------------------------------------------------------------------------------

void egb_magazine_set_bottom(const egb_control* control, egb_magazine_* magazine, uintptr_t bottom)
{
    const uintptr_t none = (uintptr_t)INTPTR_MAX;  // at level "off" entries have no states
    EGB_STORE_(magazine->bottom, control->is_checked ? none : bottom);
    EGB_STORE_(magazine->bottom_checked, control->is_checked ? bottom : none);
}

// Puts `batch` into the magazine, with the blocks that are in it.
static void load(const egb_control* control, egb_magazine_* magazine, egb_batch* batch)
{
    magazine->loaded = batch;
    magazine->lowest = (uintptr_t)batch->entries;
    EGB_STORE_(magazine->top, (uintptr_t)(batch->entries + batch->count));
    EGB_STORE_(magazine->full, (uintptr_t)(batch->entries + control->batch_blocks));
    egb_magazine_set_bottom(control, magazine, magazine->lowest);
}

// Takes the batch out, with the count of what is in it, moved to its start. In the child of a fork
// the magazine's thread may have been in a pop of an empty one: then `top` is below all entries.
static egb_batch* unload(egb_magazine_* magazine)
{
    egb_batch* const  batch = magazine->loaded;
    const uintptr_t   top   = EGB_LOAD_(magazine->top);
    const egb_entry_* from  = (const egb_entry_*)magazine->lowest;
    const egb_entry_* end   = top < magazine->lowest ? from : (const egb_entry_*)top;
    batch->count            = (uint32_t)(end - from);
    for (uint32_t i = 0; from != batch->entries && i < batch->count; i++) {
        batch->entries[i] = from[i];
    }
    return batch;
}

// What a thread of this lane left, if there is room in it; else an empty one. NULL: refused.
static egb_batch* first_batch(egb_control* control, size_t lane)
{
    const egb_batch* const left = control->lanes[lane].full;
    if (left == NULL || 2 * (size_t)left->count > control->batch_blocks) {
        return empty_batch(control, lane);
    }
    egb_batch* const batch = depot_pop(control, lane);
    egb_note_peak(control);
    return batch;
}

// Whose blocks it gets from now on.
static void enter_lane_of_caller(const egb_control* control, egb_magazine_* magazine, uint64_t key)
{
    const size_t lane = egb_thread_self_()->lane;
    magazine->lane    = (uint16_t)lane;
    EGB_STORE_(magazine->home, egb_key_in_lane(key, egb_has_own_chunks(control) ? lane : 0));
}

bool egb_magazine_attach_other_(egb_control* control, egb_magazine_* magazine, egb_pool pool)
{
    if (magazine == NULL || control->batch_blocks == 0) {
        return false;
    }
    const size_t     lane  = egb_thread_self_()->lane;
    egb_batch* const batch = first_batch(control, lane);
    if (batch == NULL) {
        return false;
    }
    magazine->spare = NULL;
    magazine->wish  = 1;
    magazine->away  = NULL;
    EGB_STORE_(magazine->away_top, 0);
    EGB_STORE_(magazine->away_full, EGB_NO_ROOM);
    EGB_STORE_(magazine->frees, 0);
    load(control, magazine, batch);
    control->attached++;
    EGB_STORE_(magazine->control, control);
    // At level "off" the handle; else one, made up or not, that leads to another magazine.
    const uint64_t key = egb_pool_key_(pool);
    enter_lane_of_caller(control, magazine, key);
    EGB_STORE_(magazine->open_key, control->is_checked ? key ^ EGB_SLOT_STEP_ : key);
    EGB_STORE_(magazine->key, key);
    return true;
}

static bool is_half_full(const egb_control* control, size_t blocks)
{
    return 2 * blocks >= control->batch_blocks;
}

// Short blocks with states come back from their chunks in order of address, which is worth the way
// home; and to a thread alone the depot saves no wait for the lock. Any others would come back as
// they are, each by way of a line in no cache, its own or that of its state.
static size_t depot_bytes_max(const egb_control* control)
{
    if (!control->is_checked || control->growing.options.block_bytes >= EGB_UNMARKED_BYTES) {
        return SIZE_MAX;
    }
    return control->attached == 1 ? EGB_DEPOT_BYTES_ALONE : EGB_DEPOT_BYTES_MAX;
}

// Where there are many, half a batch is worth its place; of less there could be too many.
static bool has_room_in_depot(const egb_control* control, size_t blocks)
{
    const size_t most = is_half_full(control, blocks) ? EGB_DEPOT_BATCHES_MAX : EGB_DEPOT_SMALL_MAX;
    return blocks != 0 && control->depot_batches < most &&
           control->depot_blocks * control->growing.options.block_bytes < depot_bytes_max(control);
}

static void keep_or_flush(egb_control* control, size_t lane, egb_batch* batch)
{
    if (has_room_in_depot(control, batch->count)) {
        depot_push(control, lane, batch);
    } else {
        egb_batch_flush(control, batch);
        egb_batch_drop(batch);
    }
}

// Of less than half a batch the blocks may be what was left of a line of states, in which another
// thread has some: the next thread is not to begin with those.
static void leave_spare(egb_control* control, egb_magazine_* magazine)
{
    egb_batch* const spare = magazine->spare;
    if (!is_half_full(control, spare->count)) {
        egb_batch_flush(control, spare);
    }
    keep_or_flush(control, magazine->lane, spare);
}

// No call finds its pool here any more, and no entry is for the taking.
static void end_magazine(egb_magazine_* magazine)
{
    EGB_STORE_(magazine->key, EGB_NO_KEY_);
    EGB_STORE_(magazine->home, EGB_NO_KEY_);
    EGB_STORE_(magazine->open_key, EGB_NO_KEY_);
    EGB_STORE_(magazine->bottom, (uintptr_t)INTPTR_MAX);
    EGB_STORE_(magazine->bottom_checked, (uintptr_t)INTPTR_MAX);
    EGB_STORE_(magazine->full, EGB_NO_ROOM);
    EGB_STORE_(magazine->away_full, EGB_NO_ROOM);
}

void egb_magazine_clear(egb_magazine_* magazine)
{
    end_magazine(magazine);
    EGB_STORE_(magazine->top, (uintptr_t)egb_no_entry());
    EGB_STORE_(magazine->frees, 0);
}

void egb_magazine_discard(egb_control* control, egb_magazine_* magazine)
{
    end_magazine(magazine);
    egb_magazine_detach(control, magazine);
}

void egb_magazine_detach(egb_control* control, egb_magazine_* magazine)
{
    const bool is_revoked = EGB_LOAD_(magazine->key) == EGB_NO_KEY_;
    if (!is_revoked) {
        egb_magazine_flush_away(control, magazine);
    }
    egb_batch_drop(magazine->away);
    magazine->away = NULL;
    if (is_revoked) {
        egb_batch_drop(magazine->loaded);
        egb_batch_drop(magazine->spare);
    } else {
        if (magazine->spare != NULL) {
            leave_spare(control, magazine);
        }
        keep_or_flush(control, magazine->lane, unload(magazine));
        control->frees += magazine->frees;
    }
    egb_magazine_clear(magazine);
    EGB_STORE_(magazine->control, NULL);  // last: others look for their pool's magazines by it
    egb_magazine_left(control);
}

// Whether a run that was just taken is one of fresh blocks, the last ones of those touched.
static bool is_fresh(const egb_chunk_* chunk, void* const* run, size_t count)
{
    const size_t last = egb_chunk_index(chunk, run[count - 1]);
    return last + 1 == egb_fixed_touched(&chunk->fixed) &&
           last - egb_chunk_index(chunk, run[0]) == count - 1;
}

// What its thread puts there at this moment belongs to the dead pool, too.
void egb_magazine_revoke(egb_control* control, egb_magazine_* magazine)
{
    end_magazine(magazine);
    for (size_t i = 0; i < control->batch_blocks; i++) {  // a cache's key is not asked for
        EGB_STORE_(magazine->loaded->entries[i].block, egb_no_entry()->block);
    }
}

enum { RUN_BYTES_MAX = 64 << 10 };

// The most blocks to take out of chunks at once: no more than those of a line of states. Where they
// are touched if they were in use before, each may have a page of its own: the larger, the fewer.
static size_t run_blocks_max(const egb_control* control)
{
    const egb_growing_options* const options = &control->growing.options;
    size_t blocks = egb_smaller(control->batch_blocks, EGB_STATES_IN_LINE);
    if (egb_touches_free(options)) {
        blocks = egb_smaller(blocks, RUN_BYTES_MAX / options->block_bytes);
    }
    return egb_larger(blocks, 1);
}

// Blocks ahead of their use are taken from chunks that are there: only for the first of them may
// the system be asked.
static void fill_from_chunks(egb_control* control, egb_magazine_* magazine, egb_batch* batch)
{
    uint32_t count  = 0;
    bool     is_end = false;
    if (control->attached > 1 && egb_has_own_chunks(control)) {
        egb_lane_prefer_own_chunk(control, magazine->lane);
    }
    while (count < magazine->wish && !is_end && (count == 0 || control->growing.available != NULL)
    ) {
        egb_chunk_*  chunk;
        void*        run[EGB_STATES_IN_LINE];
        const size_t taken = take_run(control, &chunk, run, magazine->wish - count);
        if (taken == 0) {
            break;
        }
        const bool is_new = is_fresh(chunk, run, taken);
        // Where a line of states ends: the next ones are for another thread.
        is_end = (is_new && egb_chunk_fresh_in_line(chunk) == EGB_STATES_IN_LINE) ||
                 egb_has_long_groups(chunk);
        if (is_new || control->is_checked) {
            egb_part_neighbours(run, taken);  // they are in the order of address
        }
        set_entries(&batch->entries[count], chunk, run, taken);
        count += (uint32_t)taken;
    }
    batch->count = count;
    egb_batch_turn_around(batch);
    const size_t twice = 2 * (size_t)magazine->wish;
    const size_t most  = run_blocks_max(control);
    magazine->wish     = (uint16_t)(twice < most ? twice : most);
}

// The first blocks of a pool's second thread are not in the line where those of its first are, if
// a line's are not much memory to keep for it.
static void step_aside(egb_control* control, egb_magazine_* magazine)
{
    const size_t run_bytes    = EGB_STATES_IN_LINE * control->growing.options.block_bytes;
    const bool   is_unlimited = control->growing.options.max_blocks == 0;
    const bool   is_new       = magazine->wish == 1 && magazine->spare == NULL;
    const bool   is_small =
        run_bytes <= RUN_BYTES_MAX && run_blocks_max(control) == EGB_STATES_IN_LINE;
    if (control->attached > 1 && control->is_checked && is_unlimited && is_new && is_small) {
        magazine->wish  = EGB_STATES_IN_LINE;
        magazine->spare = egb_batch_new(magazine->lane, control->batch_blocks);
        if (magazine->spare != NULL) {
            fill_from_chunks(control, magazine, magazine->spare);
        }
    }
}

// Whether to look in the depot: another lane's blocks do for one that may not have a chunk more.
static bool may_have_batch(const egb_control* control, size_t lane)
{
    return control->lanes[lane].full != NULL || control->attached == 1 ||
           !egb_has_own_chunks(control) || !egb_lane_may_have_one_more(control);
}

// With the spare batch or one of the depot's; the one that was empty is the spare one then. False:
// there is none.
static bool load_other(egb_control* control, egb_magazine_* magazine, bool may_be_of_depot)
{
    egb_batch* const empty = magazine->loaded;
    if (magazine->spare != NULL && magazine->spare->count != 0) {
        load(control, magazine, magazine->spare);
    } else if (may_be_of_depot && control->depot_batches != 0) {
        keep_empty(control, magazine->lane, magazine->spare);
        egb_batch* const batch = depot_pop(control, magazine->lane);
        egb_batch_fetch(batch);
        load(control, magazine, batch);
    } else {
        return false;
    }
    if (empty != NULL) {
        empty->count = 0;
    }
    magazine->spare = empty;
    return true;
}

bool egb_magazine_refill(egb_control* control, egb_magazine_* magazine)
{
    if (EGB_LOAD_(magazine->top) > magazine->lowest) {  // another thread left some
        egb_magazine_set_bottom(control, magazine, magazine->lowest);
        return true;
    }
    enter_lane_of_caller(control, magazine, EGB_LOAD_(magazine->key));  // of a cache: it may be new
    bool is_done = load_other(control, magazine, may_have_batch(control, magazine->lane));
    if (!is_done) {
        step_aside(control, magazine);
        fill_from_chunks(control, magazine, magazine->loaded);
        is_done = magazine->loaded->count != 0;
        if (is_done) {
            load(control, magazine, magazine->loaded);
        } else {  // the system refused a chunk
            is_done = load_other(control, magazine, true);
        }
    }
    egb_note_peak(control);
    return is_done;
}

void egb_magazine_make_room(egb_control* control, egb_magazine_* magazine)
{
    egb_batch* const loaded = unload(magazine);
    if (loaded->count < control->batch_blocks) {  // another thread had taken the lower ones
        load(control, magazine, loaded);
        return;
    }
    egb_batch* empty = magazine->spare;
    if (empty != NULL && empty->count != 0) {
        if (has_room_in_depot(control, empty->count)) {
            depot_push(control, magazine->lane, empty);
            empty = NULL;
        } else {
            egb_batch_flush(control, empty);
        }
    }
    if (empty == NULL) {
        empty = empty_batch(control, magazine->lane);
    }
    if (empty == NULL) {  // no memory for another batch: this one must do
        egb_batch_flush(control, loaded);
        magazine->spare = NULL;
        load(control, magazine, loaded);
        return;
    }
    magazine->spare = loaded;
    load(control, magazine, empty);
}

// ---- blocks of other lanes' chunks --------------------------------------------------------------

// A block that one thread took and another freed goes back to where it came from, and not on to the
// next caller of the other thread: else in time everyone's blocks would lie among everyone else's,
// and threads take from each other the cache lines of their states, and of small blocks as well.

size_t egb_magazine_count_away(const egb_magazine_* magazine)
{
    const egb_entry_* const top =
        (const egb_entry_*)__atomic_load_n(&magazine->away_top, __ATOMIC_ACQUIRE);
    return magazine->away == NULL ? 0
                                  : (size_t)(top - &magazine->away->entries[magazine->away_first]);
}

void egb_magazine_flush_away(egb_control* control, egb_magazine_* magazine)
{
    const size_t count = egb_magazine_count_away(magazine);
    for (size_t i = 0; i < count; i++) {
        egb_put_back(control, magazine->away->entries[magazine->away_first + i].block);
    }
    magazine->away_first += (uint32_t)count;
}

// A full batch goes to the lane that most likely most of it is from; the rest of one, of which
// another thread took some, to the chunks.
static void ship(egb_control* control, egb_magazine_* magazine)
{
    egb_batch* const batch = magazine->away;
    const size_t     count = egb_magazine_count_away(magazine);
    if (count == control->batch_blocks && has_room_in_depot(control, count)) {
        batch->count               = (uint32_t)control->batch_blocks;
        const egb_unit* const unit = egb_unit_of(batch->entries[0].block);
        depot_push(control, egb_lane_of_key(egb_key_at(unit)), batch);
    } else {
        egb_magazine_flush_away(control, magazine);
        keep_empty(control, magazine->lane, batch);
    }
    magazine->away = NULL;
}

bool egb_magazine_make_room_away(egb_control* control, egb_magazine_* magazine)
{
    if (magazine->away != NULL &&
        egb_is_above_(&magazine->away_full, EGB_LOAD_(magazine->away_top))) {
        return true;
    }
    if (magazine->away != NULL) {
        ship(control, magazine);
    }
    egb_batch* const batch = empty_batch(control, magazine->lane);
    const uintptr_t  start = batch == NULL ? 0 : (uintptr_t)batch->entries;
    magazine->away         = batch;
    magazine->away_first   = 0;
    EGB_STORE_(magazine->away_top, start);
    EGB_STORE_(
        magazine->away_full,
        batch == NULL ? EGB_NO_ROOM : (uintptr_t)(batch->entries + control->batch_blocks)
    );
    return batch != NULL;
}

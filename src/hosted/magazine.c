// SPDX-License-Identifier: MIT
// Magazines: how they get blocks, and what becomes of those. Everything here runs with the pool
// locked.
#include "depot.h"
#include "guard.h"

// ---- blocks in and out of chunks ----------------------------------------------------------------

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

void egb_note_peak(egb_control* control)
{
    const size_t out = control->growing.in_use - egb_depot_blocks(control);
    if (out > control->peak) {
        control->peak = out;
    }
    if (out > control->growing.capacity / 8 * 7) {
        control->is_gathering = false;
    }
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
    if (left != NULL && 2 * (size_t)left->count <= control->batch_blocks) {
        egb_batch* const batch = egb_depot_pop(control, lane);
        egb_note_peak(control);
        return batch;
    }
    return egb_depot_empty_batch(control, lane);
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
    const uint64_t key = egb_pool_key_(pool);
    enter_lane_of_caller(control, magazine, key);
    EGB_STORE_(magazine->key, key);
    return true;
}

// Of less than half a batch the blocks may be what was left of a line of states, in which another
// thread has some: the next thread is not to begin with those.
static void leave_spare(egb_control* control, egb_magazine_* magazine)
{
    egb_batch* const spare = magazine->spare;
    if (!egb_is_half_full(control, spare->count)) {
        egb_batch_flush(control, spare);
    }
    egb_depot_keep_or_flush(control, magazine->lane, spare);
}

// No call finds its pool here any more, and no entry is for the taking.
static void end_magazine(egb_magazine_* magazine)
{
    EGB_STORE_(magazine->key, EGB_NO_KEY_);
    EGB_STORE_(magazine->home, EGB_NO_KEY_);
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
        egb_depot_keep_or_flush(control, magazine->lane, unload(magazine));
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

// Whether to look in the depot: another lane's blocks do for one that may not have a chunk more. At
// "off" they do as well when they are more than a quarter of all: nothing is sent back there, and
// where one thread allocates and another frees the first one's part is always empty.
static bool may_have_batch(const egb_control* control, size_t lane)
{
    const bool is_idle =
        !control->is_checked && control->depot_blocks > control->growing.capacity / 4;
    return control->lanes[lane].full != NULL || control->attached == 1 || is_idle ||
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
        egb_depot_keep_empty(control, magazine->lane, magazine->spare);
        egb_batch* const batch = egb_depot_pop(control, magazine->lane);
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
    if (empty == NULL) {
        empty = egb_depot_empty_batch(control, magazine->lane);
    } else if (empty->count != 0) {
        empty = egb_depot_exchange(control, magazine->lane, empty);
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
    if (count == control->batch_blocks && egb_depot_has_room(control, count)) {
        batch->count               = (uint32_t)control->batch_blocks;
        const egb_unit* const unit = egb_unit_of(batch->entries[0].block);
        egb_depot_push(control, egb_lane_of_key(egb_key_at(unit)), batch);
    } else {
        egb_magazine_flush_away(control, magazine);
        egb_depot_keep_empty(control, magazine->lane, batch);
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
    egb_batch* const batch = egb_depot_empty_batch(control, magazine->lane);
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

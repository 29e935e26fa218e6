// SPDX-License-Identifier: MIT
// Magazines: how they get blocks, and where their blocks go. The pool is locked.
#include "magazine.h"

#include "batch.h"
#include "claims.h"
#include "lanes.h"
#include "marks.h"
#include "peak.h"
#include "split.h"
#include "threads.h"

// ---- blocks in and out of chunks ----------------------------------------------------------------

void* egb_take_from_chunks_(egb_depot* depot, egb_chunk_** chunk)
{
    if (depot->damage.was_found) {
        return NULL;
    }
    return egb_growing_take_(&depot->growing, chunk, &depot->damage);
}

// Takes at least one block, if there is one; all of one chunk.
static size_t take_run(egb_depot* depot, egb_chunk_** chunk, void** blocks, size_t count)
{
    const size_t taken = egb_growing_take_run_(&depot->growing, chunk, blocks, count);
    if (taken != 0) {
        return taken;
    }
    blocks[0] = egb_take_from_chunks_(depot, chunk);
    return blocks[0] != NULL ? 1 : 0;
}

static void
set_entries(egb_entry_* entries, const egb_chunk_* chunk, void* const* blocks, size_t count)
{
    const egb_shape_ shape = chunk->shape;  // a copy, in registers: no entry can be part of it
    for (size_t i = 0; i < count; i++) {
        entries[i].block = blocks[i];
        if (shape.states != NULL) {
            entries[i].state = shape.states + egb_shape_index_(&shape, blocks[i]);
        }
    }
}

egb_chunk_* egb_take_one_(egb_depot* depot, egb_entry_* entry)
{
    if (depot->batches != 0) {
        egb_depot_flush_(depot);
    }
    egb_chunk_* chunk;
    void*       block = egb_take_from_chunks_(depot, &chunk);
    if (block == NULL) {
        return NULL;
    }
    set_entries(entry, chunk, &block, 1);
    egb_note_peak_(depot);
    return chunk;
}

// ---- a magazine ---------------------------------------------------------------------------------

void egb_magazine_set_bottom_(const egb_depot* depot, egb_magazine_* magazine, uintptr_t bottom)
{
    const uintptr_t none = (uintptr_t)INTPTR_MAX;  // at level "off" entries have no states
    EGB_STORE_(magazine->bottom, depot->is_checked ? none : bottom);
    EGB_STORE_(magazine->bottom_checked, depot->is_checked ? bottom : none);
}

// Loads `batch`, with its blocks, into the magazine. It is open from then on. The block that the
// next entry remembers was taken long ago.
void egb_magazine_load_(egb_depot* depot, egb_magazine_* magazine, egb_batch* batch)
{
    if (depot->is_tight) {
        depot->is_tight = egb_depot_is_waited_for_(depot);
    }
    batch->front.aside                 = *egb_no_entry_();
    batch->entries[batch->count].block = egb_no_entry_()->block;
    egb_claim_change_(depot, magazine, batch);
    magazine->loaded = batch;
    magazine->lowest = (uintptr_t)batch->entries;
    egb_marks_draw_(depot, batch);
    EGB_STORE_(magazine->top, (uintptr_t)(batch->entries + batch->count));
    EGB_STORE_(magazine->full, (uintptr_t)(batch->entries + batch->room));
    egb_magazine_open_(depot, magazine);
}

// Takes the batch out, its blocks moved to its start and counted. In the child of a fork the
// magazine's thread may have been inside a pop of an empty one: then `top` is below all entries.
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

// ---- how long its batches are -------------------------------------------------------------------

// A thread begins with short batches. An owned magazine is there to be used.
static size_t first_length(const egb_magazine_* magazine)
{
    return egb_magazine_is_of_thread_(magazine) ? 0 : EGB_BATCH_LENGTHS - 1;
}

// One of the longest ones may have been shortened.
static size_t length_after(const egb_batch* batch)
{
    return egb_smaller_(batch->length + (size_t)1, EGB_BATCH_LENGTHS - 1);
}

// Not for a few blocks more: the batch would change at each call.
bool egb_magazine_may_lengthen_(const egb_depot* depot, const egb_magazine_* magazine)
{
    const size_t after  = egb_batch_rooms_[length_after(magazine->loaded)];
    const size_t wanted = egb_smaller_(after, depot->batch_blocks);
    const size_t room   = egb_claim_room_(depot, magazine, wanted);
    return room == wanted || room >= 2 * (size_t)magazine->loaded->room;
}

// Loads a longer batch, with the blocks of the loaded one. False: it is the longest already, or no
// longer one is to be had.
static bool lengthen(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const loaded = magazine->loaded;
    if (loaded->room == depot->batch_blocks || !egb_magazine_may_lengthen_(depot, magazine)) {
        return false;
    }
    egb_batch* const longer =
        egb_batch_new_(magazine->lane, depot->batch_blocks, length_after(loaded));
    if (longer == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < loaded->count; i++) {
        longer->entries[i] = loaded->entries[i];
    }
    longer->count = loaded->count;
    egb_batch_shorten_(depot, magazine, longer);
    egb_magazine_load_(depot, magazine, longer);
    egb_batch_drop_(loaded);
    return true;
}

// A batch from a thread of this lane, if it has room; else an empty one. NULL: refused.
static egb_batch* first_batch(egb_depot* depot, const egb_magazine_* magazine, size_t lane)
{
    const egb_batch* const left = egb_depot_lane_(depot, lane)->full;
    if (left != NULL && 2 * (size_t)left->count <= left->room) {
        egb_batch* const batch = egb_depot_pop_(depot, lane);
        egb_note_peak_(depot);
        return batch;
    }
    egb_batch* const batch = egb_depot_empty_batch_(depot, lane, first_length(magazine));
    if (batch != NULL) {
        egb_batch_shorten_(depot, magazine, batch);
    }
    return batch;
}

// The magazine gets blocks of the calling thread's lane from now on.
static void enter_lane_of_caller(const egb_depot* depot, egb_magazine_* magazine, uint64_t key)
{
    const size_t lane = egb_thread_self_()->lane;
    magazine->lane    = (uint8_t)lane;
    EGB_STORE_(magazine->chunk_key, egb_key_in_lane_(key, egb_has_own_chunks_(depot) ? lane : 0));
}

bool egb_magazine_attach_other_(egb_depot* depot, egb_magazine_* magazine, egb_pool pool)
{
    if (magazine == NULL || depot->batch_blocks == 0) {
        return false;
    }
    egb_peak_settle_(depot, NULL);
    const size_t     lane  = egb_thread_self_()->lane;
    egb_batch* const batch = first_batch(depot, magazine, lane);
    if (batch == NULL) {
        return false;
    }
    magazine->spare         = NULL;
    magazine->refill_max    = 0;
    magazine->is_unsure     = false;
    magazine->remote        = NULL;
    magazine->remote_length = (uint8_t)first_length(magazine);
    EGB_STORE_(magazine->remote_top, 0);
    EGB_STORE_(magazine->remote_full, EGB_NO_ROOM);
    EGB_STORE_(magazine->frees, 0);
    egb_magazine_load_(depot, magazine, batch);
    depot->attached++;
    egb_peak_mark_(depot, magazine);
    EGB_STORE_(magazine->depot, depot);
    const uint64_t key = egb_pool_key_(pool);
    enter_lane_of_caller(depot, magazine, key);
    EGB_STORE_(magazine->key, key);
    return true;
}

// With less than half a batch, the blocks may be the rest of a line of states that another thread
// shares: the next thread is not to begin with those.
static void leave_spare(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const spare = magazine->spare;
    if (!egb_is_half_full_(depot, spare->count)) {
        egb_batch_flush_(depot, spare);
    }
    egb_depot_keep_or_flush_(depot, magazine->lane, spare);
}

// From now on no call finds its pool here, and other threads take no entry.
static void end_magazine(egb_magazine_* magazine)
{
    EGB_STORE_(magazine->key, EGB_NO_KEY_);
    EGB_STORE_(magazine->chunk_key, EGB_NO_KEY_);
    EGB_STORE_(magazine->bottom, (uintptr_t)INTPTR_MAX);
    EGB_STORE_(magazine->bottom_checked, (uintptr_t)INTPTR_MAX);
    EGB_STORE_(magazine->full, EGB_NO_ROOM);
    EGB_STORE_(magazine->remote_full, EGB_NO_ROOM);
}

void egb_magazine_clear_(egb_magazine_* magazine)
{
    end_magazine(magazine);
    EGB_STORE_(magazine->top, (uintptr_t)egb_no_entry_());
    EGB_STORE_(magazine->frees, 0);
}

void egb_magazine_discard_(egb_depot* depot, egb_magazine_* magazine)
{
    egb_magazine_close_room_(magazine);
    end_magazine(magazine);
    egb_magazine_detach_(depot, magazine);
}

// A thread that ended in the middle of a push, by a fork, may have left a block where it would have
// found that there is no room: egb_push_ended_(). Or `top` was led aside, and the block is there.
static void put_back_beyond(egb_depot* depot, egb_magazine_* magazine)
{
    egb_entry_* const end   = magazine->loaded->entries + magazine->loaded->room;
    egb_entry_* const aside = &magazine->loaded->front.aside;
    if (EGB_LOAD_(magazine->top) == (uintptr_t)(aside + 1)) {
        egb_put_back_(depot, aside->block);
    } else if (EGB_LOAD_(magazine->top) > (uintptr_t)end) {
        if (magazine->lowest <= (uintptr_t)end) {
            egb_put_back_(depot, end->block);
        }
        end->block = egb_no_entry_()->block;
        EGB_STORE_(magazine->top, (uintptr_t)end);
    }
}

void egb_magazine_detach_(egb_depot* depot, egb_magazine_* magazine)
{
    const bool is_revoked = EGB_LOAD_(magazine->key) == EGB_NO_KEY_;
    if (!is_revoked) {
        egb_peak_settle_(depot, magazine);
        egb_magazine_flush_remote_(depot, magazine);
    }
    egb_batch_drop_(magazine->remote);
    magazine->remote = NULL;
    egb_claim_change_(depot, magazine, NULL);
    if (is_revoked) {
        egb_batch_drop_(magazine->loaded);
        egb_batch_drop_(magazine->spare);
    } else {
        if (magazine->spare != NULL) {
            leave_spare(depot, magazine);
        }
        put_back_beyond(depot, magazine);
        egb_depot_keep_or_flush_(depot, magazine->lane, unload(magazine));
        depot->frees += magazine->frees;
        egb_peak_leave_(depot);
    }
    magazine->loaded = NULL;
    egb_magazine_clear_(magazine);
    EGB_STORE_(magazine->depot, NULL);  // last: others find their pool's magazines by it
    depot->attached--;
    if (depot->attached == 0 && depot->on_last_left != NULL) {
        depot->on_last_left(depot);
    }
}

// Whether a run just taken is fresh: the last blocks touched in their chunk.
static bool is_fresh(const egb_chunk_* chunk, void* const* run, size_t count)
{
    const size_t last = egb_chunk_index_(chunk, run[count - 1]);
    return last + 1 == egb_fixed_touched(&chunk->fixed) &&
           last - egb_chunk_index_(chunk, run[0]) == count - 1;
}

// Entries that its thread adds at this moment are of the dead pool, too.
void egb_magazine_revoke_(egb_magazine_* magazine)
{
    egb_magazine_close_room_(magazine);
    end_magazine(magazine);
    for (size_t i = 0; i <= magazine->loaded->room;
         i++) {  // calls on an owned magazine compare no key
        EGB_STORE_(magazine->loaded->entries[i].block, egb_no_entry_()->block);
    }
}

enum { RUN_BYTES_MAX = 64 << 10 };

// The most blocks to take out of chunks at once: at most those of a line of states. If used blocks
// must be touched, each may be on its own page: the larger the blocks, the fewer.
static size_t run_blocks_max(const egb_depot* depot)
{
    const egb_growing_options* const options = &depot->growing.options;
    size_t                           blocks = egb_smaller_(depot->batch_blocks, EGB_STATES_IN_LINE);
    if (egb_touches_free_(options)) {
        blocks = egb_smaller_(blocks, RUN_BYTES_MAX / options->block_bytes);
    }
    return egb_larger_(blocks, 1);
}

// The blocks of the second refill. As a rule refills have 1, 2, 4 blocks and so on. Many threads
// with a few blocks of a size each would together hold back more than they use: theirs have 1, 1,
// 2, 4.
static size_t second_refill(void)
{
    return EGB_LOAD_(egb_threads_.count) > EGB_LANES ? 1 : 2;
}

// Refills take blocks from existing chunks: only for the first block may the system be asked.
static void fill_from_chunks(egb_depot* depot, egb_magazine_* magazine, egb_batch* batch)
{
    uint32_t   count   = 0;
    bool       is_end  = false;
    const bool has_own = depot->attached > 1 && egb_has_own_chunks_(depot);
    if (has_own) {
        egb_lane_prefer_own_chunk_(depot, magazine->lane);
    }
    const size_t wanted = egb_smaller_(egb_larger_(magazine->refill_max, 1), batch->room);
    while (count < wanted && !is_end && (count == 0 || depot->growing.available != NULL)) {
        egb_chunk_* chunk;
        void*       run[EGB_STATES_IN_LINE];
        if (!has_own) {
            egb_growing_prefer_recycled_(&depot->growing);
        }
        const size_t taken = take_run(depot, &chunk, run, wanted - count);
        if (taken == 0) {
            break;
        }
        const bool is_new = is_fresh(chunk, run, taken);
        // A line of states ends here: the next blocks are for another thread.
        is_end = (is_new && egb_chunk_fresh_in_line_(chunk) == EGB_STATES_IN_LINE) ||
                 egb_has_long_groups_(chunk);
        if (is_new || depot->is_checked) {
            egb_part_neighbours_(run, taken);  // they are in order of address
        }
        set_entries(&batch->entries[count], chunk, run, taken);
        count += (uint32_t)taken;
    }
    batch->count = count;
    egb_batch_turn_around_(batch);
    const size_t twice   = egb_larger_(2 * (size_t)magazine->refill_max, second_refill());
    const size_t most    = run_blocks_max(depot);
    magazine->refill_max = (uint8_t)(twice < most ? twice : most);
}

// Among more threads than these each has so little of the processors that lines of states may be
// shared: the blocks of a line would be too much memory.
enum { THREADS_ASIDE_MAX = 16 };

// The first blocks of a pool's second thread avoid the line of states of the first thread, if the
// blocks of one line are not too much memory to hold back.
static void step_aside(egb_depot* depot, egb_magazine_* magazine)
{
    const size_t run_bytes    = EGB_STATES_IN_LINE * depot->growing.options.block_bytes;
    const bool   is_unlimited = depot->growing.options.max_blocks == 0;
    const bool   is_new       = magazine->refill_max == 0 && magazine->spare == NULL;
    const bool is_small = run_bytes <= RUN_BYTES_MAX && run_blocks_max(depot) == EGB_STATES_IN_LINE;
    const bool is_one_of_few = depot->attached > 1 && depot->attached <= THREADS_ASIDE_MAX;
    if (is_one_of_few && depot->is_checked && is_unlimited && is_new && is_small) {
        magazine->refill_max = EGB_STATES_IN_LINE;
        magazine->spare =
            egb_batch_new_(magazine->lane, depot->batch_blocks, EGB_BATCH_LENGTHS - 1);
        if (magazine->spare != NULL) {
            fill_from_chunks(depot, magazine, magazine->spare);
        }
    }
}

// Whether to use the depot: another lane's blocks serve a lane that may not have one more chunk. At
// "off" they also serve when they are more than a quarter of all: blocks are not sent back to their
// lanes there, and if one thread allocates and another frees, the first one's part is always empty.
static bool may_have_batch(egb_depot* depot, size_t lane)
{
    const bool is_idle = !depot->is_checked && depot->blocks > depot->growing.capacity / 4;
    if (egb_depot_lane_(depot, lane)->full != NULL) {
        return true;
    }
    return !egb_split_wants_more_(depot) &&
           (depot->attached == 1 || is_idle || !egb_has_own_chunks_(depot) ||
            !egb_lane_may_have_one_more_(depot));
}

bool egb_magazine_has_full_spare_(const egb_magazine_* magazine)
{
    return magazine->spare != NULL && magazine->spare->count != 0;
}

void egb_magazine_load_other_(egb_depot* depot, egb_magazine_* magazine, egb_batch* other)
{
    egb_batch* const empty = magazine->loaded;
    if (other != magazine->spare) {
        egb_depot_keep_empty_(depot, magazine->lane, magazine->spare);
        egb_batch_fetch_(other);
    }
    egb_magazine_load_(depot, magazine, other);
    empty->count = 0;
    if (empty->room < depot->batch_blocks) {  // no thread with a part of few bytes has a spare one
        egb_depot_keep_empty_(depot, magazine->lane, empty);
    }
    magazine->spare = empty->room < depot->batch_blocks ? NULL : empty;
}

// Loads the spare batch or one of the depot. False: there is none.
static bool load_other(egb_depot* depot, egb_magazine_* magazine, bool may_be_of_depot)
{
    egb_batch* other = NULL;
    if (egb_magazine_has_full_spare_(magazine)) {
        other = magazine->spare;
    } else if (may_be_of_depot) {
        other = egb_depot_pop_(depot, magazine->lane);
    }
    if (other != NULL) {
        egb_magazine_load_other_(depot, magazine, other);
    }
    return other != NULL;
}

bool egb_magazine_refill_(egb_depot* depot, egb_magazine_* magazine)
{
    if (EGB_LOAD_(magazine->top) > magazine->lowest) {  // it was at a mark, or closed
        egb_magazine_open_(depot, magazine);
        return true;
    }
    egb_peak_settle_(depot, magazine);
    enter_lane_of_caller(depot, magazine, EGB_LOAD_(magazine->key));  // a cache's lane may be new
    bool is_done = load_other(depot, magazine, may_have_batch(depot, magazine->lane));
    if (!is_done) {
        step_aside(depot, magazine);
        magazine->loaded->count = 0;
        if (magazine->refill_max > magazine->loaded->room) {
            (void)lengthen(depot, magazine);
        }
        fill_from_chunks(depot, magazine, magazine->loaded);
        is_done = magazine->loaded->count != 0;
        if (is_done) {
            egb_magazine_load_(depot, magazine, magazine->loaded);
        } else {  // the system refused a chunk
            is_done = load_other(depot, magazine, true);
        }
    }
    egb_note_peak_(depot);
    egb_peak_mark_(depot, magazine);
    return is_done;
}

static void put_away(egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch)
{
    if (batch != NULL && egb_depot_has_room_(depot, batch->count)) {
        egb_depot_push_(depot, magazine->lane, batch);
    } else if (batch != NULL) {
        egb_batch_flush_(depot, batch);
        egb_batch_drop_(batch);
    }
}

bool egb_magazine_is_too_long_(const egb_depot* depot, const egb_magazine_* magazine)
{
    return magazine->loaded->length != 0 && egb_magazine_is_of_thread_(magazine) &&
           egb_claim_is_too_much_(depot, magazine);
}

// A magazine that has too much, since there are more now, goes on with a short batch. False: it has
// not, or no batch is to be had.
static bool give_up_long(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const loaded  = magazine->loaded;
    const bool       is_long = egb_magazine_is_too_long_(depot, magazine);
    egb_batch* const shorter =
        is_long ? egb_batch_new_(magazine->lane, depot->batch_blocks, 0) : NULL;
    if (shorter == NULL) {
        return false;
    }
    egb_magazine_load_(depot, magazine, shorter);
    put_away(depot, magazine, loaded);
    put_away(depot, magazine, magazine->spare);
    magazine->spare = NULL;
    return true;
}

void egb_magazine_make_room_(egb_depot* depot, egb_magazine_* magazine)
{
    if (egb_magazine_pass_mark_(depot, magazine)) {
        return;
    }
    egb_peak_settle_(depot, magazine);
    egb_batch* const loaded = unload(magazine);
    if (loaded->count < loaded->room) {  // another thread took the lower ones
        egb_magazine_load_(depot, magazine, loaded);
        return;
    }
    if (give_up_long(depot, magazine) || lengthen(depot, magazine)) {
        return;
    }
    if (magazine->spare == NULL && loaded->room < depot->batch_blocks) {
        egb_batch* const other = egb_depot_exchange_(depot, magazine->lane, loaded);
        if (other == loaded) {  // its claim is given back before it is shortened
            egb_claim_change_(depot, magazine, NULL);
            magazine->loaded = NULL;
        }
        egb_batch_shorten_(depot, magazine, other);
        egb_magazine_load_(depot, magazine, other);
        return;
    }
    egb_batch* empty = magazine->spare;
    if (empty == NULL) {
        empty = egb_depot_empty_batch_(depot, magazine->lane, loaded->length);
    } else if (empty->count != 0) {
        empty = egb_depot_exchange_(depot, magazine->lane, empty);
    }
    if (empty == NULL) {  // no memory for another batch: this one must do
        egb_batch_flush_(depot, loaded);
        magazine->spare = NULL;
        egb_magazine_load_(depot, magazine, loaded);
        return;
    }
    magazine->spare = loaded;
    egb_magazine_load_(depot, magazine, empty);
}

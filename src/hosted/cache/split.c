// SPDX-License-Identifier: MIT
// Exchanges of a magazine with the part of its lane, in a depot that is split: see split.h. Parts
// are locked in the order of their numbers.
#include "split.h"

#include "../region/obtain.h"
#include "../region/pages.h"
#include "batch.h"
#include "claims.h"
#include "marks.h"
#include "peak.h"
#include "threads.h"

// ---- the locks ----------------------------------------------------------------------------------

static void lock_parts(egb_depot* depot)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_lock_(&depot->parts[lane].lock);
    }
}

static void unlock_parts(egb_depot* depot)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_unlock_(&depot->parts[lane].lock);
    }
}

// Adds the counts of the parts, since the depot was let go, to those of the whole.
static void gather_parts(egb_depot* depot)
{
    uint32_t moves = 0;
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_part* const part = &depot->parts[lane];
        depot->batches += (uint32_t)part->of.batches;
        depot->puts += part->of.puts;
        moves += part->of.moves;
        part->of.batches = 0;
        part->of.puts = part->of.moves = 0;
    }
    if (moves == 0) {
        return;
    }
    depot->moves += moves;
    depot->least = (uint32_t)egb_smaller_(depot->least, depot->low);
    egb_peak_gather_(depot, depot->low);
    if (depot->puts >= EGB_DEPOT_BATCHES_MAX) {
        egb_depot_end_window_(depot);
    }
}

static uint32_t count_full(const egb_lane* lane)
{
    uint32_t count = 0;
    for (const egb_batch* batch = lane->full; batch != NULL; batch = batch->front.list.next) {
        count++;
    }
    return count;
}

// With all locks from now on.
static bool split_parts(egb_depot* depot)
{
    if (depot->parts == NULL && !egb_is_frozen_()) {
        depot->parts = egb_pages_(EGB_LANES * sizeof(egb_part));
    }
    if (depot->parts == NULL) {
        return false;
    }
    lock_parts(depot);
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        depot->parts[lane].of.lane = depot->lanes[lane];
        depot->parts[lane].of.full = count_full(&depot->lanes[lane]);
    }
    __atomic_store_n(&depot->is_split, true, __ATOMIC_RELEASE);
    return true;
}

static void join_parts(egb_depot* depot)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        depot->lanes[lane] = depot->parts[lane].of.lane;
    }
    __atomic_store_n(&depot->is_split, false, __ATOMIC_RELEASE);
    unlock_parts(depot);
}

// A lock of the whole is dearer if the depot is split. It is therefore split if one lock in 16 is
// waited for. It is joined again, and stays so for much longer, if its parts serve fewer than two
// exchanges for each lock of the whole.
enum { WINDOW = 256, WAITS_LEAST = WINDOW / 16, MOVES_LEAST = 2 * WINDOW, REST = 16 * WINDOW };

bool egb_split_is_off_;

static bool may_be_split(const egb_depot* depot)
{
    return !EGB_LOAD_(egb_split_is_off_) && egb_has_own_chunks_(depot) && depot->sampler == NULL;
}

// Locks before `locks` is 0 are the rest.
static void begin_window(egb_depot* depot, uint32_t rest)
{
    depot->locks = 0 - rest;
    depot->waits = depot->moves = 0;
}

// Only a wait is looked at: a lock that is free costs no more than a count.
static void judge_wait(egb_depot* depot)
{
    if (depot->locks >= 0 - (uint32_t)REST) {
        return;
    }
    if (depot->locks > WINDOW) {
        begin_window(depot, 0);
    }
    if (++depot->waits >= WAITS_LEAST && may_be_split(depot)) {
        begin_window(depot, 0);
        (void)split_parts(depot);
    }
}

static void judge_parts(egb_depot* depot)
{
    if (depot->locks < WINDOW && !EGB_LOAD_(egb_split_is_off_)) {
        return;
    }
    const bool is_used = depot->moves >= MOVES_LEAST;
    begin_window(depot, 0);
    if (!is_used || !may_be_split(depot)) {
        join_parts(depot);
        begin_window(depot, REST);
    }
}

void egb_depot_lock_parts_(egb_depot* depot, bool has_waited)
{
    if (depot->is_split) {
        lock_parts(depot);
        gather_parts(depot);
        judge_parts(depot);
    } else if (has_waited) {
        judge_wait(depot);
    }
}

void egb_depot_let_go_of_parts_(egb_depot* depot)
{
    EGB_STORE_(depot->low, depot->blocks);
    unlock_parts(depot);
}

// A part's lock may still be held after the depot is in one again: its thread came to wait before.
bool egb_depot_is_free_soon_(egb_depot* depot, int milliseconds)
{
    bool is_free = egb_os_is_free_soon_(&depot->lock, milliseconds);
    for (size_t lane = 0; lane < EGB_LANES && is_free && depot->parts != NULL; lane++) {
        is_free = egb_os_is_free_soon_(&depot->parts[lane].lock, milliseconds);
    }
    return is_free;
}

void egb_depot_lock_reset_(egb_depot* depot)
{
    egb_os_lock_reset_(&depot->lock);
    for (size_t lane = 0; lane < EGB_LANES && depot->parts != NULL; lane++) {
        egb_os_lock_reset_(&depot->parts[lane].lock);
    }
}

bool egb_depot_split_(egb_depot* depot)
{
    return depot->is_split || split_parts(depot);
}

void egb_depot_join_(egb_depot* depot)
{
    if (depot->is_split) {
        join_parts(depot);
    }
}

// ---- with the pool locked -----------------------------------------------------------------------

static void move_batches(egb_batch** from, egb_batch** to, size_t count)
{
    for (size_t i = 0; i < count && *from != NULL; i++) {
        egb_batch_push_(to, egb_batch_pop_(from));
    }
}

static egb_part* richest_part(egb_depot* depot)
{
    egb_part* richest = &depot->parts[0];
    for (size_t lane = 1; lane < EGB_LANES; lane++) {
        egb_part* const part = &depot->parts[lane];
        richest              = part->of.full > richest->of.full ? part : richest;
    }
    return richest;
}

bool egb_split_wants_more_(const egb_depot* depot)
{
    enum { STOCK_BATCHES = 8 };
    return depot->is_split && depot->growing.available != NULL &&
           depot->batches < STOCK_BATCHES * EGB_LANES &&
           depot->blocks <= depot->growing.capacity / (depot->is_checked ? 2 : 4) &&
           egb_depot_has_room_(depot, depot->batch_blocks);
}

enum { SHARED_AT_ONCE = 16 };

void egb_split_share_full_(egb_depot* depot, size_t lane)
{
    egb_part* const own = &depot->parts[lane];
    if (own->of.full != 0) {
        return;
    }
    egb_part* const from  = richest_part(depot);
    const uint32_t  count = (uint32_t)egb_smaller_((from->of.full + 1) / 2, SHARED_AT_ONCE);
    move_batches(&from->of.lane.full, &own->of.lane.full, count);
    from->of.full -= count;
    own->of.full += count;
}

void egb_split_share_empty_(egb_depot* depot, size_t lane)
{
    egb_lane* const own = &depot->parts[lane].of.lane;
    for (size_t i = 0; i < EGB_LANES && own->empty == NULL; i++) {
        move_batches(&depot->parts[i].of.lane.empty, &own->empty, SHARED_AT_ONCE);
    }
}

// ---- one part -----------------------------------------------------------------------------------

// Whether a part is all that an exchange needs: no thread waits for a block, blocks have no limit,
// and the pool is there. A magazine that is alone meets nobody, and tells the peak exactly. One of
// its parts is locked.
static bool may_exchange(const egb_depot* depot, const egb_magazine_* magazine, uint64_t key)
{
    return depot->is_split && depot->attached > 1 && EGB_LOAD_(magazine->key) == key &&
           !EGB_LOAD_(egb_split_is_off_) && egb_has_own_chunks_(depot) && !depot->is_tight &&
           !egb_depot_is_waited_for_(depot) && magazine->lane == egb_thread_self_()->lane;
}

// The magazine's depot, with its lane's part locked; NULL: no exchange with a part.
static egb_depot* enter_part(const egb_magazine_* magazine, uint64_t key)
{
    egb_depot* const    depot = magazine->depot;
    egb_os_mutex* const lock  = &depot->parts[egb_thread_self_()->lane].lock;
    egb_os_lock_(lock);
    if (!may_exchange(depot, magazine, key)) {
        egb_os_unlock_(lock);
        return NULL;
    }
    return depot;
}

static bool leave_part(egb_depot* depot, size_t lane, bool is_done)
{
    depot->parts[lane].of.moves += is_done;
    egb_os_unlock_(&depot->parts[lane].lock);
    return is_done;
}

static bool has_room_in_part(const egb_depot* depot, size_t lane, size_t blocks)
{
    const int64_t most =
        egb_is_half_full_(depot, blocks) ? EGB_DEPOT_BATCHES_MAX : EGB_DEPOT_SMALL_MAX;
    const int64_t more   = depot->parts[lane].of.batches;
    const bool    is_due =  // the look for unneeded blocks: egb_depot_end_window_()
        depot->parts[lane].of.puts >= EGB_DEPOT_BATCHES_MAX / EGB_LANES;
    return blocks != 0 && !is_due && more < most / EGB_LANES && depot->batches + more < most &&
           EGB_LOAD_(depot->blocks) * depot->growing.options.block_bytes <
               egb_depot_bytes_max_(depot);
}

static void push_in_part(egb_depot* depot, size_t lane, egb_batch* batch)
{
    egb_batch_push_(&depot->parts[lane].of.lane.full, batch);
    depot->parts[lane].of.full++;
    depot->parts[lane].of.batches++;
    depot->parts[lane].of.puts++;
    (void)__atomic_add_fetch(&depot->blocks, batch->count, __ATOMIC_RELAXED);
}

// The fewest blocks tell the peak, and whether so many are needed.
static egb_batch* pop_in_part(egb_depot* depot, size_t lane)
{
    egb_batch* const batch = egb_batch_pop_(&depot->parts[lane].of.lane.full);
    if (batch != NULL) {
        depot->parts[lane].of.full--;
        depot->parts[lane].of.batches--;
        const uint32_t blocks = __atomic_sub_fetch(&depot->blocks, batch->count, __ATOMIC_RELAXED);
        uint32_t       low    = EGB_LOAD_(depot->low);
        while (blocks < low &&
               !__atomic_compare_exchange_n(
                   &depot->low, &low, blocks, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
               )) {
        }
    }
    return batch;
}

static egb_batch* pop_empty_in_part(egb_depot* depot, size_t lane, size_t length)
{
    return egb_depot_pop_empty_(depot, &depot->parts[lane].of.lane, length);
}

// ---- refill -------------------------------------------------------------------------------------

static bool refill_in_part(egb_depot* depot, egb_magazine_* magazine)
{
    if (EGB_LOAD_(magazine->top) > magazine->lowest) {  // it was closed
        egb_magazine_open_(depot, magazine);
        return true;
    }
    egb_batch* const other = egb_magazine_has_full_spare_(magazine)
                                 ? magazine->spare
                                 : pop_in_part(depot, magazine->lane);
    if (other != NULL) {
        egb_magazine_load_other_(depot, magazine, other);
    }
    return other != NULL;
}

bool egb_split_refill_from_part_(egb_magazine_* magazine, uint64_t key)
{
    egb_depot* const depot = enter_part(magazine, key);
    return depot != NULL && leave_part(depot, magazine->lane, refill_in_part(depot, magazine));
}

// ---- room ---------------------------------------------------------------------------------------

// Puts a batch there and returns an empty one. NULL, and nothing has changed: there is no room, or
// no empty one.
static egb_batch* exchange_in_part(egb_depot* depot, size_t lane, egb_batch* batch)
{
    egb_batch* const empty = has_room_in_part(depot, lane, batch->count)
                                 ? pop_empty_in_part(depot, lane, batch->length)
                                 : NULL;
    if (empty != NULL) {
        push_in_part(depot, lane, batch);
    }
    return empty;
}

// For a magazine that has a spare batch, or whose batches are of full length.
static bool make_room_with_spare(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const loaded = magazine->loaded;
    egb_batch*       empty  = magazine->spare;
    if (empty == NULL) {
        empty = pop_empty_in_part(depot, magazine->lane, loaded->length);
    } else if (empty->count != 0) {
        empty = exchange_in_part(depot, magazine->lane, empty);
    }
    if (empty == NULL) {
        return false;
    }
    loaded->count   = loaded->room;
    magazine->spare = loaded;
    egb_magazine_load_(depot, magazine, empty);
    return true;
}

static bool make_room_in_part(egb_depot* depot, egb_magazine_* magazine)
{
    egb_batch* const loaded  = magazine->loaded;
    const bool       is_long = loaded->room == depot->batch_blocks;
    const uintptr_t  end     = (uintptr_t)(loaded->entries + loaded->room);
    if (EGB_LOAD_(magazine->top) != end || magazine->lowest != (uintptr_t)loaded->entries ||
        egb_magazine_is_too_long_(depot, magazine) ||
        (!is_long && egb_magazine_may_lengthen_(depot, magazine))) {
        return false;
    }
    if (is_long || magazine->spare != NULL) {
        return make_room_with_spare(depot, magazine);
    }
    loaded->count          = loaded->room;
    egb_batch* const empty = exchange_in_part(depot, magazine->lane, loaded);
    if (empty != NULL) {
        egb_batch_shorten_(depot, magazine, empty);
        egb_magazine_load_(depot, magazine, empty);
    }
    return empty != NULL;
}

bool egb_split_make_room_in_part_(egb_magazine_* magazine, uint64_t key)
{
    egb_depot* const depot = enter_part(magazine, key);
    return depot != NULL && leave_part(depot, magazine->lane, make_room_in_part(depot, magazine));
}

// ---- room for blocks of other lanes -------------------------------------------------------------

static bool is_to_ship(const egb_magazine_* magazine)
{
    return magazine->remote != NULL &&
           egb_magazine_count_remote_(magazine) == magazine->remote->room;
}

// Locks one more part. False: the first one was let go of for a moment.
static bool lock_second(egb_depot* depot, size_t lane, size_t second)
{
    if (second > lane) {
        egb_os_lock_(&depot->parts[second].lock);
        return true;
    }
    if (second == lane || egb_os_try_lock_(&depot->parts[second].lock)) {
        return true;
    }
    egb_os_unlock_(&depot->parts[lane].lock);
    egb_os_lock_(&depot->parts[second].lock);
    egb_os_lock_(&depot->parts[lane].lock);
    return false;
}

static bool ship_to_part(egb_depot* depot, egb_magazine_* magazine, size_t to)
{
    egb_batch* const batch = magazine->remote;
    egb_batch* const empty = has_room_in_part(depot, to, batch->room)
                                 ? pop_empty_in_part(depot, magazine->lane, magazine->remote_length)
                                 : NULL;
    if (empty != NULL) {
        batch->count = batch->room;
        push_in_part(depot, to, batch);
        egb_magazine_set_remote_(depot, magazine, empty);
    }
    return empty != NULL;
}

bool egb_split_make_room_remote_in_part_(egb_magazine_* magazine, uint64_t key)
{
    egb_depot* const depot = enter_part(magazine, key);
    if (depot == NULL) {
        return false;
    }
    if (!is_to_ship(magazine)) {
        return leave_part(depot, magazine->lane, false);
    }
    const size_t to       = egb_lane_of_batch_(magazine->remote);
    const bool   is_whole = lock_second(depot, magazine->lane, to) ||
                          (may_exchange(depot, magazine, key) && is_to_ship(magazine));
    const bool is_done = is_whole && ship_to_part(depot, magazine, to);
    if (to != magazine->lane) {
        egb_os_unlock_(&depot->parts[to].lock);
    }
    return leave_part(depot, magazine->lane, is_done);
}

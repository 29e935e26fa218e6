// SPDX-License-Identifier: MIT
// The peak of a pool. Blocks in magazines are out of the depot, but not in use. A thread takes them
// without a lock and without a counter: the states of the blocks, which it writes anyway, show
// which ones it took.
#include "peak.h"

#include "threads.h"

// A taken block gets another state, and keeps it when it is free again.
static bool is_rested(const egb_entry_* entry)
{
    const unsigned state = EGB_LOAD_(*EGB_LOAD_(entry->state)) & ~EGB_STATE_OWN_;
    return state == EGB_STATE_RESTED_ || state == 0;  // 0: nobody had it
}

// Blocks that were free all the time since the magazine was loaded: those of the spare batch, and
// the oldest entries up to the first that was taken meanwhile. At most `most`.
static size_t count_rested(const egb_depot* depot, const egb_magazine_* magazine, size_t most)
{
    size_t count = magazine->spare == NULL ? 0 : magazine->spare->count;
    if (depot->is_checked) {
        const uintptr_t   top   = __atomic_load_n(&magazine->top, __ATOMIC_ACQUIRE);
        const egb_entry_* entry = (const egb_entry_*)magazine->lowest;
        while (count < most && (uintptr_t)entry < top && is_rested(entry)) {
            entry++;
            count++;
        }
    }
    return egb_smaller_(count, most);
}

// Whether fewer blocks were ever in use than were out since the last look: by how many.
static size_t doubt(const egb_depot* depot)
{
    return depot->most_out - egb_smaller_(depot->most_out, depot->peak);
}

static void note_out(egb_depot* depot, size_t out)
{
    depot->most_out = egb_larger_(depot->most_out, out);
    if (out > depot->growing.capacity / 8 * 7) {
        depot->is_gathering = false;
    }
}

void egb_note_peak_(egb_depot* depot)
{
    note_out(depot, egb_depot_out_(depot));
}

static void raise_peak(egb_depot* depot, size_t rested)
{
    depot->peak     = egb_larger_(depot->peak, depot->most_out - rested);
    depot->most_out = egb_depot_out_(depot);
}

void egb_peak_gather_(egb_depot* depot, size_t low)
{
    note_out(depot, depot->growing.in_use - depot->quarantined - low);
    raise_peak(depot, 0);
}

void egb_peak_leave_(egb_depot* depot)
{
    depot->most_out = egb_depot_out_(depot);
}

void egb_peak_settle_(egb_depot* depot, const egb_magazine_* magazine)
{
    const size_t most = doubt(depot);
    raise_peak(depot, magazine == NULL ? 0 : count_rested(depot, magazine, most));
}

typedef struct rested_sum {
    const egb_depot* depot;
    size_t           count;
    size_t           most;
} rested_sum;

static void add_rested(egb_magazine_* magazine, void* user)
{
    rested_sum* const sum = user;
    sum->count += count_rested(sum->depot, magazine, sum->most - sum->count);
}

static size_t count_all_rested(egb_depot* depot)
{
    rested_sum sum = {depot, 0, doubt(depot)};
    if (sum.most != 0 && depot->attached != 0) {
        egb_each_magazine_(depot, add_rested, &sum);
    }
    return sum.count;
}

static void add_closed(egb_magazine_* magazine, void* user)
{
    if (egb_magazine_is_closed_(magazine)) {
        *(size_t*)user += egb_magazine_count_(magazine);
    }
}

// Blocks are counted first: a block that its thread adds later may have been in use when the others
// are looked at.
void egb_peak_settle_closed_(egb_depot* depot)
{
    size_t leaving = 0;
    egb_each_magazine_(depot, add_closed, &leaving);
    raise_peak(depot, count_all_rested(depot));
    depot->most_out -= egb_smaller_(leaving, depot->most_out);
}

size_t egb_peak_(egb_depot* depot)
{
    return egb_larger_(depot->peak, depot->most_out - count_all_rested(depot));
}

// Threads that share a pool wait for its lock: there only blocks that nobody ever had are told from
// others, which needs no mark.
void egb_peak_mark_(const egb_depot* depot, const egb_magazine_* magazine)
{
    if (!depot->is_checked || depot->attached != 1) {
        return;
    }
    const size_t      spare  = magazine->spare == NULL ? 0 : magazine->spare->count;
    const size_t      most   = doubt(depot);
    const size_t      wanted = most - egb_smaller_(most, spare);
    egb_entry_* const first  = magazine->loaded->entries;
    for (size_t i = 0; i < egb_smaller_(wanted, magazine->loaded->count); i++) {
        unsigned char* const state = EGB_LOAD_(first[i].state);
        if (EGB_LOAD_(*state) == EGB_STATE_FREE_) {
            EGB_STORE_(*state, EGB_STATE_RESTED_);
        }
    }
}

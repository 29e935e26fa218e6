// SPDX-License-Identifier: MIT
// Freed large regions that stay mapped for later requests. If the system takes ranges back in
// parts, regions are cut to the requested size, and neighbours are joined: so programs with blocks
// of all sizes reuse pages.
#include "large_cache.h"

#include "keep.h"
#include "obtain.h"

// Lists of regions of about one size, in ascending order: one list for each number of units below
// 8, then four for each doubling, and one for all longer ones. As in M. Masmano and others, "TLSF:
// a New Dynamic Memory Allocator for Real-Time Systems", 2004.
enum { BINS = 64, EXACT_UNITS = 8, BINS_OF_DOUBLING = 4, LOOKS_MAX = 512 };

typedef struct egb_large_bins {
    egb_large_list* lists;
    uint64_t        used;  // one bit for each list that is not empty
    size_t          count;
    size_t          bytes;
} egb_large_bins;

static egb_large_list                 cached_lists[BINS], empty_lists[BINS];
EGB_AMONG_DATA_ static egb_large_bins cached_bins = {cached_lists, 0, 0, 0};
EGB_AMONG_DATA_ static egb_large_bins empty_bins  = {empty_lists, 0, 0, 0};  // addresses alone
EGB_AMONG_DATA_ static uint64_t       times_cached;

static uint32_t epoch = 1;  // atomic

uint32_t egb_large_cache_next_epoch_(void)
{
    return __atomic_add_fetch(&epoch, 1, __ATOMIC_RELAXED);
}

size_t egb_large_cache_bytes_(void)
{
    return cached_bins.bytes;
}

size_t egb_large_cache_count_(void)
{
    return cached_bins.count;
}

size_t egb_large_cache_bytes_max_(size_t bytes, size_t peak)
{
    if (egb_is_frozen_()) {
        return SIZE_MAX;
    }
    const size_t under_peak = peak - bytes + peak / 8 + EGB_LARGE_CACHE_BYTES_OVER_PEAK;
    const size_t most       = egb_smaller_(under_peak, EGB_LARGE_CACHE_BYTES_MAX);
    return egb_smaller_(most, egb_keep_bytes_());
}

static char* end_of(const egb_large* large)
{
    return (char*)large->range.start + large->range.bytes;
}

// ---- lists --------------------------------------------------------------------------------------

static size_t bin_of(size_t bytes)
{
    const size_t units = bytes / EGB_UNIT_BYTES;
    if (units < EXACT_UNITS) {
        return units;
    }
    const size_t doubling = 63 - (size_t)__builtin_clzll(units);
    const size_t quarter  = units >> (doubling - 2) & (BINS_OF_DOUBLING - 1);
    const size_t index    = EXACT_UNITS + (doubling - 3) * BINS_OF_DOUBLING + quarter;
    return index < BINS ? index : BINS - 1;
}

// The first list with a region, from this one on. BINS: all are empty.
static size_t used_from(const egb_large_bins* bins, size_t index)
{
    const uint64_t rest = index < BINS ? bins->used >> index : 0;
    return rest == 0 ? BINS : index + (size_t)__builtin_ctzll(rest);
}

static egb_large_bins* bins_of(const egb_large* large)
{
    return large->state == EGB_LARGE_EMPTY ? &empty_bins : &cached_bins;
}

static void enter_list(egb_large* large)
{
    egb_large_bins* const bins  = bins_of(large);
    const size_t          index = bin_of(large->range.bytes);
    egb_large_list_add_(&bins->lists[index], large);
    bins->used |= (uint64_t)1 << index;
    bins->count++;
    bins->bytes += large->range.bytes;
}

static void leave_list(egb_large* large)
{
    egb_large_bins* const bins  = bins_of(large);
    const size_t          index = bin_of(large->range.bytes);
    egb_large_list_remove_(&bins->lists[index], large);
    if (bins->lists[index].newest == NULL) {
        bins->used &= ~((uint64_t)1 << index);
    }
    bins->count--;
    bins->bytes -= large->range.bytes;
}

// NULL: nothing is cached.
static egb_large* oldest_of_all(void)
{
    egb_large* found = NULL;
    for (size_t i = used_from(&cached_bins, 0); i < BINS; i = used_from(&cached_bins, i + 1)) {
        if (found == NULL || cached_bins.lists[i].oldest->number < found->number) {
            found = cached_bins.lists[i].oldest;
        }
    }
    return found;
}

// ---- in and out ---------------------------------------------------------------------------------

static egb_large* remove_kept(egb_large* large)
{
    leave_list(large);
    large->state = EGB_LARGE_NEW;
    egb_os_watch_open_(large->range.start, large->range.bytes);
    return large;
}

// The region in this state that contains an address, if regions can be cut and joined; else NULL.
static egb_large* free_at(const void* address, egb_large_state state)
{
    egb_large* const large = egb_os_can_split_() ? egb_large_at_(address) : NULL;
    return large != NULL && large->state == state ? large : NULL;
}

// Takes the first bytes off a free region, for another record.
static void give_front(egb_large* from, size_t bytes)
{
    egb_os_watch_open_(from->range.start, bytes);
    leave_list(from);
    if (from->range.bytes == bytes) {
        egb_large_leave_(from);
        egb_large_drop_record_(from);
        return;
    }
    from->range.start = (char*)from->range.start + bytes;
    from->range.bytes -= bytes;
    enter_list(from);  // as the newest of its list, but with its age: see egb_large_cache_limit_()
}

static void join(egb_large* large, const void* beside)
{
    egb_large* const other = free_at(beside, large->state);
    if (other != NULL) {
        char* const  region = other->range.start;
        const size_t bytes  = other->range.bytes;
        large->mapping      = large->mapping == other->mapping ? large->mapping : 0;
        give_front(other, bytes);
        large->range.start = region < (char*)large->range.start ? region : large->range.start;
        large->range.bytes += bytes;
    }
}

static void add_free(egb_large* large, egb_large_state state, uint32_t in_epoch)
{
    large->state = state;
    join(large, (char*)large->range.start - 1);
    join(large, end_of(large));
    egb_os_watch_close_(large->range.start, large->range.bytes);
    large->epoch  = in_epoch;
    large->number = ++times_cached;
    enter_list(large);
}

void egb_large_cache_add_(egb_large* large)
{
    add_free(large, EGB_LARGE_CACHED, EGB_LOAD_(epoch));
}

void egb_large_cache_add_empty_(egb_large* large)
{
    add_free(large, EGB_LARGE_EMPTY, 0);
}

// Regions that cannot be cut may be a quarter larger than requested: that costs addresses, and
// pages that are there anyway.
static bool is_fit(const egb_large* large, size_t align, size_t whole)
{
    return large->range.bytes >= whole && ((uintptr_t)large->range.start & (align - 1)) == 0 &&
           (egb_os_can_split_() || large->range.bytes - whole <= whole / 4);
}

// The front of a cached region. NULL: no memory for its record.
static egb_large* cut(egb_large* large, size_t whole)
{
    egb_large* const front = egb_large_new_record_();
    if (front != NULL) {
        front->range.start = large->range.start;
        front->range.bytes = whole;
        front->mapping     = large->mapping;
        front->epoch       = large->epoch;
        give_front(large, whole);
        egb_large_enter_(front);
    }
    return front;
}

// The shortest region of a list that fits; among equals the newest, whose pages are most likely
// still in a processor's cache. NULL: none fits. A list of several sizes has regions of 512 KiB or
// more: at most 512 of them are cached, unless there is a freeze.
static egb_large* best_of(const egb_large_list* its, size_t align, size_t whole, size_t* looks_left)
{
    egb_large* best = NULL;
    for (egb_large* one = its->newest; one != NULL && *looks_left != 0; one = one->older) {
        --*looks_left;
        if (is_fit(one, align, whole) && (best == NULL || one->range.bytes < best->range.bytes)) {
            best = one;
        }
        if (best != NULL && best->range.bytes == whole) {
            break;
        }
    }
    return best;
}

bool egb_large_cache_may_fit_(size_t whole)
{
    return used_from(&cached_bins, bin_of(whole)) < BINS;
}

static egb_large*
take_best(const egb_large_bins* bins, size_t align, size_t whole, size_t looks_left)
{
    egb_large* best = NULL;
    size_t     i    = used_from(bins, bin_of(whole));
    while (best == NULL && i < BINS) {
        best = best_of(&bins->lists[i], align, whole, &looks_left);
        i    = used_from(bins, i + 1);
    }
    if (best == NULL) {
        return NULL;
    }
    return best->range.bytes > whole && egb_os_can_split_() ? cut(best, whole) : remove_kept(best);
}

egb_large* egb_large_cache_take_(size_t align, size_t whole)
{
    return take_best(&cached_bins, align, whole, SIZE_MAX);
}

// There may be any number of them, and the system has others. In a freeze the process gets no
// memory any more.
egb_large* egb_large_cache_take_empty_(size_t align, size_t whole)
{
    return egb_is_frozen_() ? NULL : take_best(&empty_bins, align, whole, LOOKS_MAX);
}

bool egb_large_cache_give_behind_(egb_large* large, size_t more, bool same_mapping)
{
    egb_large* const behind = free_at(end_of(large), EGB_LARGE_CACHED);
    if (behind == NULL || behind->range.bytes < more ||
        (same_mapping && (large->mapping == 0 || behind->mapping != large->mapping))) {
        return false;
    }
    large->mapping = large->mapping == behind->mapping ? large->mapping : 0;
    give_front(behind, more);
    large->range.bytes += more;
    return true;
}

// ---- what goes ----------------------------------------------------------------------------------

// The whole region, or only `bytes` bytes of it, if it can be cut.
static egb_large* part_of(egb_large* large, size_t bytes)
{
    const size_t     whole = egb_round_up_(bytes, EGB_UNIT_BYTES);
    const bool       has   = whole < large->range.bytes && egb_os_can_split_();
    egb_large* const front = has ? cut(large, whole) : NULL;
    return front != NULL ? front : remove_kept(large);
}

static void unmap_empty(egb_unmap_list* unmap_list, const void* address)
{
    egb_large* const found = free_at(address, EGB_LARGE_EMPTY);
    if (found != NULL) {
        egb_large_unmap_later_(unmap_list, remove_kept(found));
    }
}

void egb_large_cache_give_later_(egb_unmap_list* unmap_list, egb_large* large)
{
    const bool stays = egb_os_can_split_() && egb_large_is_between_(large) &&
                       egb_large_regions_() > EGB_LARGE_REGIONS_UNMAPPED_MAX;
    if (!stays) {
        unmap_empty(unmap_list, (char*)large->range.start - 1);
        unmap_empty(unmap_list, end_of(large));
    }
    egb_large_unmap_later_(unmap_list, large);
    large->state = stays ? EGB_LARGE_EMPTY : EGB_LARGE_NEW;
}

void egb_large_cache_give_empty_(egb_unmap_list* unmap_list, size_t bytes)
{
    EGB_AMONG_DATA_ static size_t parted;
    size_t                        given = 0;
    for (size_t i = BINS; i-- > 0;) {
        const egb_large_list* const its = &empty_bins.lists[i];
        while (its->newest != NULL && given < bytes && parted < EGB_LARGE_REGIONS_UNMAPPED_MAX) {
            egb_large* const large = remove_kept(its->newest);
            parted += egb_large_is_between_(large) ? 1 : 0;
            given += large->range.bytes;
            egb_large_unmap_later_(unmap_list, large);
        }
    }
}

void egb_large_cache_limit_(egb_unmap_list* unmap_list, size_t most)
{
    while (cached_bins.bytes > most) {
        egb_large* const oldest = oldest_of_all();
        const size_t     piece  = oldest->range.bytes;
        const size_t     before = cached_bins.bytes;
        egb_large_cache_give_later_(unmap_list, part_of(oldest, before - most));
        egb_keep_note_given_(before - cached_bins.bytes, piece);
    }
}

void egb_large_cache_expire_(egb_unmap_list* unmap_list, uint32_t before, size_t bytes)
{
    egb_large* oldest = oldest_of_all();
    while (oldest != NULL && oldest->epoch < before && cached_bins.bytes >= bytes) {
        const size_t room = egb_round_down_(cached_bins.bytes - bytes, EGB_UNIT_BYTES);
        if (room == 0 || (room < oldest->range.bytes && !egb_os_can_split_())) {
            return;
        }
        egb_large_cache_give_later_(unmap_list, part_of(oldest, room));
        oldest = oldest_of_all();
    }
}

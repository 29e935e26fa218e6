// SPDX-License-Identifier: MIT
// Regions that other pools no longer need, for pools to come: a pool that is made, used and
// destroyed within a request then asks the system for nothing, and one size class of the heap can
// take over the chunks of another. Chunks grow by doubling, so a region of the exact size is likely
// to be there. If not, short ones are cut or joined, if the system takes back parts. When the cache
// is full the oldest region goes, so unused sizes do not stay. Fullness is measured in memory: a
// thousand small pools have touched two pages each of as many chunks.
#include "chunk_cache.h"

#include "../../core/growing_private.h"
#include "../../os/os.h"
#include "eggbox/pool.h"
#include "keep.h"
#include "obtain.h"

enum { REGIONS_MAX = EGB_REGION_CACHE_ADDRESSES_MAX / EGB_UNIT_BYTES };  // no region is smaller
enum { NONE = REGIONS_MAX };

// The number of newest regions searched for one to cut, or to join with others.
enum { SEARCHED = 128 };

// Longer regions are neither joined nor cut: they go to the system one at a time, and should stay
// whole for the next user.
enum { SHORT_BYTES_MAX = 1 << 20 };

// At most this many regions go to the system to make room for one: each is a system call, with
// locks held.
enum { EVICTED_MAX = 32 };

static const egb_cached_chunk no_region = {NULL, 0, 0, 0, 0, 0};

EGB_AMONG_DATA_ static egb_os_mutex cache_lock;  // protects all that follows

// Oldest first.
static egb_cached_chunk       regions[REGIONS_MAX];
EGB_AMONG_DATA_ static size_t cached_count;
EGB_AMONG_DATA_ static size_t cached_bytes;   // bytes of addresses
EGB_AMONG_DATA_ static size_t cached_memory;  // bytes of pages that may be in memory

static size_t in_pages(size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    return egb_round_up_(bytes, page);
}

static size_t memory_of(const egb_cached_chunk* one)
{
    return egb_smaller_(in_pages(one->front) + in_pages(one->bytes - one->back), one->bytes);
}

static void set_at(size_t index, const egb_cached_chunk* one)
{
    regions[index] = *one;
    cached_bytes += one->bytes;
    cached_memory += memory_of(one);
}

static void subtract(const egb_cached_chunk* one)
{
    cached_bytes -= one->bytes;
    cached_memory -= memory_of(one);
}

static egb_cached_chunk remove_at(size_t index)
{
    const egb_cached_chunk one = regions[index];
    subtract(&one);
    cached_count--;
    __builtin_memmove(
        &regions[index], &regions[index + 1], (cached_count - index) * sizeof(regions[0])
    );
    return one;
}

static size_t add_newest(const egb_cached_chunk* one)
{
    set_at(cached_count, one);
    return cached_count++;
}

// ---- joined and cut -----------------------------------------------------------------------------

static egb_cached_chunk first_part(const egb_cached_chunk* one, size_t bytes)
{
    const egb_cached_chunk part = {
        one->region,
        bytes,
        egb_smaller_(one->touched, bytes),
        egb_smaller_(one->end, bytes),
        egb_smaller_(one->front, bytes),
        egb_smaller_(one->back, bytes)
    };
    return part;
}

static egb_cached_chunk last_part(const egb_cached_chunk* one, size_t from)
{
    const egb_cached_chunk part = {
        (char*)one->region + from,
        one->bytes - from,
        one->touched - egb_smaller_(one->touched, from),
        one->end - egb_smaller_(one->end, from),
        one->front - egb_smaller_(one->front, from),
        one->back - egb_smaller_(one->back, from)
    };
    return part;
}

// The whole first region counts as touched and in memory: it has states and a header at its end.
static egb_cached_chunk both(const egb_cached_chunk* first, const egb_cached_chunk* behind)
{
    const egb_cached_chunk whole = {
        first->region,
        first->bytes + behind->bytes,
        first->bytes + behind->touched,
        first->bytes + behind->end,
        first->bytes + behind->front,
        first->bytes + behind->back
    };
    return whole;
}

static size_t first_searched(void)
{
    return cached_count > SEARCHED ? cached_count - SEARCHED : 0;
}

// The short region that starts at the end of this one.
static size_t behind(const egb_cached_chunk* one)
{
    for (size_t i = first_searched(); i < cached_count; i++) {
        if ((char*)one->region + one->bytes == (char*)regions[i].region) {
            return regions[i].bytes <= SHORT_BYTES_MAX ? i : NONE;
        }
    }
    return NONE;
}

// Whether this region and the regions right behind it have `bytes` bytes together.
static bool can_be_joined(const egb_cached_chunk* first, size_t bytes)
{
    egb_cached_chunk one = *first;
    while (one.bytes < bytes) {
        const size_t next = behind(&one);
        if (next == NONE) {
            return false;
        }
        one = both(&one, &regions[next]);
    }
    return true;
}

static size_t joined(size_t index, size_t bytes)
{
    egb_cached_chunk one = remove_at(index);
    while (one.bytes < bytes) {
        const egb_cached_chunk next = remove_at(behind(&one));
        one                         = both(&one, &next);
    }
    return add_newest(&one);
}

// ---- in and out ---------------------------------------------------------------------------------

// The newest region of the size: its pages are most likely still in a processor's cache.
static size_t of_size(size_t bytes)
{
    size_t index = cached_count;
    while (index > 0 && regions[index - 1].bytes != bytes) {
        index--;
    }
    return index > 0 ? index - 1 : NONE;
}

// The shortest region that can be cut.
static size_t longer_than(size_t bytes)
{
    size_t best = NONE;
    for (size_t i = first_searched(); i < cached_count; i++) {
        const size_t there = regions[i].bytes;
        if (there > bytes && there <= SHORT_BYTES_MAX &&
            (best == NONE || there < regions[best].bytes)) {
            best = i;
        }
    }
    return best;
}

static size_t made_of_several(size_t bytes)
{
    for (size_t i = first_searched(); i < cached_count && bytes <= SHORT_BYTES_MAX; i++) {
        if (regions[i].bytes < bytes && can_be_joined(&regions[i], bytes)) {
            return joined(i, bytes);
        }
    }
    return NONE;
}

static size_t find_region(size_t bytes)
{
    size_t index = of_size(bytes);
    if (index == NONE && egb_os_can_split_()) {
        index = longer_than(bytes);
        index = index != NONE ? index : made_of_several(bytes);
    }
    return index;
}

// The first part of a longer region; the rest stays in its place.
static egb_cached_chunk cut_at(size_t index, size_t bytes)
{
    const egb_cached_chunk whole = regions[index];
    const egb_cached_chunk rest  = last_part(&whole, bytes);
    subtract(&whole);
    set_at(index, &rest);
    return first_part(&whole, bytes);
}

// Takes a region out of the list. A tool that watches reports any use of a region in the list.
egb_cached_chunk egb_region_cache_take_(size_t bytes)
{
    egb_cached_chunk found = no_region;
    egb_os_lock_(&cache_lock);
    const size_t index = find_region(bytes);
    if (index != NONE) {
        found = regions[index].bytes == bytes ? remove_at(index) : cut_at(index, bytes);
    }
    egb_os_unlock_(&cache_lock);
    if (found.region != NULL) {
        egb_os_watch_open_(found.region, found.bytes);
    }
    return found;
}

static size_t give_to_system(const egb_cached_chunk* one)
{
    if (one->region != NULL) {
        egb_os_watch_open_(one->region, one->bytes);
        egb_region_release_(one->region, one->bytes);
    }
    return one->bytes;
}

// The memory of all regions may be `most` bytes, and may be more already: the limit changes.
static bool has_room(const egb_cached_chunk* one, size_t most)
{
    return one->bytes <= EGB_REGION_CACHE_ADDRESSES_MAX - cached_bytes && cached_memory <= most &&
           memory_of(one) <= most - cached_memory;
}

bool egb_region_cache_put_(const egb_cached_chunk* one)
{
    const size_t most = egb_smaller_(EGB_REGION_CACHE_BYTES_MAX, egb_keep_share_());
    if (one->bytes > EGB_REGION_CACHE_BYTES_MAX || memory_of(one) > most) {
        return false;
    }
    bool is_in = false;
    for (size_t evicted = 0; !is_in && evicted <= EVICTED_MAX; evicted++) {
        egb_cached_chunk oldest = no_region;
        egb_os_lock_(&cache_lock);
        is_in = has_room(one, most);
        if (is_in) {
            egb_os_watch_close_(one->region, one->bytes);
            (void)add_newest(one);
        } else if (evicted < EVICTED_MAX) {
            oldest = remove_at(0);
        }
        egb_os_unlock_(&cache_lock);
        (void)give_to_system(&oldest);
    }
    return is_in;
}

size_t egb_region_cache_held_(void)
{
    egb_os_lock_(&cache_lock);
    const size_t bytes = cached_bytes;
    egb_os_unlock_(&cache_lock);
    return bytes;
}

size_t egb_region_cache_trim_(size_t keep_bytes, size_t regions_max)
{
    size_t given = 0;
    for (size_t i = 0; i < regions_max; i++) {
        egb_os_lock_(&cache_lock);
        const egb_cached_chunk oldest = cached_bytes > keep_bytes ? remove_at(0) : no_region;
        egb_os_unlock_(&cache_lock);
        if (give_to_system(&oldest) == 0) {
            break;
        }
        given += oldest.bytes;
    }
    return given;
}

// ---- fork ---------------------------------------------------------------------------------------

void egb_region_cache_lock_(void)
{
    egb_os_lock_(&cache_lock);
}

void egb_region_cache_unlock_(void)
{
    egb_os_unlock_(&cache_lock);
}

void egb_region_cache_reset_(void)
{
    egb_os_lock_reset_(&cache_lock);
}

bool egb_region_cache_is_free_soon_(int milliseconds)
{
    return egb_os_is_free_soon_(&cache_lock, milliseconds);
}

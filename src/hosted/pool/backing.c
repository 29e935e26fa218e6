// SPDX-License-Identifier: MIT
// The backing of a pool: chunks of the system's pages, charged to every budget above the pool.
#include "backing.h"

#include "../../os/os.h"
#include "../region/large.h"
#include "../region/obtain.h"
#include "layout.h"
#include "redzone.h"
#include "registry.h"

// Facts about the pages of a chunk's region, kept behind the chunk's header.
typedef struct chunk_pages {
    size_t prefaulted;  // bytes that the system had ready, as EGB_PREFAULT asked
    size_t huge;        // bytes in large pages
    size_t front;       // pages in front of so many bytes were in memory before,
    size_t back;        // and those from so many bytes on
} chunk_pages;

static chunk_pages* pages_of(egb_chunk_* chunk)
{
    return egb_chunk_extra_(chunk);
}

// ---- the backing --------------------------------------------------------------------------------

// A pool that asked for pages in memory, or for large pages, gets them from the system.
static bool takes_cached(const egb_control* control)
{
    return (control->flags & (EGB_PREFAULT | EGB_HUGE_PAGES)) == 0;
}

// Regions of a living pool with red zones go to the system: a write to a block of a chunk that went
// is one to no memory. After the end of the pool AddressSanitizer tells of it, in the cache.
static bool may_be_cached(const egb_control* control)
{
    return takes_cached(control) && control->redzones == NULL;
}

static bool is_fresh_zero(const egb_control* control)
{
    return (control->flags & EGB_FRESH_ZERO) != 0;
}

// Reuses a region that other pools or large blocks do not need any more. The region of a large
// block counts as touched as a whole.
static egb_cached_chunk recycle(const egb_control* control, size_t bytes)
{
    const egb_cached_chunk none = {NULL, 0, 0, 0, 0, 0};
    if (!takes_cached(control)) {
        return none;
    }
    const egb_cached_chunk cached = egb_region_cache_take_(bytes);
    if (cached.region != NULL || is_fresh_zero(control)) {
        return cached;  // a large block's would have to be written zero
    }
    const egb_cached_chunk passed_on = {
        egb_large_pass_on_(bytes), bytes, bytes, bytes, bytes, bytes
    };
    return passed_on.region != NULL ? passed_on : none;
}

static void* reserve_chunk(void* user, size_t least, size_t* bytes)
{
    egb_control* const control = user;
    if (egb_charge_(control, *bytes) != NULL) {
        *bytes                        = least;
        const egb_control* const full = egb_charge_(control, *bytes);
        if (full != NULL) {
            control->source.refusal = full == control ? EGB_INVALID : EGB_LIMIT;
            return NULL;
        }
    }
    control->source.recycled = recycle(control, *bytes);
    if (control->source.recycled.region != NULL) {
        return control->source.recycled.region;
    }
    const size_t huge   = (size_t)2 << 20;
    const bool   wanted = (control->flags & EGB_HUGE_PAGES) != 0 && *bytes >= huge;
    const size_t align  = wanted ? huge : EGB_UNIT_BYTES;
    void*        region = egb_obtain_region_(*bytes, align);
    if (region == NULL && !egb_is_frozen_() && egb_large_release_all_(0) != 0) {
        region = egb_obtain_region_(*bytes, align);
    }
    if (region == NULL && egb_large_make_room_(*bytes)) {
        region = egb_obtain_region_(*bytes, align);
    }
    if (region == NULL) {
        egb_uncharge_(control, *bytes);
        control->source.refusal = EGB_NO_MEMORY;
    }
    return region;
}

// From the region's start to the end of its first `count` blocks. 0: it has none.
static size_t
bytes_of_blocks(const egb_growing_options* options, void* region, size_t bytes, size_t count)
{
    egb_chunk_place place;
    if (!egb_chunk_find_place_(options, region, bytes, &place)) {
        return 0;
    }
    const size_t before = (size_t)((const char*)place.first - (const char*)region);
    return before + egb_smaller_(count, place.count) * options->block_bytes;
}

// To where the states begin, or the header if there are none.
static size_t bytes_to_states(const egb_growing_options* options, void* region, size_t bytes)
{
    egb_chunk_place place;
    return egb_chunk_find_place_(options, region, bytes, &place)
               ? (size_t)((const char*)place.states - (const char*)region)
               : 0;
}

static void clear(const egb_cached_chunk* one, size_t from, size_t end)
{
    if (from < end) {
        __builtin_memset((char*)one->region + from, 0, end - from);
    }
}

// States and header are zero again; of some pools, the blocks as well. Regions from the
// system are so anyway. Untouched parts stay untouched, because their pages may not be in memory.
static void clear_recycled(const egb_control* control)
{
    const egb_cached_chunk* const old = &control->source.recycled;
    const size_t                  to_states =
        bytes_to_states(&control->depot.growing.options, old->region, old->bytes);
    clear(old, is_fresh_zero(control) ? 0 : to_states, old->touched);
    clear(old, old->end, old->bytes);
}

// NULL: refused, or no block fits. Map entries that were set already are given back with the range.
static egb_chunk_* put_on_map(const egb_control* control, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->depot.growing.options;
    egb_chunk_place                  place;
    egb_fixed                        fixed;
    egb_unit                         unit;
    if (!egb_chunk_find_place_(options, region, bytes, &place) ||
        !egb_chunk_plan_(options, &place, &fixed, &unit.shape)) {
        return NULL;
    }
    unit.blocks      = unit.shape.blocks;
    unit.block_bytes = control->layout->has_fixed_bytes ? control->block_bytes : 0;
    if (unit.shape.states == NULL) {
        unit.shape.blocks = 0;  // for a free that takes the pool for one at level "check"
    }
    chunk_pages* const pages     = pages_of(place.header);
    pages->prefaulted            = 0;
    pages->huge                  = 0;
    place.header->touched_before = is_fresh_zero(control) ? 0 : control->source.recycled.touched;
    pages->front                 = control->source.recycled.front;
    pages->back = control->source.recycled.region != NULL ? control->source.recycled.back : bytes;
    const size_t lane = egb_has_own_chunks_(&control->depot) ? egb_thread_self_()->lane : 0;
    unit.key          = egb_key_in_lane_(control->depot.key, lane);
    unit.chunk        = place.header;
    return egb_chunk_map_set_(region, bytes, &unit) ? place.header : NULL;
}

static egb_status commit_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const     control  = user;
    const unsigned         prefault = (control->flags & EGB_PREFAULT) != 0 ? EGB_OS_PREFAULT : 0;
    const unsigned         huge = (control->flags & EGB_HUGE_PAGES) != 0 ? EGB_OS_HUGE_PAGES : 0;
    egb_os_obtained        obtained = {0, 0};
    egb_os_obtained* const asked    = (prefault | huge) != 0 ? &obtained : NULL;  // it is not cheap
    if (control->source.recycled.region != NULL) {
        clear_recycled(control);
    } else if (egb_obtain_pages_(region, bytes, prefault | huge, asked) != EGB_OK) {
        control->source.refusal = EGB_NO_MEMORY;
        return EGB_NO_MEMORY;
    }
    egb_chunk_* const chunk = put_on_map(control, region, bytes);
    if (chunk == NULL) {
        control->source.refusal = EGB_NO_MEMORY;
        return EGB_NO_MEMORY;
    }
    pages_of(chunk)->prefaulted = obtained.prefaulted;
    pages_of(chunk)->huge       = obtained.huge;
    control->source.prefaulted += obtained.prefaulted;
    control->source.huge += obtained.huge;
    return EGB_OK;
}

// A destroyed pool larger than the region cache leaves only its last chunks there: earlier ones
// would push each other out.
static bool is_for_cache(const egb_control* control, size_t bytes)
{
    const size_t rest = control->depot.growing.held;  // without this one
    return EGB_LOAD_(control->id.generation) == 0 && rest <= EGB_REGION_CACHE_BYTES_MAX &&
           bytes <= EGB_REGION_CACHE_BYTES_MAX - rest && may_be_cached(control);
}

// The header was in the program's reach: whatever it says, no more was touched than there is.
static egb_cached_chunk
cached_of(const egb_control* control, egb_chunk_* chunk, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->depot.growing.options;
    const chunk_pages* const         pages   = pages_of(chunk);
    const size_t                     count   = egb_fixed_count_touched_(&chunk->fixed);
    const size_t                     end     = bytes_to_states(options, region, bytes);
    const size_t                     now     = bytes_of_blocks(options, region, bytes, count);
    const size_t           touched = egb_smaller_(egb_larger_(now, chunk->touched_before), end);
    const size_t           front   = egb_smaller_(egb_larger_(now, pages->front), bytes);
    const egb_cached_chunk one     = {
        region, bytes, touched, end, front, egb_smaller_(end, pages->back)
    };
    return one;
}

// Blocks that are to be zero are made so here: no alloc has to wait for it, and where such a pool
// was, the next one is likely to be such. Not if that would bring back pages that went.
static bool put_in_cache(const egb_control* control, egb_cached_chunk* one)
{
    if (is_fresh_zero(control) && !control->source.is_forgotten) {
        clear(one, 0, one->touched);
        one->touched = 0;
    }
    return egb_region_cache_put_(one);
}

// A range that is in no map was refused when it was to become memory. A chunk of a living pool goes
// to the system, because trim is for that, unless the heap passes it on: to large blocks and to
// other classes.
static void give_back_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const control = user;
    egb_chunk_* const  chunk   = egb_chunk_map_find_(control->depot.key, region);
    egb_cached_chunk   one     = {NULL, 0, 0, 0, 0, 0};
    if (chunk != NULL) {
        control->source.prefaulted -= pages_of(chunk)->prefaulted;
        control->source.huge -= pages_of(chunk)->huge;
        if (control->redzones != NULL && EGB_LOAD_(control->id.generation) != 0) {
            egb_redzone_look_at_(control, chunk);
        }
        if (is_for_cache(control, bytes)) {
            one = cached_of(control, chunk, region, bytes);
        }
    }
    egb_chunk_map_clear_(region, bytes);
    egb_os_watch_open_(region, bytes);
    const bool is_passed_on = control->source.is_passing_on && may_be_cached(control) &&
                              egb_large_take_over_(region, bytes);
    if (!is_passed_on && (one.region == NULL || !put_in_cache(control, &one))) {
        egb_region_release_(region, bytes);
    }
    egb_uncharge_(control, bytes);
}

egb_backing egb_pool_backing_(egb_control* control)
{
    const egb_backing backing = {
        reserve_chunk,
        commit_chunk,
        give_back_chunk,
        control,
        EGB_UNIT_BYTES,
        true,
        sizeof(chunk_pages)
    };
    return backing;
}

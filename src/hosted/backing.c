// SPDX-License-Identifier: MIT
// Where chunks of pools come from: the system's pages, charged to every budget above the pool.
#include "heap_private.h"
#include "seal.h"

static size_t whole_units(size_t bytes, size_t unit)
{
    return bytes > SIZE_MAX - (unit - 1) ? 0 : (bytes + unit - 1) / unit * unit;
}

void* egb_pages(size_t bytes)
{
    const size_t page = egb_os_page_bytes();
    if (page == 0) {
        return NULL;
    }
    const size_t whole  = whole_units(bytes, page);
    void* const  region = whole == 0 ? NULL : egb_ask_reserve(whole, page);
    if (region != NULL && egb_ask_commit(region, whole, 0, NULL) != EGB_OK) {
        egb_os_release(region, whole);
        return NULL;
    }
    return region;
}

void egb_pages_release(void* region, size_t bytes)
{
    egb_os_release(region, whole_units(bytes, egb_os_page_bytes()));
}

// ---- the library's own pools --------------------------------------------------------------------

// NOLINTNEXTLINE(readability-non-const-parameter): a backing's function has this type
static void* reserve_pages(void* user, size_t least, size_t* bytes)
{
    (void)user;
    (void)least;
    return egb_ask_reserve(*bytes, EGB_UNIT_BYTES);
}

static egb_status commit_pages(void* user, void* region, size_t bytes)
{
    (void)user;
    return egb_ask_commit(region, bytes, 0, NULL);
}

static void release_pages(void* user, void* region, size_t bytes)
{
    (void)user;
    egb_os_release(region, bytes);
}

egb_backing egb_plain_backing(void)
{
    const egb_backing backing = {
        reserve_pages, commit_pages, release_pages, NULL, EGB_UNIT_BYTES, true
    };
    return backing;
}

// ---- the ledger ---------------------------------------------------------------------------------

static bool fits(const egb_control* control, size_t bytes)
{
    return control->budget_bytes == 0 || (control->held <= control->budget_bytes &&
                                          bytes <= control->budget_bytes - control->held);
}

static void add(egb_control* control, size_t bytes)
{
    for (; control != NULL; control = control->parent) {
        EGB_STORE_(control->held, control->held + bytes);  // the heap's is read without a lock
    }
}

// NULL: done. Else nothing has changed, and it is the pool whose budget is too small: the lowest.
static const egb_control* charge(egb_control* control, size_t bytes)
{
    egb_os_lock(&egb_the_world.ledger);
    const egb_control* one = control;
    while (one != NULL && fits(one, bytes)) {
        one = one->parent;
    }
    if (one == NULL) {
        add(control, bytes);
    }
    egb_os_unlock(&egb_the_world.ledger);
    return one;
}

void egb_uncharge(egb_control* control, size_t bytes)
{
    if (control->is_charged) {
        egb_os_lock(&egb_the_world.ledger);
        add(control, (size_t)0 - bytes);
        egb_os_unlock(&egb_the_world.ledger);
    }
}

bool egb_charge(egb_control* control, size_t bytes)
{
    return charge(control, bytes) == NULL;
}

void egb_uncharge_all(egb_control* control)
{
    egb_uncharge(control, control->growing.held);
    control->is_charged = false;
}

// ---- the backing --------------------------------------------------------------------------------

// Who asked for pages to be there, or to be large, gets them from the system.
static bool may_be_shelved(const egb_control* control)
{
    return (control->flags & (EGB_PREFAULT | EGB_HUGE_PAGES)) == 0;
}

static bool is_fresh_zero(const egb_control* control)
{
    return (control->flags & EGB_FRESH_ZERO) != 0;
}

// What other pools or large blocks do not need any more. Of a large block all is as if touched.
static egb_shelved recycle(const egb_control* control, size_t bytes)
{
    const egb_shelved none = {NULL, 0, 0, 0, 0, 0};
    if (!may_be_shelved(control)) {
        return none;
    }
    const egb_shelved shelved = egb_shelf_take(bytes);
    if (shelved.region != NULL || is_fresh_zero(control)) {
        return shelved;  // a large block's would have to be written zero
    }
    const egb_shelved passed_on = {egb_large_pass_on(bytes), bytes, bytes, bytes, bytes, bytes};
    return passed_on.region != NULL ? passed_on : none;
}

static void* reserve_chunk(void* user, size_t least, size_t* bytes)
{
    egb_control* const control = user;
    if (charge(control, *bytes) != NULL) {
        *bytes                        = least;
        const egb_control* const full = charge(control, *bytes);
        if (full != NULL) {
            control->refusal = full == control ? EGB_INVALID : EGB_LIMIT;
            return NULL;
        }
    }
    control->recycled = recycle(control, *bytes);
    if (control->recycled.region != NULL) {
        return control->recycled.region;
    }
    const size_t huge   = (size_t)2 << 20;
    const bool   wanted = (control->flags & EGB_HUGE_PAGES) != 0 && *bytes >= huge;
    const size_t align  = wanted ? huge : EGB_UNIT_BYTES;
    void*        region = egb_ask_reserve(*bytes, align);
    if (region == NULL && !egb_is_sealed() && egb_large_release(UINT32_MAX, 0) != 0) {
        region = egb_ask_reserve(*bytes, align);
    }
    if (region == NULL) {
        egb_uncharge(control, *bytes);
        control->refusal = EGB_NO_MEMORY;
    }
    return region;
}

// A pool that is being made gets the next generation.
static uint64_t key_of(const egb_control* control)
{
    const uint32_t now  = EGB_LOAD_(control->generation);
    const egb_pool pool = {control->slot, now != 0 ? now : control->last_generation + 1};
    return egb_pool_key_(pool);
}

// From the region's start to the end of its first `count` blocks. 0: it has none.
static size_t
bytes_of_blocks(const egb_growing_options* options, void* region, size_t bytes, size_t count)
{
    egb_chunk_place place;
    if (!egb_chunk_find_place(options, region, bytes, &place)) {
        return 0;
    }
    const size_t before = (size_t)((const char*)place.first - (const char*)region);
    return before + egb_smaller(count, place.count) * options->block_bytes;
}

// To where the states begin, or the header if there are none.
static size_t bytes_to_states(const egb_growing_options* options, void* region, size_t bytes)
{
    egb_chunk_place place;
    return egb_chunk_find_place(options, region, bytes, &place)
               ? (size_t)((const char*)place.states - (const char*)region)
               : 0;
}

static void clear(const egb_shelved* one, size_t from, size_t end)
{
    if (from < end) {
        __builtin_memset((char*)one->region + from, 0, end - from);
    }
}

// States and header are zero again; of some pools, the blocks as well. Regions from the
// system are so anyway. Where nothing was touched, nothing is: pages may not be there.
static void clear_recycled(const egb_control* control)
{
    const egb_shelved* const old = &control->recycled;
    const size_t to_states = bytes_to_states(&control->growing.options, old->region, old->bytes);
    clear(old, is_fresh_zero(control) ? 0 : to_states, old->touched);
    clear(old, old->end, old->bytes);
}

// NULL: refused, or no block fits. What is in the map already is given back with the range.
static egb_chunk_* put_on_map(const egb_control* control, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->growing.options;
    egb_chunk_place                  place;
    egb_fixed                        fixed;
    egb_unit                         unit;
    if (!egb_chunk_find_place(options, region, bytes, &place) ||
        !egb_chunk_plan(options, &place, &fixed, &unit.shape)) {
        return NULL;
    }
    unit.blocks      = unit.shape.blocks;
    unit.block_bytes = control->guards == NULL ? control->block_bytes : 0;
    if (unit.shape.states == NULL) {
        unit.shape.blocks = 0;  // for a free that takes the pool for one at level "check"
    }
    place.header->prefaulted     = 0;
    place.header->huge           = 0;
    place.header->touched_before = is_fresh_zero(control) ? 0 : control->recycled.touched;
    place.header->front          = control->recycled.front;
    place.header->back = control->recycled.region != NULL ? control->recycled.back : bytes;
    const size_t lane  = egb_has_own_chunks(control) ? egb_thread_self_()->lane : 0;
    unit.key           = egb_key_in_lane(key_of(control), lane);
    unit.chunk         = place.header;
    return egb_chunk_map_set(region, bytes, &unit) ? place.header : NULL;
}

static egb_status commit_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const     control  = user;
    const unsigned         prefault = (control->flags & EGB_PREFAULT) != 0 ? EGB_OS_PREFAULT : 0;
    const unsigned         huge = (control->flags & EGB_HUGE_PAGES) != 0 ? EGB_OS_HUGE_PAGES : 0;
    egb_os_obtained        obtained = {0, 0};
    egb_os_obtained* const asked    = (prefault | huge) != 0 ? &obtained : NULL;  // it is not cheap
    if (control->recycled.region != NULL) {
        clear_recycled(control);
    } else if (egb_ask_commit(region, bytes, prefault | huge, asked) != EGB_OK) {
        control->refusal = EGB_NO_MEMORY;
        return EGB_NO_MEMORY;
    }
    egb_chunk_* const chunk = put_on_map(control, region, bytes);
    if (chunk == NULL) {
        control->refusal = EGB_NO_MEMORY;
        return EGB_NO_MEMORY;
    }
    chunk->prefaulted = obtained.prefaulted;
    chunk->huge       = obtained.huge;
    control->prefaulted += obtained.prefaulted;
    control->huge += obtained.huge;
    return EGB_OK;
}

// Of a destroyed pool that is larger than the shelf only the last chunks: others would push each
// other out.
static bool is_for_shelf(const egb_control* control, size_t bytes)
{
    const size_t rest    = control->growing.held;  // without this one
    const bool   is_last = EGB_LOAD_(control->generation) == 0 && rest <= EGB_SHELF_BYTES_MAX &&
                         bytes <= EGB_SHELF_BYTES_MAX - rest;
    return (is_last || control->is_passing_on) && may_be_shelved(control);
}

// The header was in the program's reach: whatever it says, no more was touched than there is.
static egb_shelved
shelved_of(const egb_control* control, const egb_chunk_* chunk, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->growing.options;
    const size_t                     count   = egb_fixed_count_touched(&chunk->fixed);
    const size_t                     end     = bytes_to_states(options, region, bytes);
    const size_t                     now     = bytes_of_blocks(options, region, bytes, count);
    const size_t      touched = egb_smaller(egb_larger(now, chunk->touched_before), end);
    const size_t      front   = egb_smaller(egb_larger(now, chunk->front), bytes);
    const egb_shelved one     = {region, bytes, touched, end, front, egb_smaller(end, chunk->back)};
    return one;
}

// Blocks that are to be zero are made so here: no alloc has to wait for it, and where such a pool
// was, the next one is likely to be such. Not if that would bring back pages that went.
static bool put_on_shelf(const egb_control* control, egb_shelved* one)
{
    if (is_fresh_zero(control) && !control->is_forgotten) {
        clear(one, 0, one->touched);
        one->touched = 0;
    }
    return egb_shelf_put(one);
}

// A range that is in no map was refused when it was to become memory. What a living pool gives back
// goes to the system, unless others are to have it: that is what trim is for.
static void give_back_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const      control = user;
    const egb_chunk_* const chunk   = egb_chunk_map_find(control, region);
    egb_shelved             one     = {NULL, 0, 0, 0, 0, 0};
    if (chunk != NULL) {
        control->prefaulted -= chunk->prefaulted;
        control->huge -= chunk->huge;
        if (is_for_shelf(control, bytes)) {
            one = shelved_of(control, chunk, region, bytes);
        }
    }
    egb_chunk_map_clear(region, bytes);
    egb_os_watch_open(region, bytes);
    if (one.region == NULL || !put_on_shelf(control, &one)) {
        egb_os_release(region, bytes);
    }
    egb_uncharge(control, bytes);
}

egb_backing egb_pool_backing(egb_control* control)
{
    const egb_backing backing = {
        reserve_chunk, commit_chunk, give_back_chunk, control, EGB_UNIT_BYTES, true
    };
    return backing;
}

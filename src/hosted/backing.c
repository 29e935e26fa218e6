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
    if (region != NULL && egb_os_commit(region, whole, 0, NULL) != EGB_OK) {
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
    return egb_os_commit(region, bytes, 0, NULL);
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
        control->held += bytes;
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

static bool may_be_shelved(const egb_control* control, size_t bytes)
{
    return bytes == EGB_UNIT_BYTES && (control->flags & (EGB_PREFAULT | EGB_HUGE_PAGES)) == 0;
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
    void* const old      = may_be_shelved(control, *bytes) ? egb_shelf_take() : NULL;
    control->is_recycled = old != NULL;
    if (old != NULL) {
        return old;
    }
    const size_t huge   = (size_t)2 << 20;
    const bool   wanted = (control->flags & EGB_HUGE_PAGES) != 0 && *bytes >= huge;
    const size_t align  = wanted ? huge : EGB_UNIT_BYTES;
    void*        region = egb_ask_reserve(*bytes, align);
    if (region == NULL && egb_large_make_room()) {
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

// What stands behind the blocks is zero again; of some pools, the blocks as well. Regions from the
// system are so anyway.
static void clear_recycled(const egb_control* control, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->growing.options;
    egb_chunk_place                  place;
    if ((control->flags & EGB_FRESH_ZERO) != 0) {
        __builtin_memset(region, 0, bytes);
    } else if (egb_chunk_find_place(options, region, bytes, &place)) {
        char* const from = (char*)place.first + place.count * options->block_bytes;
        __builtin_memset(from, 0, (size_t)((char*)region + bytes - from));
    }
}

// NULL: refused, or no block fits. What is in the map already is given back with the range.
static egb_chunk_* put_on_map(const egb_control* control, void* region, size_t bytes)
{
    const egb_growing_options* const options = &control->growing.options;
    egb_chunk_place                  place;
    egb_fixed                        fixed;
    egb_shape_                       shape;
    if (!egb_chunk_find_place(options, region, bytes, &place) ||
        !egb_chunk_plan(options, &place, &fixed, &shape)) {
        return NULL;
    }
    place.header->prefaulted = 0;
    place.header->huge       = 0;
    const size_t   lane      = egb_has_own_chunks(control) ? egb_thread_self_()->lane : 0;
    const uint64_t key       = egb_key_in_lane(key_of(control), lane);
    return egb_chunk_map_set(region, bytes, place.header, key, &shape) ? place.header : NULL;
}

static egb_status commit_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const     control  = user;
    const unsigned         prefault = (control->flags & EGB_PREFAULT) != 0 ? EGB_OS_PREFAULT : 0;
    const unsigned         huge = (control->flags & EGB_HUGE_PAGES) != 0 ? EGB_OS_HUGE_PAGES : 0;
    egb_os_obtained        obtained = {0, 0};
    egb_os_obtained* const asked    = (prefault | huge) != 0 ? &obtained : NULL;  // it is not cheap
    if (control->is_recycled) {
        clear_recycled(control, region, bytes);
    } else if (egb_os_commit(region, bytes, prefault | huge, asked) != EGB_OK) {
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

// A range that is in no map was refused when it was to become memory. What a living pool gives back
// goes to the system: that is what trim is for.
static void give_back_chunk(void* user, void* region, size_t bytes)
{
    egb_control* const      control = user;
    const egb_chunk_* const chunk   = egb_chunk_map_find(control, region);
    if (chunk != NULL) {
        control->prefaulted -= chunk->prefaulted;
        control->huge -= chunk->huge;
    }
    egb_chunk_map_clear(region, bytes);
    egb_os_watch_open(region, bytes);
    const bool is_dead = EGB_LOAD_(control->generation) == 0;
    if (!is_dead || chunk == NULL || !may_be_shelved(control, bytes) || !egb_shelf_put(region)) {
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

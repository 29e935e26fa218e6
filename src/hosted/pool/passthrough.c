// SPDX-License-Identifier: MIT
#include "passthrough.h"

#include "../../os/os.h"
#include "../cache/magazine.h"
#include "../cache/peak.h"
#include "../region/pages.h"
#include "backing.h"
#include "layout.h"
#include "registry.h"

// A table by address, at most half full, with linear probing. Removal moves the following entries
// back, and leaves no marks: D. Knuth, "The Art of Computer Programming", volume 3, 6.4, algorithm
// R. The home of a block is the upper part of its mixed address. A walk in the order of these finds
// its way however many blocks came and went in between.
typedef struct egb_register {
    egb_os_mutex lock;
    egb_passed*  places;  // atomic; NULL: none yet
    size_t       size;    // a power of two
    size_t       count;
} egb_register;

enum { FIRST_SIZE = 1024 };

static egb_register the_register;

// ---- the register, with its lock held -----------------------------------------------------------

static size_t home_of(uint64_t mixed)
{
    return (size_t)((mixed >> 32) * the_register.size >> 32);
}

static size_t bucket_of(const void* block)
{
    return home_of(egb_mix_((uintptr_t)block));
}

// The place of the block, or the place that it would get.
static egb_passed* place_for(const void* block)
{
    size_t at = bucket_of(block);
    while (the_register.places[at].control != NULL && the_register.places[at].block != block) {
        at = (at + 1) & (the_register.size - 1);
    }
    return &the_register.places[at];
}

static egb_passed* find_passed(const void* block)
{
    egb_passed* const place = the_register.places == NULL ? NULL : place_for(block);
    return place == NULL || place->control == NULL ? NULL : place;
}

static bool make_larger(void)
{
    egb_passed* const old      = the_register.places;
    const size_t      old_size = the_register.size;
    const size_t      size     = old == NULL ? FIRST_SIZE : 2 * old_size;
    egb_passed* const places   = egb_pages_(size * sizeof(egb_passed));
    if (places == NULL) {
        return false;
    }
    EGB_STORE_(the_register.places, places);
    the_register.size = size;
    for (size_t i = 0; old != NULL && i < old_size; i++) {
        if (old[i].control != NULL) {
            *place_for(old[i].block) = old[i];
        }
    }
    if (old != NULL) {
        egb_pages_release_(old, old_size * sizeof(egb_passed));
    }
    return true;
}

static bool enter(egb_passed passed)
{
    if (2 * (the_register.count + 1) > the_register.size && !make_larger()) {
        return false;
    }
    *place_for(passed.block) = passed;
    the_register.count++;
    return true;
}

static void leave(egb_passed* place)
{
    const size_t mask = the_register.size - 1;
    size_t       hole = (size_t)(place - the_register.places);
    for (size_t at = (hole + 1) & mask; the_register.places[at].control != NULL;
         at        = (at + 1) & mask) {
        const size_t home = bucket_of(the_register.places[at].block);
        if (((at - home) & mask) >= ((at - hole) & mask)) {  // it may stand in the hole
            the_register.places[hole] = the_register.places[at];
            hole                      = at;
        }
    }
    the_register.places[hole].control = NULL;
    the_register.count--;
}

// ---- blocks -------------------------------------------------------------------------------------

egb_passed egb_pass_find_(const void* block)
{
    egb_passed found = {block, NULL, 0};
    if (EGB_LOAD_(the_register.places) == NULL) {  // then nobody has a block to ask about
        return found;
    }
    egb_os_lock_(&the_register.lock);
    const egb_passed* const place = find_passed(block);
    if (place != NULL) {
        found = *place;
    }
    egb_os_unlock_(&the_register.lock);
    return found;
}

// As many blocks as there are, and no chunk: so the pool's numbers are right.
static void count_block(egb_control* control, bool is_more)
{
    const size_t one     = is_more ? 1 : (size_t)0 - 1;
    egb_growing* growing = &control->depot.growing;
    growing->in_use += one;
    growing->capacity += one;
    growing->held += one * growing->options.block_bytes;
}

static void*
pass_take(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request)
{
    (void)magazine;
    (void)pool;
    const egb_growing_options* const options = &control->depot.growing.options;
    const bool                       is_full =
        options->max_blocks != 0 && control->depot.growing.in_use >= options->max_blocks;
    if (is_full) {
        return NULL;
    }
    if (egb_charge_(control, options->block_bytes) != NULL) {
        control->source.refusal = EGB_LIMIT;
        return NULL;
    }
    const size_t     bytes  = request->bytes == 0 ? control->block_bytes : request->bytes;
    void* const      block  = egb_os_malloc_(options->block_align, bytes);
    const egb_passed passed = {block, control, bytes};
    egb_os_lock_(&the_register.lock);
    const bool is_in = block != NULL && enter(passed);
    egb_os_unlock_(&the_register.lock);
    if (!is_in) {
        egb_os_free_(block);
        egb_uncharge_(control, options->block_bytes);
        control->source.refusal = EGB_NO_MEMORY;
        return NULL;
    }
    if ((control->flags & EGB_FRESH_ZERO) != 0) {
        __builtin_memset(block, 0, bytes);
    }
    count_block(control, true);
    egb_note_peak_(&control->depot);
    return block;
}

static bool give_if_its(egb_control* control, void* block)
{
    egb_os_lock_(&the_register.lock);
    egb_passed* const place = find_passed(block);
    const bool        is_in = place != NULL && place->control == control;
    if (is_in) {
        leave(place);
    }
    egb_os_unlock_(&the_register.lock);
    if (is_in) {
        egb_os_free_(block);
        count_block(control, false);
        control->depot.frees++;
        egb_uncharge_(control, control->depot.growing.options.block_bytes);
    }
    return is_in;
}

static void pass_end(egb_control* control)
{
    egb_os_lock_(&the_register.lock);
    for (size_t at = 0; at < the_register.size;) {
        if (the_register.places[at].control == control) {
            egb_os_free_((void*)(uintptr_t)the_register.places[at].block);
            leave(&the_register.places[at]);  // another may stand here now
        } else {
            at++;
        }
    }
    egb_os_unlock_(&the_register.lock);
}

// The entry that follows `after` in the order of mixed addresses; NULL: none does. An entry is at
// its home or behind it, and no empty place is between them. Behind the end of the table there are
// only entries that had no place before it.
static const egb_passed* pass_after(const egb_control* control, uint64_t after)
{
    const size_t      start = home_of(after);
    const egb_passed* best  = NULL;
    for (size_t at = start; at < start + the_register.size; at++) {
        const egb_passed* const place = &the_register.places[at & (the_register.size - 1)];
        if (place->control == NULL && (best != NULL || at >= the_register.size)) {
            break;
        }
        const uint64_t mixed = egb_mix_((uintptr_t)place->block);
        if (place->control == control && mixed > after && home_of(mixed) <= at &&
            (best == NULL || mixed < egb_mix_((uintptr_t)best->block))) {
            best = place;
        }
    }
    return best;
}

static bool pass_next_window(const egb_control* control, egb_block_window* window)
{
    egb_os_lock_(&the_register.lock);
    const egb_passed* const place =
        the_register.places == NULL ? NULL : pass_after(control, window->after);
    if (place != NULL) {
        window->after     = egb_mix_((uintptr_t)place->block);
        window->first     = (egb_word*)(uintptr_t)place->block;
        window->stride    = 0;
        window->count     = 1;
        window->in_use[0] = 1;
    }
    egb_os_unlock_(&the_register.lock);
    return place != NULL;
}

// ---- the layout ---------------------------------------------------------------------------------

static egb_free_fault pass_give(
    egb_control* control, egb_magazine_* magazine, egb_pool pool, void* block, const void* site
)
{
    egb_free_fault fault = {0, EGB_NO_INDEX};
    (void)magazine;
    (void)pool;
    (void)site;
    if (!give_if_its(control, block)) {
        const bool is_others =
            egb_pass_find_(block).control != NULL || egb_owner_of_(block) != NULL;
        fault.kind = is_others ? EGB_MISUSE_WRONG_POOL : EGB_MISUSE_FOREIGN;
    }
    return fault;
}

static size_t pass_bytes_of(const egb_control* control, const void* block)
{
    (void)control;
    return egb_pass_find_(block).bytes;
}

static bool pass_is_live(const egb_control* control, const void* block)
{
    return egb_pass_find_(block).control == control;
}

const egb_layout egb_layout_passthrough_ = {
    .passes_foreign_on = true,
    .head              = egb_plain_head_,
    .align_min         = EGB_WORD_BYTES,
    .take              = pass_take,
    .give              = pass_give,
    .bytes_of          = pass_bytes_of,
    .is_live           = pass_is_live,
    .next_window       = pass_next_window,
    .check             = egb_plain_check_,
    .is_whole          = egb_plain_is_whole_,
    .take_finding      = egb_plain_finding_,
    .history           = egb_plain_history_,
    .begin             = egb_plain_begin_,
    .end               = pass_end,
};

// ---- fork ---------------------------------------------------------------------------------------

void egb_pass_lock_(void)
{
    egb_os_lock_(&the_register.lock);
}

void egb_pass_unlock_(void)
{
    egb_os_unlock_(&the_register.lock);
}

void egb_pass_reset_(void)
{
    egb_os_lock_reset_(&the_register.lock);
}

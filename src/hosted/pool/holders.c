// SPDX-License-Identifier: MIT
// Live allocations by site: the blocks in use of pools at level "track", and the sampled ones of
// pools at level "sample", by the place that allocated them. Also all blocks that
// were ever sampled.
#include "holders.h"

#include "../../os/os.h"
#include "../region/large.h"
#include "../region/obtain.h"
#include "../region/pages.h"
#include "../report/text.h"
#include "../stacks/stacks.h"
#include "fork.h"
#include "reach.h"
#include "redzone.h"
#include "registry.h"

// A fifth of the places stays free: where all were taken, a site that found none would be compared
// with each of them, for each of its blocks, with the pools locked.
enum {
    ONCE_IN_MS       = 1000,
    USED_BITS        = 32,
    HOLDER_PLACES    = EGB_HOLDERS_MAX / 4 * 5,
    HOLDER_REST      = HOLDER_PLACES - 1,
    HOLDER_SITES_MAX = EGB_HOLDERS_MAX - 1
};

// The blocks and bytes of a place; samples are scaled.
typedef struct holder_sum {
    double blocks;
    double bytes;
} holder_sum;

typedef enum gathering { ALL_IN_USE, NEW_IN_USE, ALL_SAMPLED } gathering;

// The last place is for those that come when there are as many sites as may be. The names are
// copies: when a holder is visited, no lock is held, and its pool's control block may be another
// pool's.
typedef struct egb_holder_place {
    egb_holder  holder;  // `blocks` counts the additions to `sum`, as long as blocks are gathered
    const void* stack;   // as room stacks has it; NULL: not known
    holder_sum  sum;
    egb_reach   reach;
} egb_holder_place;

typedef struct egb_holders {
    egb_holder_place places[HOLDER_PLACES];
    uint32_t     used[HOLDER_PLACES / USED_BITS];  // a bit for each place; few pages are touched
    char         names[HOLDER_PLACES][EGB_NAME_BYTES];
    size_t       site_count;
    uint64_t     now;
    gathering    wanted;
    bool         have_reach;
    egb_reach    reach;    // the reach of the block being visited
    uint64_t     lost;     // samples, if those are wanted
    egb_control* control;  // the pool being visited
    egb_pool     pool;
    const char*  name;
} egb_holders;

static uint64_t large_before;  // number of the last large block that reports leave out; atomic

// ---- gathering ----------------------------------------------------------------------------------

// A block, or several of one site.
typedef struct origin {
    egb_history history;  // without stacks
    const void* stack;    // as room stacks has it; NULL: not known
} origin;

static const void* known_stack_of(const void* site)
{
    return egb_site_is_stack_(site) ? site : NULL;
}

// A line of the source may be at several places of the code.
static bool is_place(const egb_holder_place* place, egb_pool pool, const origin* from)
{
    const egb_holder*  holder  = &place->holder;
    const egb_history* history = &from->history;
    const bool is_same_site    = history->alloc_file != NULL || holder->site == history->alloc_site;
    return is_same_site && place->stack == from->stack && holder->file == history->alloc_file &&
           holder->line == history->alloc_line && holder->pool.slot == pool.slot &&
           holder->pool.generation == pool.generation;
}

static size_t first_place(const egb_holders* all, const origin* from)
{
    const egb_history* const history = &from->history;
    const void* const        where =
        history->alloc_file != NULL ? history->alloc_file : history->alloc_site;
    const uint64_t sum   = (uint64_t)(uintptr_t)where + (uintptr_t)from->stack;
    const uint64_t key   = sum + history->alloc_line + all->pool.slot + (uint64_t)all->reach;
    const uint64_t mixed = egb_mix_(key);
    return (size_t)(mixed >> 40) % HOLDER_REST;
}

static void begin_place(egb_holders* all, size_t at, const origin* from)
{
    const egb_history* const history = &from->history;
    egb_holder* const        place   = &all->places[at].holder;
    all->places[at].reach            = all->reach;
    all->places[at].stack            = from->stack;
    place->pool                      = all->pool;
    place->pool_name                 = all->names[at];
    egb_text_copy_(all->names[at], EGB_NAME_BYTES, all->name);
    place->site = history->alloc_site;
    place->file = history->alloc_file;
    place->line = history->alloc_line;
    all->site_count++;
}

// A table of sums, filled with the registry locked. The set of settings/number_set.h only tells
// whether a number is new.
static egb_holder_place* place_of(egb_holders* all, const origin* from)
{
    size_t at = first_place(all, from);
    while (all->places[at].holder.blocks != 0) {
        if (all->places[at].reach == all->reach && is_place(&all->places[at], all->pool, from)) {
            return &all->places[at];
        }
        at = (at + 1) % HOLDER_REST;
    }
    if (all->site_count == HOLDER_SITES_MAX) {
        all->places[HOLDER_REST].holder.pool_name = "(other sites)";
        return &all->places[HOLDER_REST];
    }
    begin_place(all, at, from);
    return &all->places[at];
}

static egb_holder* add_to_place(egb_holders* all, const origin* from, holder_sum more)
{
    egb_holder_place* const place = place_of(all, from);
    const size_t            at    = (size_t)(place - all->places);
    all->used[at / USED_BITS] |= (uint32_t)1 << at % USED_BITS;
    place->holder.blocks++;
    place->sum.blocks += more.blocks;
    place->sum.bytes += more.bytes;
    return &place->holder;
}

// `scale`: how many blocks a sample stands for; 0: it is no sample.
static void gather_one(egb_holders* all, const origin* from, uint64_t when, double scale)
{
    const uint64_t    age   = all->now - when;
    const double      count = scale == 0 ? 1 : scale;
    const holder_sum  more  = {count, count * (double)from->history.bytes};
    egb_holder* const place = add_to_place(all, from, more);
    place->samples += scale == 0 ? 0 : 1;
    if (place->blocks == 1 || age > place->oldest_ms) {
        place->oldest_ms = age;
        place->thread    = from->history.alloc_thread;
    }
}

// Every block has its mark taken back, also one that is left out.
static void take_reach(egb_holders* all, const void** mark)
{
    const egb_reach reach = all->wanted == NEW_IN_USE ? egb_reach_take_(mark) : EGB_REACH_UNKNOWN;
    all->reach            = all->have_reach ? reach : EGB_REACH_UNKNOWN;
}

static void gather_block(void* block, void* user)
{
    egb_holders* const all = user;
    take_reach(all, egb_redzone_mark_(block));
    const void*       site;
    const egb_history history = egb_redzone_origin_(all->control, block, &site);
    const origin      from    = {history, known_stack_of(site)};
    if (all->wanted != NEW_IN_USE || history.serial > all->control->redzones->serial_before) {
        gather_one(all, &from, egb_redzone_when_(block), 0);
    }
}

static origin origin_of_site(const void* site, size_t bytes, uint32_t thread)
{
    const origin from = {
        {.bytes = bytes, .alloc_site = egb_site_address_(site), .alloc_thread = thread},
        known_stack_of(site)
    };
    return from;
}

static void gather_large(void* record, void* user)
{
    egb_holders* const all   = user;
    egb_large* const   large = record;
    if (!egb_large_has_owner_(large)) {
        return;
    }
    egb_large_owner* const owner = &large->owner;
    const origin           from  = origin_of_site(owner->site, owner->bytes, owner->thread);
    if (egb_large_is_tracked_(large)) {
        take_reach(all, &owner->mark);
    } else {
        all->reach = EGB_REACH_UNKNOWN;
    }
    if (all->wanted != NEW_IN_USE || owner->serial > EGB_LOAD_(large_before)) {
        gather_one(all, &from, owner->when, owner->scale);
    }
}

static void gather_records(egb_holders* all, const egb_samples* samples)
{
    for (size_t i = 0; i < samples->record_places; i++) {
        const egb_sample* const one  = &samples->records[i];
        const origin            from = origin_of_site(one->site, one->bytes, one->thread);
        if (one->block != NULL &&
            (all->wanted != NEW_IN_USE || one->serial > samples->serial_before)) {
            gather_one(all, &from, one->when, one->scale);
        }
    }
}

static void gather_sums(egb_holders* all, const egb_samples* samples)
{
    all->lost += samples->lost;
    for (size_t i = 0; i < samples->sum_places; i++) {
        const egb_sample_sum* const one  = &samples->sums[i];
        const holder_sum            more = {one->blocks, one->bytes};
        const origin                from = origin_of_site(one->site, 0, 0);
        if (one->samples != 0) {
            add_to_place(all, &from, more)->samples += (size_t)one->samples;
        }
    }
}

// With the registry lock held, and the pool's.
static void gather_pool(egb_holders* all, egb_control* control)
{
    all->control = control;
    all->name    = control->name;
    all->pool    = egb_handle_of_(control);
    all->now     = egb_os_milliseconds_();
    all->reach   = EGB_REACH_UNKNOWN;
    if (control->samples != NULL && all->wanted == ALL_SAMPLED) {
        gather_sums(all, control->samples);
    } else if (control->samples != NULL) {
        gather_records(all, control->samples);
    } else if (control->level == EGB_LEVEL_TRACK && control->redzones != NULL) {
        egb_each_live_(control, gather_block, all);
    }
}

static void gather_tracked(egb_holders* all, egb_control* first)
{
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        if (one->id.slot != 0) {
            gather_pool(all, one);
        }
    }
}

static void gather_all_large(egb_holders* all)
{
    const egb_pool root = {0, 0};
    all->name           = "large";
    all->pool           = root;
    all->now            = egb_os_milliseconds_();
    all->reach          = EGB_REACH_UNKNOWN;
    if (all->wanted == ALL_SAMPLED) {
        gather_sums(all, &egb_large_samples_);
    } else {
        egb_large_each_(gather_large, all);
    }
}

// Between the look for reachable blocks and this one no block may come or go, so all are locked.
static void lock_pools(egb_control* first)
{
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        if (one->id.slot != 0) {
            egb_depot_lock_(&one->depot);
        }
    }
    egb_large_lock_();
}

static void unlock_pools(egb_control* first)
{
    egb_large_unlock_();
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        if (one->id.slot != 0) {
            egb_depot_let_go_(&one->depot);
        }
    }
}

// Nothing is said of samples: their pools have more blocks, which lead to others. A process in
// production is not looked through for them.
static bool may_have_reach(void)
{
    return egb_has_tracked_() || !egb_has_samples_();
}

static egb_status gather(egb_holders* all, egb_pool root)
{
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const first = egb_registry_.controls == NULL ? NULL : egb_control_or_root_(root);
    lock_pools(first);
    all->have_reach = all->wanted == NEW_IN_USE && may_have_reach() && egb_reach_mark_();
    gather_tracked(all, first);
    if (first != NULL && egb_is_null_(root)) {
        gather_all_large(all);
    }
    unlock_pools(first);
    egb_os_unlock_(&egb_threads_.lock);
    return first == NULL ? EGB_STALE : EGB_OK;
}

// ---- most bytes first ---------------------------------------------------------------------------

// Lost blocks come before reachable ones.
static bool has_more(const egb_holder_place* one, const egb_holder_place* other)
{
    const bool is_lost       = one->reach != EGB_REACH_STILL;
    const bool is_other_lost = other->reach != EGB_REACH_STILL;
    return is_lost != is_other_lost                   ? is_lost
           : one->holder.bytes != other->holder.bytes ? one->holder.bytes > other->holder.bytes
                                                      : one->holder.blocks > other->holder.blocks;
}

// J. Williams, "Algorithm 232: Heapsort", 1964: no memory, and no worst case.
static void sink(egb_holder_place* places, size_t at, size_t count)
{
    for (;;) {
        size_t least = 2 * at + 1;
        if (least >= count) {
            return;
        }
        if (least + 1 < count && has_more(&places[least], &places[least + 1])) {
            least++;
        }
        if (!has_more(&places[at], &places[least])) {
            return;
        }
        const egb_holder_place other = places[at];
        places[at]                   = places[least];
        places[least]                = other;
        at                           = least;
    }
}

static void sort(egb_holder_place* places, size_t count)
{
    for (size_t i = count / 2; i > 0; i--) {
        sink(places, i - 1, count);
    }
    for (size_t end = count; end > 1; end--) {
        const egb_holder_place least = places[0];
        places[0]                    = places[end - 1];
        places[end - 1]              = least;
        sink(places, 0, end - 1);
    }
}

static size_t rounded(double number)
{
    return number >= (double)SIZE_MAX ? SIZE_MAX : (size_t)(number + 0.5);
}

// Moves the places in use to the front, with their sums rounded. Returns how many there are.
static size_t move_together(egb_holders* all)
{
    size_t count = 0;
    for (size_t word = 0; word < HOLDER_PLACES / USED_BITS; word++) {
        for (uint32_t bits = all->used[word]; bits != 0; bits &= bits - 1) {
            const size_t            at = word * USED_BITS + (size_t)__builtin_ctz(bits);
            egb_holder_place* const to = &all->places[count++];
            *to                        = all->places[at];
            to->holder.blocks          = rounded(to->sum.blocks);
            to->holder.bytes           = rounded(to->sum.bytes);
        }
    }
    return count;
}

typedef struct holder_visit {
    gathering                 wanted;
    egb_holder_visit_fn       visit;  // or
    egb_holder_reach_visit_fn visit_reach;
    void*                     user;
} holder_visit;

static void visit_place(const holder_visit* to, const egb_holder_place* place)
{
    if (to->visit != NULL) {
        to->visit(&place->holder, to->user);
    } else {
        to->visit_reach(&place->holder, place->reach, to->user);
    }
}

// `lost`: samples without a record.
static egb_status each(egb_pool root, const holder_visit* to, uint64_t* lost)
{
    egb_holders* const all = egb_pages_(sizeof(egb_holders));
    if (all == NULL) {
        return EGB_NO_MEMORY;
    }
    all->wanted             = to->wanted;
    const egb_status status = gather(all, root);
    const size_t     count  = move_together(all);
    sort(all->places, count);
    for (size_t i = 0; i < count; i++) {
        all->places[i].holder.stack = egb_site_stack_(all->places[i].stack);
        visit_place(to, &all->places[i]);
    }
    *lost = all->lost;
    egb_pages_release_(all, sizeof(egb_holders));
    return status;
}

egb_status egb_holders_each(egb_pool root, egb_holder_visit_fn visit, void* user)
{
    const holder_visit to = {ALL_IN_USE, visit, NULL, user};
    uint64_t           none;
    return visit == NULL ? EGB_INVALID : each(root, &to, &none);
}

egb_status egb_holders_each_new_(egb_holder_reach_visit_fn visit, void* user)
{
    const egb_pool     root = {0, 0};
    const holder_visit to   = {NEW_IN_USE, NULL, visit, user};
    uint64_t           none;
    return each(root, &to, &none);
}

egb_status egb_sampled_each_(egb_holder_reach_visit_fn visit, void* user, uint64_t* lost)
{
    const egb_pool     root = {0, 0};
    const holder_visit to   = {ALL_SAMPLED, NULL, visit, user};
    return each(root, &to, lost);
}

void egb_holders_restart_(void)
{
    egb_control* const first = egb_registry_.controls;
    EGB_STORE_(large_before, egb_large_serial_());
    egb_stacks_restart_();
    if (!egb_has_tracked_() && !egb_has_samples_()) {
        return;
    }
    egb_large_lock_();
    egb_samples_restart_(&egb_large_samples_);
    egb_large_unlock_();
    egb_os_lock_(&egb_threads_.lock);
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        egb_depot_lock_(&one->depot);
        if (one->id.slot != 0 && one->redzones != NULL) {
            one->redzones->serial_before = one->redzones->serial;
        }
        if (one->samples != NULL) {
            egb_samples_restart_(one->samples);
        }
        egb_depot_let_go_(&one->depot);
    }
    egb_os_unlock_(&egb_threads_.lock);
}

// ---- as text ------------------------------------------------------------------------------------

typedef struct printing {
    size_t most;
    size_t printed;
    size_t blocks;
    size_t bytes;
} printing;

static void print_headline(egb_text_line* line)
{
    egb_text_add_(line, "eggbox: blocks in use, by allocation site");
    if (egb_has_samples_()) {
        egb_text_add_(line, " (sampled, 1 in ");
        egb_text_number_(line, egb_sampling_period_());
        egb_text_add_(line, " bytes, scaled)");
    }
    egb_text_add_(line, ":");
    egb_text_write_line_(line);
}

static void print_holder(const egb_holder* holder, void* user)
{
    printing* const state = user;
    egb_text_line   line  = {.bytes = 0};
    state->blocks += holder->blocks;
    state->bytes += holder->bytes;
    if (state->printed == state->most) {
        return;
    }
    if (state->printed++ == 0) {
        print_headline(&line);
    }
    egb_text_add_(&line, "  ");
    egb_text_number_(&line, holder->bytes);
    egb_text_add_(&line, " bytes in ");
    egb_text_number_(&line, holder->blocks);
    egb_text_add_(&line, holder->blocks == 1 ? " block of pool " : " blocks of pool ");
    egb_text_add_(&line, holder->pool_name);
    egb_text_add_(&line, ", oldest ");
    egb_text_number_(&line, holder->oldest_ms);
    egb_text_add_(&line, " ms, ");
    if (holder->samples != 0) {
        egb_text_number_(&line, holder->samples);
        egb_text_add_(&line, holder->samples == 1 ? " sample, " : " samples, ");
    }
    egb_text_add_(&line, "from ");
    egb_text_place_(&line, holder->file, holder->line, holder->site);
    egb_text_callers_(&line, holder->stack);
    egb_text_write_line_(&line);
}

size_t egb_holders_print(egb_pool root, size_t most)
{
    printing         state  = {most, 0, 0, 0};
    const egb_status status = egb_holders_each(root, print_holder, &state);
    if (status != EGB_OK || state.printed == 0) {
        return state.blocks;
    }
    egb_text_line line = {.bytes = 0};
    egb_text_add_(&line, "eggbox: ");
    egb_text_number_(&line, state.bytes);
    egb_text_add_(&line, " bytes in ");
    egb_text_number_(&line, state.blocks);
    egb_text_add_(&line, state.blocks == 1 ? " block in all" : " blocks in all");
    egb_text_write_line_(&line);
    return state.blocks;
}

// ---- by itself ----------------------------------------------------------------------------------

void egb_holders_print_exhausted_(egb_pool pool)
{
    static uint64_t last;  // atomic; milliseconds
    const uint64_t  now    = egb_os_milliseconds_();
    uint64_t        before = EGB_LOAD_(last);
    if (!egb_is_frozen_() && (before == 0 || now - before >= ONCE_IN_MS) &&
        __atomic_compare_exchange_n(
            &last, &before, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
        )) {
        egb_text_line line = {.bytes = 0};
        egb_text_add_(&line, "eggbox: a pool at level \"track\" is exhausted");
        egb_text_write_line_(&line);
        (void)egb_holders_print(pool, EGB_HOLDERS_SHOWN);
    }
}

static bool is_silent_at_exit;  // atomic

void egb_holders_at_exit_(bool are_printed)
{
    EGB_STORE_(is_silent_at_exit, !are_printed);
}

// Runs after the program's own destructors: blocks that those free are no leaks. Samples are for
// reports: a process in production ends without a word. The same holds for a process whose signal
// handler called exit() and interrupted a call that has a lock.
__attribute__((destructor(101))) static void print_at_exit(void)
{
    const egb_pool root = {0, 0};
    if (egb_has_tracked_() && !EGB_LOAD_(is_silent_at_exit) &&
        egb_locks_are_free_soon_(EGB_LOCKS_MILLISECONDS)) {
        egb_freeze_(false);
        (void)egb_holders_print(root, EGB_HOLDERS_SHOWN);
    }
}

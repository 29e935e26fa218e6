// SPDX-License-Identifier: MIT
// The purge: gives unused memory of the heap back. Time is cut into epochs. The call that ends one
// gives back large regions that were cached for a whole epoch, half of the cached chunks, and
// memory that size classes could spare at the epoch's start and at its end: a bounded part of each.
// Unused memory over a limit goes at once: region/keep.h.
#include "../../os/os.h"
#include "../cache/threads.h"
#include "../pool/backing.h"
#include "../pool/live_numbers.h"
#include "../pool/registry.h"
#include "../region/chunk_cache.h"
#include "../region/keep.h"
#include "../region/large_cache.h"
#include "../region/obtain.h"
#include "heap.h"

enum { EPOCH_MILLISECONDS = 250, CALLS_PER_LOOK = 64 };

// Threads that do nothing for so long lose the blocks in their magazines.
enum { EPOCHS_PER_RECLAIM = 2 };

// The least that is worth taking the blocks out of all threads' magazines; the most while a class
// is locked, and of its pages in an epoch, as it is locked again at once.
static const size_t SPARE_BYTES_MIN = (size_t)256 << 10;
static const size_t TRIM_BYTES_MAX  = (size_t)16 << 20;

// In one epoch at most the larger of this and of half goes: of all cached large regions, and of the
// bytes that the classes could spare.
static const size_t EPOCH_BYTES_MAX = (size_t)64 << 20;

// Half of the cached chunks goes in one epoch, but at most so many regions.
enum { UNMAPPED_AT_ONCE_MAX = 64 };

// The heap looks for memory to pass on from one class to others after this much growth, and then
// passes on at most as much.
static const size_t GROWTH_BYTES = (size_t)4 << 20;

// After a trim in vain a class is left alone for twice as many epochs as before.
enum { PAUSE_EPOCHS_MAX = 8 };

EGB_AMONG_DATA_ static size_t   held_at_check;  // bytes, atomic
EGB_AMONG_DATA_ static uint32_t cold_calls;     // atomic; some are lost
EGB_AMONG_DATA_ static uint32_t epoch_began;    // milliseconds, atomic; 0: none began yet

// The state of a class in the last epoch. Protected by the lock of the classes.
static struct {
    size_t   spare;
    uint32_t pause;    // epochs to wait
    uint32_t in_vain;  // the last pause, in epochs
    size_t   stuck;    // spare bytes when the last trim was in vain
} last_epoch[EGB_HEAP_CLASSES];

// The turns of chunks (pool/free_pages.c) end with the epoch, and after so many checks for growth.
enum { CHECKS_PER_TURN = 8 };

// The most steps of a class's walk (pool/free_pages.c) in an epoch, and in a check for growth,
// whatever they find. The walk goes on there in the next one.
enum { STEPS_PER_EPOCH = 32, STEPS_PER_CHECK = 4 };

// Protected by the lock of the classes.
static uint32_t growth_checks;
static struct {
    egb_page_walk walk;
    size_t        stuck;  // spare bytes when the last walk was in vain
} page_walks[EGB_HEAP_CLASSES];

// ---- the classes --------------------------------------------------------------------------------

// Bytes of a class.
typedef struct class_bytes {
    size_t held;   // in all its chunks
    size_t gone;   // part of `held`: free blocks whose pages the system has
    size_t spare;  // part of `held`: neither gone nor in use
} class_bytes;

// With the bytes around the blocks. Blocks in magazines count as in use. A wholly free chunk can be
// spared as a whole, whatever of it the system has.
static class_bytes bytes_of_class(size_t index)
{
    class_bytes        bytes   = {0, 0, 0};
    egb_control* const control = egb_pool_lock_(egb_heap_pool_of_class_(index));
    if (control == NULL) {
        return bytes;
    }
    const egb_growing* const growing  = &control->depot.growing;
    const size_t             of_block = growing->held / egb_larger_(growing->capacity, 1);
    const size_t in_use = growing->in_use + growing->lost - egb_depot_blocks_(&control->depot);
    bytes.held          = growing->held;
    bytes.gone          = of_block * growing->gone;
    bytes.spare         = bytes.held - egb_smaller_(of_block * in_use + bytes.gone, bytes.held);
    bytes.spare         = egb_larger_(bytes.spare, growing->idle);
    bytes.gone          = egb_smaller_(bytes.gone, bytes.held - growing->idle);
    egb_pool_unlock_(control);
    return bytes;
}

// The bytes that a class could spare since the last epoch, as far as two checks can tell.
static size_t check_class(size_t index)
{
    const size_t spare      = bytes_of_class(index).spare;
    const size_t least      = egb_smaller_(spare, last_epoch[index].spare);
    last_epoch[index].spare = spare;
    if (last_epoch[index].pause > 0) {
        last_epoch[index].pause--;
        return 0;
    }
    return least;
}

static size_t trim_class(size_t index, size_t spare, bool to_cache)
{
    const size_t held  = bytes_of_class(index).held;
    const size_t most  = to_cache ? GROWTH_BYTES : TRIM_BYTES_MAX;
    const size_t part  = egb_smaller_(egb_smaller_(spare, most), held);
    const size_t given = egb_pool_give_up_(egb_heap_pool_of_class_(index), held - part, to_cache);
    if (given != 0) {
        last_epoch[index].in_vain = 0;
        last_epoch[index].stuck   = 0;
        return given;
    }
    const uint32_t longer     = last_epoch[index].in_vain == 0 ? 2 : 2 * last_epoch[index].in_vain;
    last_epoch[index].in_vain = longer < PAUSE_EPOCHS_MAX ? longer : PAUSE_EPOCHS_MAX;
    last_epoch[index].pause   = last_epoch[index].in_vain;
    last_epoch[index].stuck   = spare;
    return 0;
}

// Gives pages between blocks in use back: a step, where the last one ended. `spare`: the bytes that
// the class could spare. The lock is held. Returns the bytes given.
static size_t page_step(size_t index, size_t spare, bool* is_over)
{
    egb_page_walk* const walk   = &page_walks[index].walk;
    const size_t         before = walk->given;
    egb_pool_give_pages_(egb_heap_pool_of_class_(index), walk);
    const size_t given = walk->given - before;
    *is_over           = walk->is_over;
    if (walk->is_over) {
        const egb_page_walk anew = {NULL, 0, 0, false, false};
        page_walks[index].stuck  = walk->given < SPARE_BYTES_MIN ? spare : 0;
        *walk                    = anew;
    }
    return given;
}

static void begin_turn(void)
{
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        egb_pool_begin_turn_(egb_heap_pool_of_class_(i));
        page_walks[i].stuck = 0;
    }
}

// The part of `bytes`, which may all go, that goes in one epoch.
static size_t part_of_epoch(size_t bytes)
{
    return egb_smaller_(bytes, egb_larger_(bytes / 2, EPOCH_BYTES_MAX));
}

static size_t trim_pages_of_epoch(size_t index, size_t spare, size_t most)
{
    const size_t part    = egb_smaller_(most, TRIM_BYTES_MAX);
    size_t       given   = 0;
    bool         is_over = false;
    for (unsigned i = 0; i < STEPS_PER_EPOCH && !is_over && given < part; i++) {
        egb_heap_lock_classes_();  // anew: nobody waits for long
        given += page_step(index, spare, &is_over);
        if (given >= SPARE_BYTES_MIN) {
            last_epoch[index].pause   = 0;
            last_epoch[index].in_vain = 0;
        }
        egb_heap_unlock_classes_();
    }
    return given;
}

static size_t trim_classes(void)
{
    size_t spare[EGB_HEAP_CLASSES];
    size_t sum   = 0;
    size_t given = 0;
    egb_heap_lock_classes_();
    begin_turn();
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        const size_t least = check_class(i);
        spare[i]           = least >= SPARE_BYTES_MIN ? least : 0;
        sum += spare[i];
    }
    egb_heap_unlock_classes_();
    const size_t most = part_of_epoch(sum);
    for (size_t i = 0; i < EGB_HEAP_CLASSES && given < most; i++) {
        size_t rest = spare[i];
        for (size_t last = rest; rest != 0 && last != 0 && given < most; rest -= last) {
            egb_heap_lock_classes_();  // anew: nobody waits for long
            last = egb_smaller_(rest, trim_class(i, egb_smaller_(rest, most - given), false));
            egb_heap_unlock_classes_();
            given += last;
        }
        if (rest != 0) {
            given += trim_pages_of_epoch(i, rest, most - egb_smaller_(given, most));
        }
    }
    return given;
}

// ---- wholly free chunks -------------------------------------------------------------------------

// The class with the most bytes in wholly free chunks; EGB_HEAP_CLASSES: there are none. `idle`:
// the bytes of all classes in such chunks. (egb_pool_reclaim_idle_() is about magazines.)
static size_t most_idle(size_t* idle)
{
    size_t which = EGB_HEAP_CLASSES;
    size_t most  = 0;
    *idle        = 0;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        const size_t bytes = egb_pool_idle_(egb_heap_pool_of_class_(i));
        *idle += bytes;
        if (bytes > most) {
            most  = bytes;
            which = i;
        }
    }
    return which;
}

// Beyond half of the limit they go to the cache of large regions, where they serve other classes
// and large blocks. The cache gives back to the system anything over the limit.
static void limit_idle(void)
{
    const size_t limit = egb_keep_bytes_();
    size_t       idle;
    size_t       which = most_idle(&idle);
    if (idle <= limit / 2) {
        return;
    }
    while (which != EGB_HEAP_CLASSES && idle > limit / 4) {
        const size_t more = egb_smaller_(idle - limit / 4, TRIM_BYTES_MAX);
        if (egb_pool_give_idle_(egb_heap_pool_of_class_(which), more, true) == 0) {
            break;
        }
        which = most_idle(&idle);
    }
}

// ---- growth -------------------------------------------------------------------------------------

static size_t held_by_classes(void)
{
    const egb_control* const heap = egb_control_of_(egb_heap_pool());
    return heap == NULL ? 0 : EGB_LOAD_(heap->budget.held);
}

// Whether the classes hold so much more than at the last such check, or than the least since then.
static bool has_grown(void)
{
    const size_t held = held_by_classes();
    const size_t last = EGB_LOAD_(held_at_check);
    if (held < last) {
        EGB_STORE_(held_at_check, held);
        return false;
    }
    return held - last >= GROWTH_BYTES;
}

static bool can_pass_on(size_t index, size_t spare)
{
    return spare / 2 >= last_epoch[index].stuck;
}

static bool can_pass_on_pages(size_t index, size_t spare)
{
    return spare / 2 >= page_walks[index].stuck;
}

// The class with the most spare bytes of those that can pass something on: a class that failed to
// must have twice as much now. EGB_HEAP_CLASSES: there is none, or all classes together can spare
// less than a quarter of their bytes. The lock is held.
static size_t class_with_most(size_t* most, bool (*can)(size_t index, size_t spare))
{
    size_t which = EGB_HEAP_CLASSES;
    size_t sum   = 0;
    size_t all   = 0;
    *most        = SPARE_BYTES_MIN;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        const class_bytes one = bytes_of_class(i);
        sum += one.spare;
        all += one.held - egb_smaller_(one.gone, one.held);
        if (one.spare > *most && can(i, one.spare)) {
            *most = one.spare;
            which = i;
        }
    }
    return sum >= all / 4 ? which : EGB_HEAP_CLASSES;
}

static void pass_on_pages(void)
{
    size_t       spare;
    const size_t which   = class_with_most(&spare, can_pass_on_pages);
    size_t       given   = 0;
    bool         is_over = which == EGB_HEAP_CLASSES;
    for (unsigned i = 0; i < STEPS_PER_CHECK && !is_over && given < GROWTH_BYTES; i++) {
        given += page_step(which, spare, &is_over);
    }
}

// Chunks that are wholly free already: no thread loses a block from its magazine for them. False:
// there are few, or another class could not have them.
static bool pass_on_idle(void)
{
    size_t       idle;
    const size_t which = most_idle(&idle);
    return egb_os_can_split_() && idle >= GROWTH_BYTES &&
           egb_pool_give_idle_(egb_heap_pool_of_class_(which), GROWTH_BYTES, true) >=
               SPARE_BYTES_MIN;
}

static void pass_on_spare(void)
{
    size_t       spare;
    const size_t which = class_with_most(&spare, can_pass_on);
    if (which == EGB_HEAP_CLASSES || trim_class(which, spare, true) == 0) {
        pass_on_pages();
    }
}

// A program that uses other sizes in each phase would in the end hold the sum of all phases: so one
// class passes on its spare memory. If it has no wholly free chunk, pages between blocks in use go
// to the system.
static void pass_on(void)
{
    if (!egb_heap_try_lock_classes_()) {  // another thread is here
        return;
    }
    if (has_grown()) {  // still
        if (++growth_checks % CHECKS_PER_TURN == 0) {
            begin_turn();
        }
        if (!pass_on_idle()) {
            pass_on_spare();
        }
        EGB_STORE_(held_at_check, held_by_classes());
    }
    egb_heap_unlock_classes_();
}

// `all` bytes without `part` of them; 0 if `part` is more.
static size_t rest_of(size_t all, size_t part)
{
    return all > part ? all - part : 0;
}

// ---- epochs -------------------------------------------------------------------------------------

// 1: a thread sleeps in egb_heap_purge_wait_(). Atomic.
static uint32_t purger_sleeps;

// After so many looks in vain it sleeps, for as long. Frees that a magazine serves do not wake it,
// nor do the first 63 of the calls that go further: it looks by itself after that time.
enum { LOOKS_IN_VAIN = 8, SLEEP_MILLISECONDS = 16000 };

void egb_heap_purge_wake_(void)
{
    EGB_STORE_(purger_sleeps, 0);
    egb_os_wake_(&purger_sleeps);
}

void egb_heap_wake_purger_(void)
{
    if (EGB_LOAD_(purger_sleeps) != 0) {
        egb_heap_purge_wake_();
    }
}

void egb_heap_purge_ends_(void)
{
    egb_keep_note_purger_(false);
}

bool egb_heap_purge_is_without_first_(void)
{
    return !egb_keep_expects_sandbox_() && egb_os_first_has_ended_();
}

// The epochs that have passed since the last one began, if this call ends it; else 0. The first one
// begins with the first look.
static uint32_t epochs_passed(void)
{
    const uint32_t now    = (uint32_t)egb_os_milliseconds_();
    uint32_t       began  = EGB_LOAD_(epoch_began);
    const bool     first  = began == 0;
    const uint32_t passed = first ? 1 : egb_milliseconds_since_(began, now) / EPOCH_MILLISECONDS;
    const bool     is_ours =
        passed != 0 && __atomic_compare_exchange_n(
                           &epoch_began, &began, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
                       );
    return is_ours && !first ? passed : 0;
}

// Returns the bytes given back.
static size_t look_at_clock(void)
{
    const uint32_t passed = epochs_passed();
    if (passed == 0) {
        return 0;
    }
    const uint32_t current = egb_large_cache_next_epoch_();
    egb_keep_end_epochs_(passed);
    if (current % EPOCHS_PER_RECLAIM == 0) {
        for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
            egb_pool_reclaim_idle_(egb_heap_pool_of_class_(i));
        }
    }
    const size_t cached = egb_large_held_().cached;
    size_t       given  = egb_large_release_(current - 1, cached - part_of_epoch(cached));
    given += egb_region_cache_trim_(egb_region_cache_held_() / 2, UNMAPPED_AT_ONCE_MAX);
    given += egb_batch_slabs_trim_();
    given += egb_threads_trim_(EGB_LOAD_(egb_threads_.spare_tables) / 2);
    return given + trim_classes();
}

void egb_heap_purge_step_(void)
{
    const uint32_t calls = EGB_LOAD_(cold_calls) + 1;
    EGB_STORE_(cold_calls, calls);
    if (has_grown() && !egb_is_frozen_()) {
        pass_on();
    }
    if (calls % CALLS_PER_LOOK != 0 || egb_is_frozen_()) {
        return;
    }
    egb_heap_wake_purger_();
    (void)look_at_clock();
    limit_idle();
}

size_t egb_heap_purge(void)
{
    if (egb_is_frozen_() || !egb_heap_is_made_()) {
        return 0;
    }
    egb_keep_note_purger_(true);
    const size_t given = look_at_clock();
    egb_live_count_();
    return given;
}

// Some looks in vain may be between two bursts.
void egb_heap_purge_wait_(size_t given)
{
    static uint32_t in_vain;  // looks; atomic, since an old thread may end when there is a new one
    const uint32_t  looks = given != 0 ? 0 : EGB_LOAD_(in_vain) + 1;
    EGB_STORE_(in_vain, looks % LOOKS_IN_VAIN);
    if (looks < LOOKS_IN_VAIN) {
        egb_os_wait_(&purger_sleeps, 0, EPOCH_MILLISECONDS);
        return;
    }
    EGB_STORE_(purger_sleeps, 1);
    egb_os_wait_(&purger_sleeps, 1, SLEEP_MILLISECONDS);
    EGB_STORE_(purger_sleeps, 0);
}

void egb_heap_expect_sandbox_(void)
{
    egb_threads_count_processors_();
    egb_keep_read_no_more_();
}

bool egb_heap_expects_sandbox_(void)
{
    return egb_keep_expects_sandbox_();
}

// ---- the end of a crowd of threads --------------------------------------------------------------

// No more than this can go. Free blocks between blocks in use count, and they stay.
static size_t most_unused(void)
{
    size_t sum = egb_region_cache_held_() + egb_large_held_().cached;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        sum += bytes_of_class(i).spare;
    }
    return sum;
}

static size_t flush_classes(size_t* idle)
{
    size_t sum = 0;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        idle[i] = egb_pool_flush_(egb_heap_pool_of_class_(i));
        sum += idle[i];
    }
    return sum;
}

// Parts, so that no thread waits for its start or end for long. Returns the bytes given.
static size_t give_idle_of_class(size_t index, size_t most)
{
    size_t given = 0;
    for (size_t last = most; last != 0 && given < most; given += last) {
        const size_t part = egb_smaller_(most - given, GROWTH_BYTES);
        last              = egb_pool_give_idle_(egb_heap_pool_of_class_(index), part, false);
    }
    return given;
}

void egb_heap_end_crowd_(void)
{
    const size_t keep = egb_keep_after_crowd_();
    size_t       idle[EGB_HEAP_CLASSES];
    if (egb_is_frozen_() || most_unused() <= keep) {
        return;
    }
    const size_t chunks = egb_region_cache_held_();
    const size_t large  = egb_large_held_().cached;
    const size_t sum    = flush_classes(idle) + chunks + large;
    if (sum <= keep) {
        return;
    }
    const size_t room  = rest_of(sum, keep);
    size_t       given = egb_region_cache_trim_(rest_of(chunks, room), SIZE_MAX);
    given += egb_large_release_(UINT32_MAX, rest_of(large, rest_of(room, given)));
    for (size_t i = 0; i < EGB_HEAP_CLASSES && given < room; i++) {
        given += give_idle_of_class(i, egb_smaller_(idle[i], room - given));
    }
    (void)egb_batch_slabs_trim_();
    egb_keep_note_given_after_crowd_(given);
}

// ---- at once ------------------------------------------------------------------------------------

size_t egb_heap_held_(void)
{
    const egb_large_held large = egb_large_held_();
    size_t               sum   = large.in_use + large.cached + large.quarantined;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        sum += bytes_of_class(i).held;
    }
    return sum;
}

size_t egb_heap_give_up_(size_t keep_bytes)
{
    const size_t cached_chunks = egb_region_cache_held_();
    const size_t room          = rest_of(egb_heap_held_() + cached_chunks, keep_bytes);
    size_t       given         = egb_region_cache_trim_(rest_of(cached_chunks, room), SIZE_MAX);
    const size_t more          = given < room ? room - given : 0;
    // The quarantine goes in any case: the cache gives only the bytes that are missing then.
    const egb_large_held large = egb_large_held_();
    given += egb_large_release_all_(rest_of(large.cached + large.quarantined, more));
    for (size_t i = 0; i < EGB_HEAP_CLASSES && given < room; i++) {
        const size_t held = bytes_of_class(i).held;
        if (held != 0) {
            given += egb_pool_trim(egb_heap_pool_of_class_(i), rest_of(held, room - given));
        }
    }
    return room == given ? given : given + egb_batch_slabs_trim_() + egb_threads_trim_(SIZE_MAX);
}

static size_t gone_bytes(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        sum += bytes_of_class(i).gone;
    }
    return sum;
}

// No lock of the classes: the walk is of this call alone.
static size_t trim_pages_at_once(size_t index, size_t most)
{
    egb_page_walk walk = {NULL, 0, 0, true, false};
    while (!walk.is_over && walk.given < most) {
        egb_pool_give_pages_(egb_heap_pool_of_class_(index), &walk);
    }
    return walk.given;
}

size_t egb_heap_trim(size_t keep_bytes)
{
    const size_t given = egb_heap_give_up_(keep_bytes);
    const size_t room  = rest_of(egb_heap_held_(), keep_bytes);
    const size_t gone  = gone_bytes();
    size_t       more  = 0;  // bytes of pages
    for (size_t i = 0; i < EGB_HEAP_CLASSES && more + gone < room; i++) {
        more += trim_pages_at_once(i, room - gone - more);
    }
    (void)egb_obtain_trim_();  // addresses, and memory if the program locks all it gets
    return given + more;
}

// SPDX-License-Identifier: MIT
#include "heap_guarded.h"

#include "level.h"
#include "line.h"

enum { FRONT_BYTES_MAX = 128, AROUND = 0xA9 };

// Addresses that wait in quarantine, at most.
static const size_t RETIRED_BYTES_MAX = (size_t)1 << (sizeof(void*) > 4 ? 30 : 24);

// ---- which requests -----------------------------------------------------------------------------

static const uint64_t EVERY_MAX = 999999999;

static bool     guards_large;  // atomic, as all below
static uint32_t sample_every;  // 0: no small request is sampled
static intptr_t sample_left;   // blocks till the next, which is due at 1; below where more went
static uint32_t sample_random;

typedef struct wanted_guards {
    bool     large;
    uint32_t every;
} wanted_guards;

static bool read_guard(const egb_entry* entry, wanted_guards* wanted)
{
    const char* from   = entry->value;
    uint64_t    number = 0;
    if (entry->has_name) {
        return false;
    }
    if (egb_entry_starts(&from, entry->end, "large") && from == entry->end) {
        wanted->large = true;
        return true;
    }
    from = entry->value;
    if (!egb_entry_starts(&from, entry->end, "1/") ||
        !egb_entry_number(from, entry->end, &number) || number > EVERY_MAX) {
        return false;
    }
    wanted->every = (uint32_t)number;
    return true;
}

// False: some entry is none.
static bool read_guards(const char* text, wanted_guards* wanted)
{
    egb_entry entry;
    bool      is_right = true;
    wanted->large      = false;
    wanted->every      = 0;
    while (text != NULL && egb_entry_next(&text, &entry)) {
        is_right = read_guard(&entry, wanted) && is_right;
    }
    return is_right;
}

// From 1 to twice as many less one, so as many as that on the average: a program that asks in a
// rhythm does not get all its samples from one place. (Steps of a Weyl sequence, mixed.)
static intptr_t blocks_to_next(void)
{
    const uint32_t every = EGB_LOAD_(sample_every);
    uint32_t       mixed = __atomic_add_fetch(&sample_random, 0x9E3779B9u, __ATOMIC_RELAXED);
    mixed                = (mixed ^ mixed >> 16) * 0x85EBCA6Bu;
    mixed                = (mixed ^ mixed >> 13) * 0xC2B2AE35u;
    mixed ^= mixed >> 16;
    return every == 0 ? 1 : 1 + (intptr_t)(mixed % (2 * every - 1));
}

static void explain(const void* address, egb_os_access access);

static egb_status set_guards(const wanted_guards* wanted)
{
    const bool is_on = wanted->large || wanted->every != 0;
    const bool can   = egb_os_can_protect() && egb_os_page_bytes() < EGB_UNIT_BYTES &&
                     egb_level_of_no_pool() != EGB_LEVEL_PASSTHROUGH;
    if (is_on && can) {
        (void)egb_os_explain_faults(explain);
    }
    EGB_STORE_(sample_random, (uint32_t)egb_os_nanoseconds());
    EGB_STORE_(guards_large, can && wanted->large);
    EGB_STORE_(sample_every, can ? wanted->every : 0);
    EGB_STORE_(sample_left, blocks_to_next());
    return is_on && !can ? EGB_UNSUPPORTED : EGB_OK;
}

void egb_guarded_read(const char* text)
{
    static const char wrong[] = "eggbox: EGGBOX_GUARD_PAGES has an entry that is not large or "
                                "1/NUMBER; it is left out\n";
    static const char none[] =
        "eggbox: EGGBOX_GUARD_PAGES: there are no guard pages on this system, nor at level "
        "passthrough\n";
    wanted_guards wanted;
    if (!read_guards(text, &wanted)) {
        egb_os_write_error(wrong, sizeof wrong - 1);
    }
    if (set_guards(&wanted) != EGB_OK) {
        egb_os_write_error(none, sizeof none - 1);
    }
}

// The world reads the environment when it is made: this is said later, and counts.
egb_status egb_heap_guard_pages(const char* which)
{
    wanted_guards wanted;
    if (!read_guards(which, &wanted)) {
        return EGB_INVALID;
    }
    return egb_heap_is_made() ? set_guards(&wanted) : EGB_NO_MEMORY;
}

bool egb_guards_large(void)
{
    return EGB_LOAD_(guards_large);
}

bool egb_guards_samples(void)
{
    return EGB_LOAD_(sample_every) != 0;
}

bool egb_guarded_is_due(void)
{
    intptr_t left = EGB_LOAD_(sample_left);
    return left <= 1 && __atomic_compare_exchange_n(
                            &sample_left,
                            &left,
                            left - 1 + blocks_to_next(),
                            false,
                            __ATOMIC_RELAXED,
                            __ATOMIC_RELAXED
                        );
}

void egb_guarded_count(size_t blocks)
{
    (void)__atomic_fetch_sub(&sample_left, (intptr_t)blocks, __ATOMIC_RELAXED);
}

void egb_guarded_skip(void)
{
    EGB_STORE_(sample_left, blocks_to_next());
}

// ---- how many -----------------------------------------------------------------------------------

// With the lock of large blocks.
static size_t all_in_use;
static size_t samples_in_use;

bool egb_guarded_enter(bool is_sample)
{
    egb_large_lock();
    const bool may_be =
        all_in_use < EGB_GUARDED_MAX && (!is_sample || samples_in_use < EGB_GUARDED_SAMPLES_MAX);
    if (may_be) {
        all_in_use++;
        samples_in_use += is_sample ? 1 : 0;
    }
    egb_large_unlock();
    return may_be;
}

void egb_guarded_leave(bool is_sample)
{
    egb_large_lock();
    all_in_use--;
    samples_in_use -= is_sample ? 1 : 0;
    egb_large_unlock();
}

size_t egb_guarded_in_use(size_t* samples)
{
    *samples = samples_in_use;
    return all_in_use;
}

static void count_one(void* record, void* user)
{
    const egb_large* const large = record;
    (void)user;
    if (large->state == EGB_LARGE_LIVE && large->guard.bytes != 0) {
        all_in_use++;
        samples_in_use += large->guard.is_sample ? 1 : 0;
    }
}

void egb_guarded_reset(void)
{
    all_in_use = samples_in_use = 0;
    egb_large_each(count_one, NULL);
}

// ---- a region -----------------------------------------------------------------------------------

static size_t up_to(size_t bytes, size_t step)
{
    return (bytes + (step - 1)) & ~(step - 1);
}

// As far back as the alignment allows; more than a page has only the region itself.
size_t egb_guarded_plan(egb_guarded* plan, size_t align, size_t bytes)
{
    const egb_guarded none = {0};
    const size_t      page = egb_os_page_bytes();
    const size_t      unit = EGB_UNIT_BYTES;
    const size_t      step = align < EGB_HEAP_STEP_BYTES_ ? (size_t)EGB_HEAP_STEP_BYTES_ : align;
    if (page >= unit || bytes > PTRDIFF_MAX - 2 * unit) {
        return 0;
    }
    *plan              = none;
    plan->bytes        = bytes == 0 ? 1 : bytes;
    plan->room         = up_to(plan->bytes, step < page ? step : page);
    const size_t whole = up_to(plan->room + page, unit);
    plan->lead         = step <= page ? whole - page - plan->room : 0;
    return whole;
}

static unsigned char* start_of(const egb_large* large)
{
    return (unsigned char*)large->region + large->guard.lead;
}

static bool protect(const egb_large* large, size_t from, size_t to, bool is_open)
{
    return egb_os_protect((char*)large->region + from, to - from, is_open) == EGB_OK;
}

// Where the block's first page begins.
static size_t first_page(const egb_large* large)
{
    return large->guard.lead & ~(egb_os_page_bytes() - 1);
}

// On that page, which there is anyway.
static size_t front_bytes(const egb_large* large)
{
    const size_t before = large->guard.lead - first_page(large);
    return before < FRONT_BYTES_MAX ? before : FRONT_BYTES_MAX;
}

static void write_back_of(const egb_large* large)
{
    const egb_guarded* const guard = &large->guard;
    (void)__builtin_memset(start_of(large) + guard->bytes, AROUND, guard->room - guard->bytes);
}

static void write_around(const egb_large* large)
{
    const size_t front = front_bytes(large);
    (void)__builtin_memset(start_of(large) - front, AROUND, front);
    write_back_of(large);
}

bool egb_guarded_close_page(const egb_large* large)
{
    const bool is_done = protect(large, large->guard.lead + large->guard.room, large->bytes, false);
    if (is_done) {
        write_around(large);
    }
    return is_done;
}

bool egb_guarded_open_block(const egb_large* large)
{
    const bool is_done =
        protect(large, first_page(large), large->guard.lead + large->guard.room, true);
    if (is_done) {
        write_around(large);
    }
    return is_done;
}

// The next sample will want the pages of this one, if they are few.
bool egb_guarded_close(const egb_large* large)
{
    if (!protect(large, 0, large->bytes, false)) {
        return false;
    }
    if (large->guard.room > 2 * egb_os_page_bytes()) {
        egb_os_forget(large->region, large->bytes);
    }
    return true;
}

bool egb_guarded_open(const egb_large* large)
{
    return protect(large, 0, large->bytes, true);
}

// From the start of the block: below 0 is before it. 0: there is none.
static ptrdiff_t damage(const egb_large* large)
{
    const egb_guarded* const   guard = &large->guard;
    const unsigned char* const block = start_of(large);
    for (size_t i = guard->bytes; i < guard->room; i++) {
        if (block[i] != AROUND) {
            return (ptrdiff_t)i;
        }
    }
    for (size_t i = 1; i <= front_bytes(large); i++) {
        if (*(block - i) != AROUND) {
            return -(ptrdiff_t)i;
        }
    }
    return 0;
}

bool egb_guarded_set_bytes(egb_large* large, size_t bytes)
{
    egb_guarded* const guard = &large->guard;
    bytes                    = bytes == 0 ? 1 : bytes;
    const bool is_behind     = large->state == EGB_LARGE_LIVE && bytes <= guard->room &&
                           (bytes >= guard->bytes || guard->room - bytes < EGB_HEAP_STEP_BYTES_);
    if (!is_behind || damage(large) != 0) {
        return false;
    }
    guard->bytes = bytes;
    write_back_of(large);
    return true;
}

egb_history egb_guarded_history(const egb_large* large)
{
    const egb_history history = {
        .bytes      = large->guard.bytes,
        .alloc_site = large->guard.alloc_site,
        .free_site  = large->guard.free_site,
    };
    return history;
}

// ---- is it as it should be ----------------------------------------------------------------------

bool egb_guarded_look(const egb_large* large, egb_finding* finding)
{
    const ptrdiff_t damaged  = large->guard.bytes == 0 ? 0 : damage(large);
    finding->history         = egb_guarded_history(large);
    finding->history.damaged = damaged;
    if (damaged != 0) {
        finding->kind = damaged > 0 ? EGB_EVENT_OVERRUN : EGB_EVENT_UNDERRUN;
    }
    return damaged != 0;
}

egb_history egb_large_history(const void* block)
{
    egb_history history = {.bytes = 0};
    egb_large_lock();
    const egb_large* const large = egb_large_at(block);
    if (large != NULL && large->state == EGB_LARGE_LIVE) {
        history = egb_guarded_history(large);
    }
    egb_large_unlock();
    return history;
}

typedef struct damages {
    egb_finding first;
    size_t      count;
} damages;

static void look_at(void* record, void* user)
{
    const egb_large* const large = record;
    damages* const         all   = user;
    egb_finding            one   = {.block = start_of(large), .index = EGB_NO_INDEX};
    if (large->state == EGB_LARGE_LIVE && egb_guarded_look(large, &one) && all->count++ == 0) {
        all->first = one;
    }
}

size_t egb_large_check_all(const void* site)
{
    damages all = {.count = 0};
    egb_large_lock();
    egb_large_each(look_at, &all);
    egb_large_unlock();
    if (all.count != 0) {
        egb_pool_report_finding(egb_heap_pool(), &all.first, site);
    }
    return all.count;
}

egb_status egb_large_check(const void* block, const void* site)
{
    damages all = {.count = 0};
    egb_large_lock();
    egb_large* const large = egb_large_at(block);
    const bool       is_in = large != NULL && large->state == EGB_LARGE_LIVE;
    const bool       is    = is_in && start_of(large) == block;
    if (is) {
        look_at(large, &all);
    }
    egb_large_unlock();
    if (all.count != 0) {
        egb_pool_report_finding(egb_heap_pool(), &all.first, site);
    }
    return !is ? EGB_INVALID : all.count != 0 ? EGB_CORRUPT : EGB_OK;
}

// ---- quarantine ---------------------------------------------------------------------------------

// A ring.
static egb_large* retired[EGB_RETIRED_MAX];
static size_t     retired_first;
static size_t     retired_count;
static size_t     retired_bytes;

size_t egb_retired_bytes(void)
{
    return retired_bytes;
}

size_t egb_retired_count(void)
{
    return retired_count;
}

static egb_large* take_oldest(void)
{
    egb_large* const large = retired[retired_first];
    retired_first          = (retired_first + 1) % EGB_RETIRED_MAX;
    retired_count--;
    retired_bytes -= large->bytes;
    large->state = EGB_LARGE_NEW;
    return large;
}

egb_large* egb_retired_take(size_t whole)
{
    const bool is_fit =
        retired_count > EGB_RETIRED_MAX / 2 && retired[retired_first]->bytes == whole;
    return is_fit ? take_oldest() : NULL;
}

void egb_retired_flush(egb_doomed* doomed)
{
    while (retired_count != 0) {
        egb_large_doom(doomed, take_oldest());
    }
}

void egb_retired_add(egb_large* large, egb_doomed* doomed)
{
    if (large->bytes > RETIRED_BYTES_MAX) {
        egb_large_doom(doomed, large);
        return;
    }
    while (retired_count != 0 &&
           (retired_count == EGB_RETIRED_MAX || retired_bytes + large->bytes > RETIRED_BYTES_MAX)) {
        egb_large_doom(doomed, take_oldest());
    }
    large->state                                               = EGB_LARGE_RETIRED;
    retired[(retired_first + retired_count) % EGB_RETIRED_MAX] = large;
    retired_count++;
    retired_bytes += large->bytes;
}

// ---- faults -------------------------------------------------------------------------------------

static void say_where(egb_line* line, const egb_large* large, const void* address)
{
    const uintptr_t start = (uintptr_t)start_of(large);
    const uintptr_t at    = (uintptr_t)address;
    egb_line_text(line, at < start ? ": " : ": byte ");
    egb_line_number(line, at < start ? start - at : at - start);
    egb_line_text(line, at < start ? " bytes before" : ", counted from 0, of");
    egb_line_text(line, " the ");
    egb_line_number(line, large->guard.bytes);
    egb_line_text(line, large->guard.bytes == 1 ? " byte at " : " bytes at ");
    egb_line_address(line, (const void*)start);
    egb_line_write(line);
}

static void say_place(egb_line* line, const char* what, const void* site)
{
    if (site != NULL) {
        egb_line_text(line, what);
        egb_line_place(line, NULL, 0, site);
        egb_line_write(line);
    }
}

// As a signal handler, and without the lock, which this very thread may hold. Records stay; one
// that another thread is changing may be told wrong.
static void explain(const void* address, egb_os_access access)
{
    static const char* const words[] = {"access to", "read of", "write to"};
    const egb_large* const   large   = egb_large_at(address);
    egb_line                 line    = {.bytes = 0};
    if (large == NULL || large->guard.bytes == 0) {
        return;
    }
    egb_line_text(&line, "eggbox: ");
    egb_line_text(&line, words[access]);
    egb_line_text(
        &line,
        large->state != EGB_LARGE_LIVE                    ? " a block after its free"
        : (uintptr_t)address < (uintptr_t)start_of(large) ? " what is before a block"
                                                          : " what is behind the end of a block"
    );
    say_where(&line, large, address);
    say_place(&line, "  allocated at ", large->guard.alloc_site);
    say_place(&line, "  freed at ", large->guard.free_site);
    egb_line_text(&line, "  next: addr2line -Cfe PATH 0x... says which line a PATH+0x... is");
    egb_line_write(&line);
}

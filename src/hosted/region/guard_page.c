// SPDX-License-Identifier: MIT
#include "guard_page.h"

#include "../../os/os.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "obtain.h"

// The least alignment of these blocks, as of blocks of size classes.
enum { ALIGN_MIN = 16 };

enum { FRONT_BYTES_MAX = 128, AROUND = 0xA9 };

// A block that realloc copied so many times its size may then end apart from its guard page.
enum { COPIES_MAX = 8 };

// The most addresses in quarantine.
static const size_t QUARANTINE_BYTES_MAX = (size_t)1 << (sizeof(void*) > 4 ? 30 : 24);

// ---- which requests -----------------------------------------------------------------------------

static const uint64_t EVERY_MAX = 999999999;

EGB_AMONG_DATA_ static bool     large_has_guard_pages;  // atomic, as all below
EGB_AMONG_DATA_ static uint32_t sample_every;           // 0: no small request is sampled
EGB_AMONG_DATA_ static intptr_t sample_left;  // blocks till the next sample, due at 1; may go below
EGB_AMONG_DATA_ static uint32_t sample_random;

typedef struct wanted_pages {
    bool     large;
    uint32_t every;
} wanted_pages;

static bool read_entry(const egb_entry* entry, wanted_pages* wanted)
{
    const char* from   = entry->value;
    uint64_t    number = 0;
    if (entry->has_name) {
        return false;
    }
    if (egb_entry_starts_(&from, entry->end, "large") && from == entry->end) {
        wanted->large = true;
        return true;
    }
    from = entry->value;
    if (!egb_entry_starts_(&from, entry->end, "1/") ||
        !egb_entry_number_(from, entry->end, &number) || number > EVERY_MAX) {
        return false;
    }
    wanted->every = (uint32_t)number;
    return true;
}

// False: an entry is invalid.
static bool read_page_setting(const char* text, wanted_pages* wanted)
{
    egb_entry entry;
    bool      is_right = true;
    wanted->large      = false;
    wanted->every      = 0;
    while (text != NULL && egb_entry_next_(&text, &entry)) {
        is_right = read_entry(&entry, wanted) && is_right;
    }
    return is_right;
}

// A number from 1 to 2 * every - 1, whose average is `every`: a program that asks in a rhythm does
// not get all its samples from one place. (Steps of a Weyl sequence, mixed.)
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

// Large blocks have the level of the pool above the size classes. A tool that watches raises that
// level, but it sees by itself what a page would stop: only EGGBOX_CHECK counts here.
static bool wants_level_pages(void)
{
    egb_level level = EGB_LEVEL_CHECK;
    (void)egb_level_of_("heap", EGB_LEVEL_CHECK, &level);
    return level == EGB_LEVEL_GUARD || level == EGB_LEVEL_TRACK;
}

static egb_status apply_setting(const wanted_pages* wanted)
{
    const bool is_asked = wanted->large || wanted->every != 0;
    const bool can      = egb_os_can_protect_() && egb_os_page_bytes_() < EGB_UNIT_BYTES &&
                     egb_level_of_no_pool_() != EGB_LEVEL_PASSTHROUGH;
    const bool has_large = can && (wanted->large || wants_level_pages());
    if (can && (is_asked || has_large)) {
        (void)egb_os_explain_faults_(explain);
    }
    EGB_STORE_(sample_random, (uint32_t)egb_os_nanoseconds_());
    EGB_STORE_(large_has_guard_pages, has_large);
    EGB_STORE_(sample_every, can ? wanted->every : 0);
    EGB_STORE_(sample_left, blocks_to_next());
    return is_asked && !can ? EGB_UNSUPPORTED : EGB_OK;
}

void egb_guard_page_read_setting_(const char* text)
{
    static const char wrong[] = "eggbox: EGGBOX_GUARD_PAGES has an entry that is not large or "
                                "1/NUMBER; the entry is ignored\n";
    static const char none[] =
        "eggbox: EGGBOX_GUARD_PAGES is ignored: this system, or level passthrough, has no guard "
        "pages\n";
    wanted_pages wanted;
    if (!read_page_setting(text, &wanted)) {
        egb_os_write_error_(wrong, sizeof wrong - 1);
    }
    if (apply_setting(&wanted) != EGB_OK) {
        egb_os_write_error_(none, sizeof none - 1);
    }
}

bool egb_guard_page_is_setting_(const char* text)
{
    wanted_pages wanted;
    return read_page_setting(text, &wanted);
}

egb_status egb_guard_page_set_(const char* text)
{
    wanted_pages wanted;
    return read_page_setting(text, &wanted) ? apply_setting(&wanted) : EGB_INVALID;
}

bool egb_guard_page_for_large_(void)
{
    return EGB_LOAD_(large_has_guard_pages);
}

bool egb_guard_page_samples_(void)
{
    return EGB_LOAD_(sample_every) != 0;
}

bool egb_guard_page_is_due_(void)
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

void egb_guard_page_count_(size_t blocks)
{
    (void)__atomic_fetch_sub(&sample_left, (intptr_t)blocks, __ATOMIC_RELAXED);
}

void egb_guard_page_skip_(void)
{
    EGB_STORE_(sample_left, blocks_to_next());
}

// ---- how many -----------------------------------------------------------------------------------

// Both are protected by the lock of large blocks.
static size_t all_in_use;
static size_t samples_in_use;

bool egb_guard_page_enter_(bool is_sample)
{
    egb_large_lock_();
    const bool may_be = all_in_use < EGB_GUARD_PAGES_MAX &&
                        (!is_sample || samples_in_use < EGB_GUARD_PAGE_SAMPLES_MAX);
    if (may_be) {
        all_in_use++;
        samples_in_use += is_sample ? 1 : 0;
    }
    egb_large_unlock_();
    return may_be;
}

void egb_guard_page_leave_(bool is_sample)
{
    egb_large_lock_();
    all_in_use--;
    samples_in_use -= is_sample ? 1 : 0;
    egb_large_unlock_();
}

size_t egb_guard_page_in_use_(size_t* samples)
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

void egb_guard_page_reset_(void)
{
    all_in_use = samples_in_use = 0;
    egb_large_each_(count_one, NULL);
}

// ---- a region -----------------------------------------------------------------------------------

// The block lies as far back as its alignment allows, with a page before it at least. An alignment
// of more than a page holds for the region only, and there is no page before the block.
size_t egb_guard_page_plan_(egb_guard_page* plan, size_t align, size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    const size_t unit = EGB_UNIT_BYTES;
    const size_t step = align < ALIGN_MIN ? (size_t)ALIGN_MIN : align;
    if (page >= unit || bytes > PTRDIFF_MAX - 2 * unit) {
        return 0;
    }
    plan->bytes           = bytes == 0 ? 1 : bytes;
    plan->room            = egb_round_up_(plan->bytes, step < page ? step : page);
    const bool   has_lead = step <= page;
    const size_t whole    = egb_round_up_(plan->room + page + (has_lead ? page : 0), unit);
    plan->lead            = has_lead ? whole - page - plan->room : 0;
    return whole;
}

static unsigned char* start_of(const egb_large* large)
{
    return (unsigned char*)large->range.start + large->guard.lead;
}

static bool protect(const egb_large* large, size_t from, size_t to, bool is_open)
{
    return egb_os_protect_((char*)large->range.start + from, to - from, is_open) == EGB_OK;
}

// The start of the block's first page.
static size_t first_page(const egb_large* large)
{
    return large->guard.lead & ~(egb_os_page_bytes_() - 1);
}

// Bytes on that page before the block: the page is in memory anyway.
static size_t front_bytes(const egb_large* large)
{
    const size_t before = large->guard.lead - first_page(large);
    return before < FRONT_BYTES_MAX ? before : FRONT_BYTES_MAX;
}

static void write_back_of(const egb_large* large)
{
    const egb_guard_page* const guard = &large->guard;
    (void)__builtin_memset(start_of(large) + guard->bytes, AROUND, guard->room - guard->bytes);
}

static void write_around(const egb_large* large)
{
    const size_t front = front_bytes(large);
    (void)__builtin_memset(start_of(large) - front, AROUND, front);
    write_back_of(large);
}

bool egb_guard_page_close_pages_(const egb_large* large)
{
    const size_t end     = large->guard.lead + large->guard.room;
    const size_t first   = first_page(large);
    const bool   is_done = protect(large, end, large->range.bytes, false) &&
                         (first == 0 || protect(large, 0, first, false));
    if (is_done) {
        write_around(large);
    }
    return is_done;
}

bool egb_guard_page_open_block_(const egb_large* large)
{
    const bool is_done =
        protect(large, first_page(large), large->guard.lead + large->guard.room, true);
    if (is_done) {
        write_around(large);
    }
    return is_done;
}

// If the region has few pages they stay: the next sample will need them.
bool egb_guard_page_close_(const egb_large* large)
{
    return large->guard.room > 2 * egb_os_page_bytes_()
               ? egb_os_shut_(large->range.start, large->range.bytes) == EGB_OK
               : protect(large, 0, large->range.bytes, false);
}

bool egb_guard_page_open_(const egb_large* large)
{
    return protect(large, 0, large->range.bytes, true);
}

// The damaged byte, counted from the block's start: below 0 it is before the block. 0: no damage.
static ptrdiff_t damage(const egb_large* large)
{
    const egb_guard_page* const guard = &large->guard;
    const unsigned char* const  block = start_of(large);
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

// The room of a block with so many bytes where it stands; 0: it must move.
static size_t room_for(const egb_large* large, size_t bytes)
{
    const egb_guard_page* const guard = &large->guard;
    const size_t                page  = egb_os_page_bytes_();
    if (large->state != EGB_LARGE_LIVE || bytes > large->range.bytes - guard->lead - page) {
        return 0;
    }
    const bool   may_open  = !egb_is_frozen_();
    const size_t room      = egb_round_up_(guard->lead + bytes, page) - guard->lead;
    const bool   is_larger = bytes >= guard->bytes;
    const bool   is_right  = room - bytes < ALIGN_MIN || (is_larger && room == guard->room) ||
                          (is_larger && guard->moved / COPIES_MAX >= bytes);
    return is_right && (room == guard->room || (room > guard->room && may_open)) ? room : 0;
}

bool egb_guard_page_resize_(egb_large* large, size_t bytes)
{
    egb_guard_page* const guard = &large->guard;
    bytes                       = bytes == 0 ? 1 : bytes;
    const size_t room           = room_for(large, bytes);
    const size_t end            = guard->lead + guard->room;
    if (room == 0 || damage(large) != 0 ||
        (room > guard->room && !protect(large, end, guard->lead + room, true))) {
        return false;
    }
    egb_large_lock_();
    guard->bytes = bytes;
    guard->room  = room;
    write_back_of(large);
    egb_large_unlock_();
    return true;
}

egb_history egb_guard_page_history_(const egb_large* large)
{
    const egb_history history = {
        .bytes      = large->guard.bytes,
        .alloc_site = large->guard.alloc_site,
        .free_site  = large->guard.free_site,
    };
    return history;
}

// ---- is it as it should be ----------------------------------------------------------------------

bool egb_guard_page_check_(const egb_large* large, egb_finding* finding)
{
    const ptrdiff_t damaged  = large->guard.bytes == 0 ? 0 : damage(large);
    finding->history         = egb_guard_page_history_(large);
    finding->history.damaged = damaged;
    if (damaged != 0) {
        finding->kind = damaged > 0 ? EGB_MISUSE_OVERRUN : EGB_MISUSE_UNDERRUN;
    }
    return damaged != 0;
}

egb_history egb_large_history_(const void* block)
{
    egb_history history = {.bytes = 0};
    egb_large_lock_();
    const egb_large* const large = egb_large_at_(block);
    if (large != NULL && large->state == EGB_LARGE_LIVE) {
        history = egb_guard_page_history_(large);
    }
    egb_large_unlock_();
    return history;
}

typedef struct damages {
    egb_finding first;
    size_t      count;
} damages;

static void check_one(void* record, void* user)
{
    const egb_large* const large = record;
    damages* const         all   = user;
    egb_finding            one   = {.block = start_of(large), .index = EGB_NO_INDEX};
    if (large->state == EGB_LARGE_LIVE && egb_guard_page_check_(large, &one) && all->count++ == 0) {
        all->first = one;
    }
}

size_t egb_large_check_all_(egb_finding* finding)
{
    damages all = {.count = 0};
    egb_large_lock_();
    egb_large_each_(check_one, &all);
    egb_large_unlock_();
    *finding = all.first;
    return all.count;
}

egb_status egb_large_check_(const void* block, egb_finding* finding)
{
    damages all = {.count = 0};
    egb_large_lock_();
    egb_large* const large = egb_large_at_(block);
    const bool       is_in = large != NULL && large->state == EGB_LARGE_LIVE;
    const bool       is    = is_in && start_of(large) == block;
    if (is) {
        check_one(large, &all);
    }
    egb_large_unlock_();
    *finding = all.first;
    return !is ? EGB_INVALID : all.count != 0 ? EGB_CORRUPT : EGB_OK;
}

// ---- quarantine ---------------------------------------------------------------------------------

static egb_large_list quarantine;
static size_t         quarantine_count;
static size_t         quarantine_bytes;

size_t egb_page_quarantine_bytes_(void)
{
    return quarantine_bytes;
}

size_t egb_page_quarantine_count_(void)
{
    return quarantine_count;
}

static egb_large* take_oldest(void)
{
    egb_large* const large = quarantine.oldest;
    egb_large_list_remove_(&quarantine, large);
    quarantine_count--;
    quarantine_bytes -= large->range.bytes;
    large->state = EGB_LARGE_NEW;
    return large;
}

egb_large* egb_page_quarantine_take_(size_t whole)
{
    const bool is_fit =
        quarantine_count > EGB_PAGE_QUARANTINE_MAX / 2 && quarantine.oldest->range.bytes == whole;
    return is_fit ? take_oldest() : NULL;
}

void egb_page_quarantine_flush_(egb_unmap_list* unmap_list)
{
    while (quarantine_count != 0) {
        egb_large_unmap_later_(unmap_list, take_oldest());
    }
}

void egb_page_quarantine_add_(egb_large* large, egb_unmap_list* unmap_list)
{
    if (large->range.bytes > QUARANTINE_BYTES_MAX) {
        egb_large_unmap_later_(unmap_list, large);
        return;
    }
    while (quarantine_count != 0 && (quarantine_count == EGB_PAGE_QUARANTINE_MAX ||
                                     quarantine_bytes + large->range.bytes > QUARANTINE_BYTES_MAX)
    ) {
        egb_large_unmap_later_(unmap_list, take_oldest());
    }
    large->state = EGB_LARGE_QUARANTINED;
    egb_large_list_add_(&quarantine, large);
    quarantine_count++;
    quarantine_bytes += large->range.bytes;
}

// ---- faults -------------------------------------------------------------------------------------

static void say_where(egb_text_line* line, const egb_large* large, const void* address)
{
    const uintptr_t start = (uintptr_t)start_of(large);
    const uintptr_t at    = (uintptr_t)address;
    egb_text_add_(line, at < start ? ": " : ": byte ");
    egb_text_number_(line, at < start ? start - at : at - start);
    egb_text_add_(line, at < start ? " bytes before" : " (counted from 0) of");
    egb_text_add_(line, " the ");
    egb_text_number_(line, large->guard.bytes);
    egb_text_add_(line, large->guard.bytes == 1 ? " byte at " : " bytes at ");
    egb_text_address_(line, (const void*)start);
    egb_text_write_line_(line);
}

static void say_place(egb_text_line* line, const char* what, const void* site)
{
    if (site != NULL) {
        egb_text_add_(line, what);
        egb_text_place_(line, NULL, 0, site);
        egb_text_write_line_(line);
    }
}

// Runs as a signal handler, without the lock, which this thread may hold. Records stay; a record
// that another thread is changing may be reported wrongly.
static void explain(const void* address, egb_os_access access)
{
    static const char* const words[] = {"access to", "read of", "write to"};
    const egb_large* const   large   = egb_large_at_(address);
    egb_text_line            line    = {.bytes = 0};
    if (large == NULL || large->guard.bytes == 0) {
        return;
    }
    egb_text_add_(&line, "eggbox: ");
    egb_text_add_(&line, words[access]);
    egb_text_add_(
        &line,
        large->state != EGB_LARGE_LIVE                    ? " a freed block"
        : (uintptr_t)address < (uintptr_t)start_of(large) ? " memory before a block"
                                                          : " memory past the end of a block"
    );
    say_where(&line, large, address);
    say_place(&line, "  allocated at ", large->guard.alloc_site);
    say_place(&line, "  freed at ", large->guard.free_site);
    egb_text_add_(&line, "  next: addr2line -Cfie PATH 0x... names the source line of PATH+0x...");
    egb_text_write_line_(&line);
}

// SPDX-License-Identifier: MIT
// The handler of the hosted library: egb_misuse(), the function set at run time, and the default.
//
// A misuse may happen anywhere, with any lock held. To report it takes no lock of this library and
// works in a signal handler. The name of a module comes from dl_iterate_phdr(), which takes a lock
// of the C library. Only egb_misuse_set_handler() waits: for another thread inside it.
#include "misuse.h"
#include "../../os/os.h"
#include "../settings/number_set.h"
#include "../settings/settings.h"
#include "eggbox/misuse.h"
#include "text.h"

#include <stdatomic.h>

// ---- the handler set at run time ---------------------------------------------------------------

// A function and its `user`, read as one value: `version` is odd while they change, and even and
// larger afterwards.
EGB_AMONG_DATA_ static atomic_uint            version;
EGB_AMONG_DATA_ static _Atomic(egb_misuse_fn) current_function;  // NULL: the default
EGB_AMONG_DATA_ static _Atomic(void*)         current_user;

void egb_misuse_set_handler(egb_misuse_fn handler, void* user)
{
    unsigned before = atomic_load(&version) & ~1u;
    while (!atomic_compare_exchange_weak(&version, &before, before + 1)) {
        before &= ~1u;  // another thread is setting: wait until it is done
    }
    atomic_store(&current_function, handler);
    atomic_store(&current_user, user);
    atomic_store(&version, before + 2);
}

// Reads both. False: it could not. It does not wait for long: the change may have been interrupted
// by the very signal handler that calls this.
static bool read_handler(egb_misuse_fn* handler, void** user)
{
    for (int tries = 0; tries < 1000; tries++) {
        const unsigned before = atomic_load(&version);
        *handler              = atomic_load(&current_function);
        *user                 = atomic_load(&current_user);
        if (before % 2 == 0 && atomic_load(&version) == before) {
            return true;
        }
    }
    return false;
}

// ---- how often ---------------------------------------------------------------------------------

static _Atomic(uint64_t) misuse_counts[EGB_MISUSE_LAST + 1];  // by kind; [0]: unknown kinds

uint64_t egb_misuse_count_(egb_misuse_kind kind)
{
    return atomic_load_explicit(&misuse_counts[kind], memory_order_relaxed);
}

static void count_misuse(egb_misuse_kind kind)
{
    const unsigned place = (unsigned)kind <= EGB_MISUSE_LAST ? (unsigned)kind : 0;
    (void)atomic_fetch_add_explicit(&misuse_counts[place], 1, memory_order_relaxed);
}

// ---- which were last ----------------------------------------------------------------------------

enum { PAST_WORDS = sizeof(egb_past_event) / sizeof(uintptr_t) };
EGB_STATIC_ASSERT(sizeof(egb_past_event) % sizeof(uintptr_t) == 0, "an event is whole words");

typedef union past_words {
    egb_past_event event;
    uintptr_t      words[PAST_WORDS];
} past_words;

// If `version` is even and not 0, the entry is event number `version` / 2, counted from 1. If it is
// odd, a thread is writing to the entry.
static struct {
    _Atomic(uintptr_t) version;
    _Atomic(uintptr_t) words[PAST_WORDS];
} past[EGB_PAST_EVENTS_MAX];
static _Atomic(uintptr_t) past_count;
static _Atomic(uintptr_t) past_forgotten;  // the number of events not to be told

static past_words in_words(const egb_misuse_event* event)
{
    const egb_history* const history = event->history;
    past_words               out     = {.event = {.kind = (uintptr_t)event->kind}};
    out.event.site                   = event->site;
    out.event.stack                  = event->stack;
    for (size_t i = 0; event->pool_name != NULL && i < EGB_PAST_NAME_BYTES - 1; i++) {
        out.event.pool_name[i] = event->pool_name[i];
        if (event->pool_name[i] == '\0') {
            break;
        }
    }
    if (history != NULL) {
        out.event.bytes       = history->bytes;
        out.event.damaged     = history->damaged;
        out.event.alloc_site  = history->alloc_site;
        out.event.alloc_file  = history->alloc_file;
        out.event.alloc_line  = history->alloc_line;
        out.event.free_site   = history->free_site;
        out.event.alloc_stack = history->alloc_stack;
        out.event.free_stack  = history->free_stack;
    }
    return out;
}

// An entry stays as it is if another thread is still writing to it, or if it has a later event.
static void note_past(const egb_misuse_event* event)
{
    const past_words from   = in_words(event);
    const uintptr_t  number = atomic_fetch_add(&past_count, 1) + 1;
    const size_t     place  = number % EGB_PAST_EVENTS_MAX;
    uintptr_t        before = atomic_load(&past[place].version);
    if (before % 2 == 0 && before < 2 * number &&
        atomic_compare_exchange_strong(&past[place].version, &before, 2 * number + 1)) {
        for (size_t i = 0; i < PAST_WORDS; i++) {
            atomic_store(&past[place].words[i], from.words[i]);
        }
        atomic_store(&past[place].version, 2 * number);
    }
}

static bool read_past(uintptr_t number, egb_past_event* event)
{
    const size_t place = number % EGB_PAST_EVENTS_MAX;
    past_words   out;
    if (atomic_load(&past[place].version) != 2 * number) {
        return false;
    }
    for (size_t i = 0; i < PAST_WORDS; i++) {
        out.words[i] = atomic_load(&past[place].words[i]);
    }
    *event = out.event;
    return atomic_load(&past[place].version) == 2 * number;
}

size_t egb_misuse_past_(egb_past_event events[EGB_PAST_EVENTS_MAX])
{
    const uintptr_t last  = atomic_load(&past_count);
    uintptr_t       first = atomic_load(&past_forgotten);
    size_t          count = 0;
    if (last - first > EGB_PAST_EVENTS_MAX) {
        first = last - EGB_PAST_EVENTS_MAX;
    }
    for (uintptr_t number = first + 1; number <= last && count < EGB_PAST_EVENTS_MAX; number++) {
        count += read_past(number, &events[count]) ? 1 : 0;
    }
    return count;
}

void egb_misuse_forget_(void)
{
    atomic_store(&past_forgotten, atomic_load(&past_count));
    for (int kind = 0; kind <= EGB_MISUSE_LAST; kind++) {
        atomic_store_explicit(&misuse_counts[kind], 0, memory_order_relaxed);
    }
}

// ---- the default: one line for each site -------------------------------------------------------

enum { SITES_MAX = 64 };

EGB_ALIGNAS_(8) static uint64_t sites[SITES_MAX];  // atomic
static atomic_bool sites_are_full;

// Whether this kind of misuse is new at this site; remembers it.
static bool is_new(const egb_misuse_event* event)
{
    const uint64_t number = (uint64_t)(uintptr_t)event->site * 16 + (unsigned)event->kind;  // not 0
    switch (egb_number_set_add_(sites, SITES_MAX, number)) {
        case EGB_SEEN_NEVER: return true;
        case EGB_SEEN_BEFORE: return false;
        case EGB_SEEN_SET_FULL: break;
    }
    return !atomic_exchange(&sites_are_full, true);
}

const char egb_misuse_at_end_ = 0;

// Says nothing of an address, a block or a pool that there is not.
static void write_subject(egb_text_line* out, const egb_misuse_event* event)
{
    const bool has_address = event->address != NULL;
    const bool has_index   = event->block_index != EGB_NO_INDEX;
    if (has_address) {
        egb_text_add_(out, ": address ");
        egb_text_address_(out, event->address);
    }
    if (has_index) {
        egb_text_add_(out, has_address ? ", block " : ": block ");
        egb_text_number_(out, event->block_index);
    }
    if (event->pool_name == NULL && event->pool == NULL) {
        return;
    }
    egb_text_add_(out, has_address || has_index ? " of pool " : ": pool ");
    if (event->pool_name != NULL) {
        egb_text_add_(out, event->pool_name);
    } else {
        egb_text_address_(out, event->pool);
    }
}

static void describe(egb_text_line* out, const egb_misuse_event* event)
{
    egb_text_add_(out, "eggbox: ");
    egb_text_add_(out, egb_misuse_text(event->kind));
    write_subject(out, event);
    if (event->site == &egb_misuse_at_end_) {
        egb_text_add_(out, ", found at the end of the program");
    } else {
        egb_text_add_(out, ", called from ");
        egb_text_place_(out, NULL, 0, event->site);
    }
}

// Damage is found at a later call, which is right itself.
static bool is_damage(const egb_misuse_event* event)
{
    return event->kind == EGB_MISUSE_OVERWRITTEN || event->kind == EGB_MISUSE_OVERRUN ||
           event->kind == EGB_MISUSE_UNDERRUN;
}

// Whether the event is about a block that the program allocated.
static bool had_block(const egb_misuse_event* event)
{
    switch (event->kind) {
        case EGB_MISUSE_NO_POOL:
        case EGB_MISUSE_FOREIGN:
        case EGB_MISUSE_NEVER_ALLOCATED:
        case EGB_MISUSE_STALE:
        case EGB_MISUSE_SEALED: return false;
        default: return true;
    }
}

static bool is_refused(const egb_misuse_event* event)
{
    return !is_damage(event) && event->kind != EGB_MISUSE_WRONG_SIZE;
}

// ---- the default: what more is known ------------------------------------------------------------

static void write_damage(egb_text_line* out, ptrdiff_t at)
{
    egb_text_add_(out, at < 0 ? "; a byte before the block" : "; byte ");
    if (at >= 0) {
        egb_text_number_(out, (size_t)at);
        egb_text_add_(out, " (counted from 0)");
    }
    egb_text_add_(out, " was overwritten");
}

static void write_bytes(egb_text_line* out, const egb_misuse_event* event)
{
    const size_t bytes = event->history->bytes;
    egb_text_add_(out, "  ");
    egb_text_number_(out, bytes);
    egb_text_add_(out, bytes == 1 ? " byte was requested" : " bytes were requested");
    if (is_damage(event)) {
        write_damage(out, event->history->damaged);
    }
    egb_text_write_line_(out);
}

// A site, its source if that is known, and the calls that led to it.
typedef struct misuse_place {
    const char*        file;
    unsigned           line;
    const void*        site;
    const void* const* stack;
} misuse_place;

static void write_place(egb_text_line* out, const char* what, misuse_place where)
{
    if (where.file != NULL || where.site != NULL) {
        egb_text_add_(out, what);
        egb_text_place_(out, where.file, where.line, where.site);
        egb_text_callers_(out, where.stack);
        egb_text_write_line_(out);
    }
}

static void write_next_step(egb_text_line* out, const egb_misuse_event* event)
{
    egb_text_add_(out, "  next: ");
    if (event->history->alloc_site != NULL || event->history->level == EGB_LEVEL_TRACK ||
        !had_block(event)) {
        egb_text_add_(out, "addr2line -Cfie PATH 0x... names the source line of PATH+0x...");
    } else {
        egb_text_add_(
            out, "run it again with EGGBOX_CHECK=track to learn where the block was allocated"
        );
    }
    egb_text_write_line_(out);
}

static void write_history(egb_text_line* out, const egb_misuse_event* event)
{
    const egb_history* const history = event->history;
    if (!is_refused(event)) {
        write_bytes(out, event);
    }
    if (event->stack != NULL) {
        const misuse_place call = {NULL, 0, event->site, event->stack};
        write_place(out, "  called at ", call);
    }
    const misuse_place alloc = {
        history->alloc_file, history->alloc_line, history->alloc_site, history->alloc_stack
    };
    const misuse_place free = {NULL, 0, history->free_site, history->free_stack};
    write_place(out, "  allocated at ", alloc);
    write_place(out, "  freed at ", free);
    write_next_step(out, event);
}

// ---- the default: goes on, or ends the program --------------------------------------------------

static void report_once_per_site(const egb_misuse_event* event)
{
    if (!is_new(event)) {
        return;
    }
    egb_text_line out = {.bytes = 0};
    describe(&out, event);
    egb_text_add_(&out, is_refused(event) ? "; refused" : "");
    egb_text_write_line_(&out);
    if (event->history != NULL) {
        write_history(&out, event);
    }
    if (atomic_load(&sites_are_full)) {
        egb_text_add_(&out, "eggbox: misuse at further sites is not reported");
        egb_text_write_line_(&out);
    }
}

static void report_and_end(const egb_misuse_event* event)
{
    egb_text_line out = {.bytes = 0};
    describe(&out, event);
    egb_text_write_line_(&out);
    write_history(&out, event);
    egb_os_abort_();
}

#if defined(EGB_OWN_MISUSE) && EGB_OWN_MISUSE

// The program's own takes the place of this one, in a build where the linker cannot choose.
void egb_misuse_of_library_(const egb_misuse_event* event);

  #define egb_misuse egb_misuse_of_library_
#endif

EGB_WEAK void egb_misuse(const egb_misuse_event* event)
{
    egb_misuse_fn handler;
    void*         user;
    count_misuse(event->kind);
    note_past(event);
    if (read_handler(&handler, &user) && handler != NULL) {
        handler(event, user);
    } else if (event->history != NULL && !egb_level_has_magazines_(event->history->level)) {
        report_and_end(event);
    } else {
        report_once_per_site(event);
    }
}

#undef egb_misuse

// SPDX-License-Identifier: MIT
// The handler of the hosted library: egb_misuse(), the function set at run time, and the default.
//
// Everything here is lock-free and asynchronous-signal-safe, because a misuse may happen anywhere.
#include "eggbox/check.h"
#include "os.h"

#include <stdatomic.h>

// ---- the handler set at run time ---------------------------------------------------------------

// A function and its `user` are one value to whoever reads them, so each pair has a place of its own
// that is written once. Setting the same pair again finds its old place.
enum { HANDLERS_MAX = 64 };
enum { EMPTY, FILLING, READY };

typedef struct handler {
    atomic_int    state;
    egb_misuse_fn function;
    void*         user;
} handler;

static handler           handlers[HANDLERS_MAX];
static _Atomic(handler*) current;  // NULL: the default

static bool holds(handler* place, egb_misuse_fn function, void* user)
{
    int expected = EMPTY;
    if (atomic_compare_exchange_strong(&place->state, &expected, FILLING)) {
        place->function = function;
        place->user     = user;
        atomic_store_explicit(&place->state, READY, memory_order_release);
        return true;
    }
    return expected == READY && place->function == function && place->user == user;
}

egb_status egb_set_misuse_handler(egb_misuse_fn function, void* user)
{
    if (function == NULL) {
        atomic_store(&current, NULL);
        return EGB_OK;
    }
    for (int i = 0; i < HANDLERS_MAX; i++) {
        if (holds(&handlers[i], function, user)) {
            atomic_store(&current, &handlers[i]);
            return EGB_OK;
        }
    }
    return EGB_LIMIT;
}

// ---- the default: one line for each site -------------------------------------------------------

enum { SITES_MAX = 64, LINE_BYTES_MAX = 256 };

static atomic_uintptr_t sites[SITES_MAX];
static atomic_bool      sites_are_full;

// Says whether this kind of misuse at this site was not seen before, and remembers it.
static bool is_new(const egb_event* event)
{
    const uintptr_t kind   = (uintptr_t)event->kind << (sizeof(uintptr_t) * 8 - 4);
    const uintptr_t wanted = (uintptr_t)event->site ^ kind;  // not 0, because no kind is
    for (int i = 0; i < SITES_MAX; i++) {
        uintptr_t seen = 0;
        if (atomic_compare_exchange_strong(&sites[i], &seen, wanted)) {
            return true;
        }
        if (seen == wanted) {
            return false;
        }
    }
    return !atomic_exchange(&sites_are_full, true);
}

typedef struct line {
    char   text[LINE_BYTES_MAX];
    size_t bytes;
} line;

static void add_text(line* out, const char* text)
{
    while (*text != '\0' && out->bytes < LINE_BYTES_MAX - 1) {
        out->text[out->bytes++] = *text++;
    }
}

static void add_number(line* out, size_t value, size_t base)
{
    char  digits[24];
    char* first = digits + sizeof digits - 1;
    *first      = '\0';
    do {
        *--first = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    add_text(out, first);
}

static void add_address(line* out, const void* address)
{
    add_text(out, "0x");
    add_number(out, (size_t)(uintptr_t)address, 16);
}

static void describe(line* out, const egb_event* event)
{
    add_text(out, "eggbox: ");
    add_text(out, egb_event_text(event->kind));
    add_text(out, ": address ");
    add_address(out, event->address);
    if (event->block_index != EGB_NO_INDEX) {
        add_text(out, ", block ");
        add_number(out, event->block_index, 10);
    }
    add_text(out, " of pool ");
    if (event->pool_name != NULL) {
        add_text(out, event->pool_name);
    } else {
        add_address(out, event->pool);
    }
    add_text(out, ", called from ");
    add_address(out, event->site);
    add_text(out, "; refused\n");
}

static void report_once_per_site(const egb_event* event)
{
    if (!is_new(event)) {
        return;
    }
    line out = {{0}, 0};
    describe(&out, event);
    if (atomic_load(&sites_are_full)) {
        add_text(&out, "eggbox: misuse at further places is not reported\n");
    }
    egb_os_write_error(out.text, out.bytes);
}

EGB_WEAK void egb_misuse(const egb_event* event)
{
    handler* const set = atomic_load_explicit(&current, memory_order_acquire);
    if (set != NULL) {
        set->function(event, set->user);
    } else {
        report_once_per_site(event);
    }
}

// SPDX-License-Identifier: MIT
// The handler of the hosted library: egb_misuse(), the function set at run time, and the default.
//
// Everything here is lock-free and asynchronous-signal-safe, because a misuse may happen anywhere.
#include "../os/os.h"
#include "eggbox/check.h"

#include <stdatomic.h>

// ---- the handler set at run time ---------------------------------------------------------------

// A function and its `user`, which are one value to whoever reads them: `version` is odd while they
// are being changed, and even and larger afterwards.
static atomic_uint            version;
static _Atomic(egb_misuse_fn) current_function;  // NULL: the default
static _Atomic(void*)         current_user;

void egb_set_misuse_handler(egb_misuse_fn handler, void* user)
{
    unsigned before = atomic_load(&version) & ~1u;
    while (!atomic_compare_exchange_weak(&version, &before, before + 1)) {
        before &= ~1u;  // another thread is setting: wait until it is done
    }
    atomic_store(&current_function, handler);
    atomic_store(&current_user, user);
    atomic_store(&version, before + 2);
}

// Reads both, or says that it could not. It does not wait for long, because the change may have
// been interrupted by the very signal handler that calls this.
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

// ---- the default: one line for each site -------------------------------------------------------

enum { SITES_MAX = 64, LINE_BYTES_MAX = 256 };

static _Atomic(uint64_t) sites[SITES_MAX];
static atomic_bool       sites_are_full;

// Says whether this kind of misuse at this site was not seen before, and remembers it.
static bool is_new(const egb_event* event)
{
    const uint64_t wanted = (uint64_t)(uintptr_t)event->site * 8 + (unsigned)event->kind;  // not 0
    for (int i = 0; i < SITES_MAX; i++) {
        uint64_t seen = 0;
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
    add_text(out, event->kind == EGB_EVENT_OVERWRITTEN ? "\n" : "; refused\n");
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
    egb_misuse_fn handler;
    void*         user;
    if (read_handler(&handler, &user) && handler != NULL) {
        handler(event, user);
    } else {
        report_once_per_site(event);
    }
}

// SPDX-License-Identifier: MIT
// The leaks and misuse events in a report, with their places in the code.
#include "findings.h"
#include "../../os/os.h"
#include "../heap/heap.h"
#include "../pool/holders.h"
#include "../pool/redzone.h"
#include "../report/misuse.h"
#include "../stacks/stacks.h"
#include "live_slot.h"

enum { PLACES_LISTED = 50, MODULE_BYTES_MAX = 4096 };

static void write_one_place(egb_json* out, const char* file, uint64_t line, const void* site)
{
    static char path[MODULE_BYTES_MAX];  // one thread at a time writes a report
    uintptr_t   offset;
    egb_json_open_(out, '{');
    if (file != NULL) {
        egb_json_word_(out, "file", file);
        egb_json_number_(out, "line", line);
    } else if (egb_os_find_module_(site, path, sizeof path, &offset)) {
        egb_json_word_(out, "module", *path != '\0' ? path : egb_live_program_());
        egb_json_number_(out, "offset", offset);
    } else {
        egb_json_number_(out, "address", (uintptr_t)site);
    }
    egb_json_close_(out, '}');
}

// Writes nothing for an unknown place.
static void
write_where(egb_json* out, const char* name, const char* file, uint64_t line, const void* site)
{
    if (file != NULL || site != NULL) {
        egb_json_name_(out, name);
        write_one_place(out, file, line, site);
    }
}

// Writes nothing for an unknown stack.
static void write_stack(egb_json* out, const char* name, const void* const* stack)
{
    if (stack == NULL) {
        return;
    }
    egb_json_name_(out, name);
    egb_json_open_(out, '[');
    for (; *stack != NULL; stack++) {
        egb_json_next_(out);
        write_one_place(out, NULL, 0, *stack);
    }
    egb_json_close_(out, ']');
}

// ---- places that allocated ----------------------------------------------------------------------

typedef struct place_sum {
    uint64_t places;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t samples;
} place_sum;

typedef struct holders_out {
    egb_json* out;
    bool      has_ages;
    bool      have_reach;
    place_sum all;       // without those that are still reachable
    place_sum indirect;  // a part of `all`
    place_sum reachable;
} holders_out;

static void add_holder(place_sum* sum, const egb_holder* holder)
{
    sum->places++;
    sum->blocks += holder->blocks;
    sum->bytes += holder->bytes;
    sum->samples += holder->samples;
}

static const char* text_of_reach(egb_reach reach)
{
    switch (reach) {
        case EGB_REACH_DIRECTLY_LOST: return "directly lost";
        case EGB_REACH_INDIRECTLY_LOST: return "indirectly lost";
        case EGB_REACH_STILL: return "still reachable";
        default: return NULL;
    }
}

static void write_holder(const egb_holder* holder, egb_reach reach, void* user)
{
    holders_out* const to  = user;
    egb_json* const    out = to->out;
    place_sum* const   sum = reach == EGB_REACH_STILL ? &to->reachable : &to->all;
    to->have_reach         = to->have_reach || reach != EGB_REACH_UNKNOWN;
    add_holder(sum, holder);
    if (reach == EGB_REACH_INDIRECTLY_LOST) {
        add_holder(&to->indirect, holder);
    }
    if (sum->places > PLACES_LISTED) {
        return;
    }
    egb_json_next_(out);
    egb_json_open_(out, '{');
    write_where(out, "site", holder->file, holder->line, holder->site);
    write_stack(out, "stack", holder->stack);
    if (reach != EGB_REACH_UNKNOWN) {
        egb_json_word_(out, "reach", text_of_reach(reach));
    }
    egb_json_word_(out, "pool", holder->pool_name);
    egb_json_number_(out, "blocks", holder->blocks);
    egb_json_number_(out, "bytes", holder->bytes);
    if (holder->samples != 0) {
        egb_json_number_(out, "samples", holder->samples);
    }
    if (to->has_ages) {
        egb_json_number_(out, "oldest_ms", holder->oldest_ms);
    }
    egb_json_close_(out, '}');
}

static void write_sum(egb_json* out, const char* name, const place_sum* all)
{
    egb_json_name_(out, name);
    egb_json_open_(out, '{');
    egb_json_number_(out, "places", all->places);
    egb_json_number_(out, "blocks", all->blocks);
    egb_json_number_(out, "bytes", all->bytes);
    if (all->samples != 0) {
        egb_json_number_(out, "samples", all->samples);
    }
    egb_json_close_(out, '}');
}

static void write_leaks(egb_json* out)
{
    holders_out to = {.out = out, .has_ages = true};
    egb_json_name_(out, "leaks");
    egb_json_open_(out, '[');
    const egb_status status = egb_holders_each_new_(write_holder, &to);
    egb_json_close_(out, ']');
    if (status == EGB_OK) {
        write_sum(out, "leaked", &to.all);
    }
    if (status == EGB_OK && to.have_reach) {
        write_sum(out, "indirect", &to.indirect);
        write_sum(out, "reachable", &to.reachable);
    }
}

// Writes all blocks that were ever sampled, in use or not, and how they were sampled.
static void write_samples(egb_json* out)
{
    holders_out to   = {.out = out};
    uint64_t    lost = 0;
    egb_json_name_(out, "allocated");
    egb_json_open_(out, '[');
    const egb_status status = egb_sampled_each_(write_holder, &to, &lost);
    egb_json_close_(out, ']');
    egb_json_name_(out, "sampling");
    egb_json_open_(out, '{');
    egb_json_number_(out, "period_bytes", egb_sampling_period_());
    egb_json_number_(out, "lost", lost);
    if (status == EGB_OK) {
        egb_json_number_(out, "places", to.all.places);
        egb_json_number_(out, "samples", to.all.samples);
        egb_json_number_(out, "blocks", to.all.blocks);
        egb_json_number_(out, "bytes", to.all.bytes);
    }
    egb_json_close_(out, '}');
}

// ---- misuse -------------------------------------------------------------------------------------

static void write_damaged(egb_json* out, const egb_past_event* event)
{
    if (event->kind == EGB_MISUSE_OVERRUN || event->kind == EGB_MISUSE_UNDERRUN ||
        event->kind == EGB_MISUSE_OVERWRITTEN) {
        egb_json_name_(out, "damaged");
        egb_json_plain_(out, event->damaged < 0 ? "-" : "");
        egb_json_digits_(out, (uint64_t)(event->damaged < 0 ? -event->damaged : event->damaged), 1);
    }
}

static void write_event(egb_json* out, const egb_past_event* event)
{
    egb_json_next_(out);
    egb_json_open_(out, '{');
    egb_json_word_(out, "kind", egb_misuse_text((egb_misuse_kind)event->kind));
    egb_json_word_(out, "pool", event->pool_name);
    if (event->bytes != 0) {
        egb_json_number_(out, "bytes", event->bytes);
        write_damaged(out, event);
    }
    write_where(out, "site", NULL, 0, event->site);
    write_where(out, "alloc_site", event->alloc_file, event->alloc_line, event->alloc_site);
    write_where(out, "free_site", NULL, 0, event->free_site);
    write_stack(out, "stack", event->stack);
    write_stack(out, "alloc_stack", event->alloc_stack);
    write_stack(out, "free_stack", event->free_stack);
    egb_json_close_(out, '}');
}

static void write_events(egb_json* out)
{
    egb_past_event events[EGB_PAST_EVENTS_MAX];
    const size_t   count = egb_misuse_past_(events);
    if (count == 0) {
        return;
    }
    egb_json_name_(out, "events");
    egb_json_open_(out, '[');
    for (size_t i = 0; i < count; i++) {
        write_event(out, &events[i]);
    }
    egb_json_close_(out, ']');
}

void egb_report_findings_(egb_json* out)
{
    if (egb_has_tracked_() || egb_heap_tracks_large_() || egb_has_samples_()) {
        write_leaks(out);
    }
    if (egb_has_samples_()) {
        write_samples(out);
    }
    if (egb_stacks_unknown_() != 0) {
        egb_json_number_(out, "without_stack", egb_stacks_unknown_());
    }
    write_events(out);
}

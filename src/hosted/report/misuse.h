// SPDX-License-Identifier: MIT
// Room report: the misuse events that this process has seen, and the finding of one.
#ifndef EGGBOX_SRC_HOSTED_REPORT_MISUSE_H
#define EGGBOX_SRC_HOSTED_REPORT_MISUSE_H

#include "eggbox/misuse.h"

enum {
    EGB_MISUSE_LAST     = EGB_MISUSE_WRONG_SIZE,
    EGB_PAST_EVENTS_MAX = 16,
    EGB_PAST_NAME_BYTES = 48
};

// How often a kind happened in this process, since the last egb_misuse_forget_().
uint64_t egb_misuse_count_(egb_misuse_kind kind);

// Counts from 0 again, and forgets the events until now.
void egb_misuse_forget_(void);

// The site of an event that no call of the program came across: the library found it at the end. An
// address in the library, by which a report shows the same.
extern const char egb_misuse_at_end_;

// A finding about a block, before it becomes an event; `kind` 0: nothing was found.
typedef struct egb_finding {
    int         kind;  // an egb_misuse_kind
    const void* block;
    size_t      index;
    egb_history history;
} egb_finding;

// One of the latest misuse events. Unknown values are 0.
typedef struct egb_past_event {
    uintptr_t          kind;
    uintptr_t          bytes;  // requested
    ptrdiff_t          damaged;
    const void*        site;
    const void*        alloc_site;
    const char*        alloc_file;
    uintptr_t          alloc_line;
    const void*        free_site;
    const void* const* stack;
    const void* const* alloc_stack;
    const void* const* free_stack;
    char               pool_name[EGB_PAST_NAME_BYTES];
} egb_past_event;

// The latest events since counting began, the oldest first, without one that is just being written.
// Returns their number.
size_t egb_misuse_past_(egb_past_event events[EGB_PAST_EVENTS_MAX]);

#endif  // EGGBOX_SRC_HOSTED_REPORT_MISUSE_H

// SPDX-License-Identifier: MIT
// Layer hosted: what the files of the report share, and what they ask of misuse.c.
#ifndef EGGBOX_SRC_HOSTED_REPORT_PRIVATE_H
#define EGGBOX_SRC_HOSTED_REPORT_PRIVATE_H

#include "eggbox/check.h"
#include "report_json.h"

enum { EGB_EVENT_LAST = EGB_EVENT_WRONG_SIZE, EGB_PAST_EVENTS_MAX = 16, EGB_PAST_NAME_BYTES = 48 };

// How often it happened in this process, and that it shall count from 0 again.
uint64_t egb_misuse_count(egb_event_kind kind);
void     egb_misuse_forget(void);

// One misuse of those that were last. What is not known is 0.
typedef struct egb_past_event {
    uintptr_t   kind;
    uintptr_t   bytes;  // that were asked for
    ptrdiff_t   damaged;
    const void* site;
    const void* alloc_site;
    const char* alloc_file;
    uintptr_t   alloc_line;
    const void* free_site;
    char        pool_name[EGB_PAST_NAME_BYTES];
} egb_past_event;

// Those since it last began to count, the oldest first. Returns how many. One that is just being
// noted is left out.
size_t egb_misuse_past(egb_past_event events[EGB_PAST_EVENTS_MAX]);

// The members of a report that say where: "leaks", if blocks are tracked, and "events".
void egb_report_findings(egb_json* out);

// In the child of a fork: the thread that was writing a report is no more.
void egb_report_reset(void);

#endif  // EGGBOX_SRC_HOSTED_REPORT_PRIVATE_H

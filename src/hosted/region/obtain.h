// SPDX-License-Identifier: MIT
// Room region: requests to the system for memory, and the freeze (egb_seal()) that ends them. Two
// more are elsewhere: a large block grows in place by egb_os_resize_() (large_resize.c) if
// egb_may_obtain_() allows it; room stacks, below this room, reserves its memory itself, and no
// caller makes it begin during a freeze.
#ifndef EGGBOX_SRC_HOSTED_REGION_OBTAIN_H
#define EGGBOX_SRC_HOSTED_REGION_OBTAIN_H

#include "../../os/os.h"
#include "eggbox/base.h"

// As egb_os_reserve_(); if the system refuses, once more after the rest of a span and the region
// cache of chunks went back. NULL during the freeze, too; that is remembered for the report. A
// short region is the last part of the rest of a span, a longer range that was one request.
void* egb_obtain_region_(size_t bytes, size_t align);

// The same for records of the library itself: they tell nothing of the memory that the program
// needs. A table, most of whose pages nobody touches, is a request of its own.
void* egb_obtain_records_(size_t bytes, size_t align);
void* egb_obtain_table_(size_t bytes, size_t align);

// Gives a region, or the rest of one, back to the system.
void egb_region_release_(void* region, size_t bytes);

// Notes that `bytes` side by side went back to the system in another way.
void egb_note_hole_(size_t bytes);

// Gives back the rest of a span, and returns its bytes.
size_t egb_obtain_trim_(void);

// The rest of a range whose parts are handed out from its end: an atomic word, so that no lock is
// needed. 0: nothing is left. Starts and lengths are multiples of `granule`, a
// power of two, and the rest has fewer than `granule` granules.
//
// take: the last part of the rest; NULL: it is too short.
// add: a new range, in front of the rest if that begins where the range ends: the system has made
// one mapping of the two, as a rule. Else the range is the rest from now on, and the one before
// goes back to the system.
// replace: a new rest in any case. Returns the bytes that went back.
// cut: the last part, after ranges of `whole` bytes were added until it is long enough; NULL: there
// is no more.
void*  egb_rest_take_(uintptr_t* rest, size_t granule, size_t bytes);
void   egb_rest_add_(uintptr_t* rest, size_t granule, void* start, size_t bytes);
size_t egb_rest_replace_(uintptr_t* rest, size_t granule, void* start, size_t bytes);

typedef void* egb_obtain_range(size_t bytes, size_t align);

void* egb_rest_cut_(
    uintptr_t* rest, size_t granule, size_t bytes, size_t whole, egb_obtain_range* obtain
);

// As egb_os_commit_(); if the system refuses, once more after the region cache of chunks gave
// something back.
egb_status
egb_obtain_pages_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained);

// Whether the system may be asked. False: there is a freeze, and the refusal is remembered for the
// report.
bool egb_may_obtain_(void);

// Only asks whether there is a freeze: for calls that can do without the system, such as giving
// back unused memory.
bool egb_is_frozen_(void);

// Begins and ends the freeze.
void egb_freeze_(bool is_on);

// True once after a request was refused because of the freeze.
bool egb_freeze_take_refusal_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_OBTAIN_H

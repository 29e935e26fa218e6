// SPDX-License-Identifier: MIT
// Room region: requests to the system for memory, and the freeze (egb_seal()) that ends them. Two
// more are elsewhere: a large block grows in place by egb_os_resize_() (large_resize.c) if
// egb_may_obtain_() allows it; room stacks, below this room, reserves its memory itself, and no
// caller makes it begin during a freeze.
#ifndef EGGBOX_SRC_HOSTED_REGION_OBTAIN_H
#define EGGBOX_SRC_HOSTED_REGION_OBTAIN_H

#include "../../os/os.h"
#include "eggbox/base.h"

// As egb_os_reserve_(); if the system refuses, once more after the region cache of chunks gave
// something back. NULL during the freeze, too; that is remembered for the report.
void* egb_obtain_region_(size_t bytes, size_t align);

// Gives addresses back that no region has come to yet. Returns their bytes.
size_t egb_obtain_trim_(void);

// The same for a table of the library itself, most of whose pages nobody touches: it tells nothing
// of the memory that the program needs.
void* egb_obtain_table_(size_t bytes, size_t align);

// What is left of a range of which pieces are handed out from its start: one atomic word, so that
// no lock is needed. Nobody has touched its pages. 0: there is none. All is a multiple of
// `granule`, a power of two; it has less than `granule` of them.
//
// Takes a piece; NULL: the rest is too short. And sets a new rest, or none: the one before goes
// back to the system, and its bytes are returned.
void*  egb_rest_take_(uintptr_t* rest, size_t granule, size_t bytes);
size_t egb_rest_replace_(uintptr_t* rest, size_t granule, void* start, size_t bytes);

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

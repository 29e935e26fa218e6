// SPDX-License-Identifier: MIT
// Room region: every request to the system for memory, and the freeze (egb_seal()) that ends them.
#ifndef EGGBOX_SRC_HOSTED_REGION_OBTAIN_H
#define EGGBOX_SRC_HOSTED_REGION_OBTAIN_H

#include "../../os/os.h"
#include "eggbox/base.h"

// Every request to the system for memory: as egb_os_reserve_(), but NULL during the freeze. A
// refusal by the freeze is remembered for the report.
void* egb_obtain_region_(size_t bytes, size_t align);

// The same for a table of the library itself, most of whose pages nobody touches: it tells nothing
// of the memory that the program needs.
void* egb_obtain_table_(size_t bytes, size_t align);

// As egb_os_commit_(); if refused, once more after the region cache gave something back.
egb_status
egb_obtain_pages_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained);

// Whether another call may ask the system. The second one serves calls that can do without, such as
// giving back unused memory: a refusal is not remembered.
bool egb_may_obtain_(void);
bool egb_is_frozen_(void);

// Begins and ends the freeze.
void egb_freeze_(bool is_on);

// True once after a request was refused because of the freeze.
bool egb_freeze_take_refusal_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_OBTAIN_H

// SPDX-License-Identifier: MIT
// Room region: every request to the system for memory, and the freeze (egb_seal()) that ends them.
#ifndef EGGBOX_SRC_HOSTED_REGION_ASK_H
#define EGGBOX_SRC_HOSTED_REGION_ASK_H

#include "../../os/os.h"
#include "eggbox/base.h"

// Every request for memory of the system's comes by here: as egb_os_reserve_(), and NULL if it is
// sealed, which is remembered for the report.
void* egb_ask_reserve_(size_t bytes, size_t align);

// As egb_os_commit_(), once more where the shelf had something to give back when it was refused.
egb_status
egb_ask_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained);

// The same question of a request that is another call. And of one that is no need, such as giving
// back what is not used: that is not remembered.
bool egb_may_ask_(void);
bool egb_is_frozen_(void);

// Begins and ends the freeze.
void egb_freeze_(bool is_on);

// True once after a request was refused because of the freeze.
bool egb_freeze_take_refusal_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_ASK_H

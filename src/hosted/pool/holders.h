// SPDX-License-Identifier: MIT
// Room pool: live allocations by site (egb_holders_each()), as the
// library prints them by itself. No lock is held.
#ifndef EGGBOX_SRC_HOSTED_POOL_HOLDERS_H
#define EGGBOX_SRC_HOSTED_POOL_HOLDERS_H

#include "eggbox/guard.h"
#include "reach.h"

enum { EGB_HOLDERS_SHOWN = 10 };

// A pool at level "track" has none to give. Not more often than once a second.
void egb_holders_print_exhausted_(egb_pool pool);

// As egb_holders_each() of all pools, but only with blocks that were allocated since the restart:
// the child of a fork need not free the blocks of its parent. A site has a holder for each reach,
// those that are still reachable last.
typedef void (*egb_holder_reach_visit_fn)(const egb_holder* holder, egb_reach reach, void* user);
egb_status egb_holders_each_new_(egb_holder_reach_visit_fn visit, void* user);
void       egb_holders_restart_(void);

// As egb_holders_each() of all pools, but with the blocks that were ever sampled, in use or not: an
// estimate of all allocations. Ages and threads are 0, and no reach is known. `lost`: samples
// that there was no memory to note.
egb_status egb_sampled_each_(egb_holder_reach_visit_fn visit, void* user, uint64_t* lost);

// Whether the blocks that are in use at the end of the process are said on stderr. They are, unless
// a report says it.
void egb_holders_at_exit_(bool are_printed);

#endif  // EGGBOX_SRC_HOSTED_POOL_HOLDERS_H

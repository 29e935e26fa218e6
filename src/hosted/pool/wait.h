// SPDX-License-Identifier: MIT
// Room pool: threads that wait for a block, in a line at its pool. Invariant at each unlock of a
// pool: if a thread waits, no block is in a chunk that it may have. A block that comes is therefore
// the first thread's, and a thread that comes finds none.
//
// A block comes by a free, which has the lock while the pool is tight (cache/tight.h): whoever
// unlocks the pool gives it away first (`egb_depot.serve`). Or the pool gets a chunk: the first of
// the line asks for it, at first and whenever a budget above the pool got bytes back. Nobody tells
// that the system has memory again, or that the freeze is over: the first asks from time to time.
#ifndef EGGBOX_SRC_HOSTED_POOL_WAIT_H
#define EGGBOX_SRC_HOSTED_POOL_WAIT_H

#include "request.h"

// ---- with the pool locked -----------------------------------------------------------------------

// A block for the request, unless others wait in front of it. If none is to be had, a request with
// a wait is in the line afterwards, once; with one it is out. No effect if the wait was answered.
void* egb_line_take_(
    egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request
);

// Ends all waits. Returns how many there were.
size_t egb_line_end_(egb_control* control, egb_status what);

// ---- with other locks ---------------------------------------------------------------------------

// The budget lock is held: the threads that wait for bytes of a budget are to ask again.
void egb_budgets_wake_(void);

// In the child of a fork, which has none of the threads that wait. If the thread that forks waits,
// and the fork is in a handler of a signal, its wait ends there: EGB_CANCELLED.
void egb_lines_reset_(void);

#endif  // EGGBOX_SRC_HOSTED_POOL_WAIT_H

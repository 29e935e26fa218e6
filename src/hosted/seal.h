// SPDX-License-Identifier: MIT
// Layer hosted: what the library may not ask the system for any more.
#ifndef EGGBOX_SRC_HOSTED_SEAL_H
#define EGGBOX_SRC_HOSTED_SEAL_H

#include "../os/os.h"
#include "eggbox/guard.h"

// Every request for memory of the system's comes by here: as egb_os_reserve(), and NULL if it is
// sealed, which is remembered for the report. Takes the ledger's lock if the system refuses.
void* egb_ask_reserve(size_t bytes, size_t align);

// As egb_os_commit(), once more where the shelf had something to give back when it was refused.
egb_status egb_ask_commit(void* region, size_t bytes, unsigned wishes, egb_os_obtained* obtained);

// The same question of a request that is another call. And of one that is no need, such as giving
// back what is not used: that is not remembered.
bool egb_may_ask(void);
bool egb_is_sealed(void);

// The end of it all, with the process: without a report.
void egb_seal_end(void);

// Reports what was refused since the last time, if anything was. No lock is held.
void egb_seal_report(egb_pool pool, const void* site);

#endif  // EGGBOX_SRC_HOSTED_SEAL_H

// SPDX-License-Identifier: MIT
// Room pool: what the misuse handler is told of pools. No lock is held.
#ifndef EGGBOX_SRC_HOSTED_POOL_EVENTS_H
#define EGGBOX_SRC_HOSTED_POOL_EVENTS_H

#include "../report/misuse.h"
#include "control.h"

// The site of a call on the pool: at level "track" its stack. No lock is held.
const void* egb_pool_site_(egb_pool pool, const void* site);

// As egb_pool_unlock_(), and reports what damage was found.
void egb_pool_unlock_and_report_(egb_control* control, egb_pool pool, const void* site);

// Tells the misuse handler. No lock is held.
void egb_pool_report_(
    egb_misuse_kind kind, egb_pool pool, const void* address, size_t index, const void* site
);
void egb_pool_report_handle_(egb_pool pool, const void* block, const void* site);
void egb_pool_report_finding_(egb_pool pool, const egb_finding* finding, const void* site);

// Reports what the freeze (egb_seal()) refused since the last call, if anything was.
void egb_freeze_report_(egb_pool pool, const void* site);

#endif  // EGGBOX_SRC_HOSTED_POOL_EVENTS_H

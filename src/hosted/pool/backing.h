// SPDX-License-Identifier: MIT
// Room pool: chunks from the system, charged to budgets.
#ifndef EGGBOX_SRC_HOSTED_POOL_BACKING_H
#define EGGBOX_SRC_HOSTED_POOL_BACKING_H

#include "control.h"

// ---- backing.c ----------------------------------------------------------------------------------

egb_backing egb_pool_backing_(egb_control* control);

// Gives wholly free chunks of a pool back until it holds no more than `keep_bytes`, to the system
// or to the region cache, and returns how many bytes that were.
size_t egb_pool_give_up_(egb_pool pool, size_t keep_bytes, bool to_cache);

// ---- budget.c -----------------------------------------------------------------------------------

// Charges `bytes` to the pool and its ancestors. Returns NULL; or the lowest pool whose budget is
// too small, and then nothing has changed.
const egb_control* egb_charge_(egb_control* control, size_t bytes);
void               egb_uncharge_(egb_control* control, size_t bytes);

// Takes what the pool holds off its ancestors' accounts, once.
void egb_uncharge_all_(egb_control* control);

#endif  // EGGBOX_SRC_HOSTED_POOL_BACKING_H

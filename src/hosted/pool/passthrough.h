// SPDX-License-Identifier: MIT
// Room pool: pools at level "passthrough". Each of their blocks is one
// of the C library's malloc, so that tools which watch that see it; here is only which pool a block
// is of. A lock keeps the register of blocks: docs/locks.md.
#ifndef EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H
#define EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H

#include "control.h"

// The record of a block in use; `control` is NULL if there is none.
typedef struct egb_passed {
    const void*  block;
    egb_control* control;
    size_t       bytes;  // that were asked for
} egb_passed;

egb_passed egb_pass_find_(const void* block);

// The lock of the register. And in the child of a fork.
void egb_pass_lock_(void);
void egb_pass_unlock_(void);
void egb_pass_reset_(void);

#endif  // EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H

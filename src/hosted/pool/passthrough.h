// SPDX-License-Identifier: MIT
// Room pool: pools at level "passthrough". Each of their blocks is one
// of the C library's malloc, so that tools which watch that see it; here is only which pool a block
// is of. A lock keeps the register of blocks: docs/locks.md.
#ifndef EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H
#define EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H

#include "request.h"

static inline bool egb_is_passthrough_(const egb_control* control)
{
    return control->level == EGB_LEVEL_PASSTHROUGH;
}

// What is known of a block that is in use; `control` is NULL if there is none.
typedef struct egb_passed {
    const void*  block;
    egb_control* control;
    size_t       bytes;  // that were asked for
} egb_passed;

egb_passed egb_pass_find_(const void* block);

// With the pool locked. A block; NULL: refused. And back: false if it is no block of the pool.
void* egb_pass_take_(egb_control* control, const egb_request* request);
bool  egb_pass_give_(egb_control* control, void* block);

// Frees what is left, and calls `visit` with each block.
void egb_pass_drop_all_(egb_control* control);
void egb_pass_each_(const egb_control* control, egb_block_visit_fn visit, void* user);

// The lock of the register. And in the child of a fork.
void egb_pass_lock_(void);
void egb_pass_unlock_(void);
void egb_pass_reset_(void);

#endif  // EGGBOX_SRC_HOSTED_POOL_PASSTHROUGH_H

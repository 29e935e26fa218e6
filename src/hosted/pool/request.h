// SPDX-License-Identifier: MIT
// Room pool: a request for a block, on its way behind the magazines.
#ifndef EGGBOX_SRC_HOSTED_POOL_REQUEST_H
#define EGGBOX_SRC_HOSTED_POOL_REQUEST_H

#include "control.h"

// The caller of a request, and the bytes asked for.
typedef struct egb_request {
    size_t      bytes;  // 0: all of the block
    const void* site;
    const char* file;  // NULL: not known
    unsigned    line;
    double      scale;  // out: how many blocks the block stands for, a sample; 0: it is none
} egb_request;

// As egb_pool_alloc(), without a look at the magazine first. No lock is held. At level "track" the
// request's site becomes its stack.
void* egb_pool_alloc_for_(egb_pool pool, egb_request* request);

// Whether some allocations of the pool fail on purpose.
bool egb_pool_has_faults_(egb_pool pool);

#endif  // EGGBOX_SRC_HOSTED_POOL_REQUEST_H

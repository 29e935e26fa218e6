// SPDX-License-Identifier: MIT
// Layer hosted: allocations that fail on purpose.
#ifndef EGGBOX_SRC_HOSTED_FAIL_H
#define EGGBOX_SRC_HOSTED_FAIL_H

#include "eggbox/base.h"

// When an allocation of a pool is to fail; all zero: never. Atomic.
typedef struct egb_fail {
    uint64_t every;    // one in so many
    bool     is_once;  // the first of each place
    uint64_t count;    // of allocations, atomic
} egb_fail;

// What EGGBOX_FAIL says of a pool's name.
egb_fail egb_fail_of(const char* name);

static inline bool egb_fail_is_set(const egb_fail* fail)
{
    return __atomic_load_n(&fail->every, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&fail->is_once, __ATOMIC_RELAXED);
}

// Whether this allocation is to fail, which is counted.
bool egb_fail_now(egb_fail* fail, const void* site);

#endif  // EGGBOX_SRC_HOSTED_FAIL_H

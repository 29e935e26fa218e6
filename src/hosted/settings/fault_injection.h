// SPDX-License-Identifier: MIT
// Room settings: allocations that fail on purpose (EGGBOX_FAIL).
#ifndef EGGBOX_SRC_HOSTED_SETTINGS_FAULT_INJECTION_H
#define EGGBOX_SRC_HOSTED_SETTINGS_FAULT_INJECTION_H

#include "eggbox/base.h"

// When allocations of a pool fail; all zero: never. Atomic.
typedef struct egb_fault_plan {
    uint64_t every;    // one failure in so many
    bool     is_once;  // the first at each site
    uint64_t count;    // allocations, atomic
} egb_fault_plan;

// The plan of EGGBOX_FAIL for a pool's name.
egb_fault_plan egb_fault_plan_of_(const char* name);

static inline bool egb_fault_is_planned_(const egb_fault_plan* fail)
{
    return __atomic_load_n(&fail->every, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&fail->is_once, __ATOMIC_RELAXED);
}

// Counts an allocation, and tells whether it is to fail.
bool egb_fault_is_due_(egb_fault_plan* fail, const void* site);

#endif  // EGGBOX_SRC_HOSTED_SETTINGS_FAULT_INJECTION_H

// SPDX-License-Identifier: MIT
// Room settings: a set of numbers, to which threads add without a lock. The number 0 is in no set.
#ifndef EGGBOX_SRC_HOSTED_SETTINGS_NUMBER_SET_H
#define EGGBOX_SRC_HOSTED_SETTINGS_NUMBER_SET_H

#include "../../core/util.h"

typedef enum egb_seen { EGB_SEEN_NEVER, EGB_SEEN_BEFORE, EGB_SEEN_SET_FULL } egb_seen;

// Adds a number to the set of `count` places, which are all zero at first. EGB_SEEN_NEVER: it was
// not in the set; EGB_SEEN_SET_FULL: it is not in the set, and has no place there. Lock-free,
// O(count).
static inline egb_seen egb_number_set_add_(uint64_t* places, size_t count, uint64_t number)
{
    const size_t start = (size_t)(egb_mix_(number) >> 32);
    for (size_t i = 0; i < count; i++) {
        uint64_t* const place = &places[(start + i) % count];
        uint64_t        seen  = 0;
        if (__atomic_compare_exchange_n(
                place, &seen, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
            )) {
            return EGB_SEEN_NEVER;
        }
        if (seen == number) {
            return EGB_SEEN_BEFORE;
        }
    }
    return EGB_SEEN_SET_FULL;
}

#endif  // EGGBOX_SRC_HOSTED_SETTINGS_NUMBER_SET_H

// SPDX-License-Identifier: MIT
// Layer core: small arithmetic, for core and for the layers above it.
#ifndef EGGBOX_SRC_CORE_UTIL_H
#define EGGBOX_SRC_CORE_UTIL_H

#include "eggbox/base.h"

static inline size_t egb_smaller_(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t egb_larger_(size_t a, size_t b)
{
    return a > b ? a : b;
}

// The growth of a count. A count that others change may seem to shrink.
static inline uint64_t egb_since_(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

// 0 is no power of two.
static inline bool egb_is_power_of_two_(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

// To a multiple of `step`, a power of two. Rounding up, `bytes` are at most SIZE_MAX - (step - 1).
static inline size_t egb_round_down_(size_t bytes, size_t step)
{
    return bytes & ~(step - 1);
}

static inline size_t egb_round_up_(size_t bytes, size_t step)
{
    return egb_round_down_(bytes + (step - 1), step);
}

// Multiplicative hashing, with 2^64 divided by the golden ratio: D. Knuth, "The Art of Computer
// Programming", volume 3, 6.4. The upper bits of the product are the mixed ones.
static inline uint64_t egb_mix_(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15u;
}

// A doubly linked list from `head`, through the members `next` and `previous` of its elements; both
// may be in a part of the element: `path` is then the name of the part and a point, else nothing.
#define EGB_LIST_ADD_(head, one, path)     \
    do {                                   \
        (one)->path previous = NULL;       \
        (one)->path next     = (head);     \
        if ((head) != NULL) {              \
            (head)->path previous = (one); \
        }                                  \
        (head) = (one);                    \
    } while (0)

#define EGB_LIST_REMOVE_(head, one, path)                           \
    do {                                                            \
        if ((one)->path previous != NULL) {                         \
            (one)->path previous->path next = (one)->path next;     \
        } else {                                                    \
            (head) = (one)->path next;                              \
        }                                                           \
        if ((one)->path next != NULL) {                             \
            (one)->path next->path previous = (one)->path previous; \
        }                                                           \
    } while (0)

#endif  // EGGBOX_SRC_CORE_UTIL_H

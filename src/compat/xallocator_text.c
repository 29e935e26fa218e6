// SPDX-License-Identifier: MIT
// The lines of xalloc_stats().
#include "eggbox/compat/xallocator.h"

#include "xallocator_private.h"

#include "eggbox/atomic_hot.h"

#include <stdio.h>

static egb_xwrite_fn_ stats_to;  // NULL: stdout. Atomic

void egb_xstats_to_(egb_xwrite_fn_ from, egb_xwrite_fn_ to)
{
    (void
    )__atomic_compare_exchange_n(&stats_to, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void egb_xwrite_line_(size_t block_bytes, size_t count, size_t in_use)
{
    const egb_xwrite_fn_ write = EGB_LOAD_(stats_to);
    char                 text[128];
    const int            bytes = snprintf(
        text,
        sizeof text,
        "xallocator Block Size: %zu Block Count: %zu Blocks In Use: %zu\n",
        block_bytes,
        count,
        in_use
    );
    if (write != NULL && bytes > 0) {
        write(text, (size_t)bytes);
    } else {
        (void)fputs(text, stdout);
        (void)fflush(stdout);
    }
}

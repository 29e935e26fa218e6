// SPDX-License-Identifier: MIT
// Layer hosted: what pools count. All of it in every build; nothing here costs more than one
// addition for each free.
#ifndef EGGBOX_STATS_H
#define EGGBOX_STATS_H

#include "base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// The numbers of a pool, or the sums of a subtree. Exact, but for `peak`, whenever no other thread
/// is inside a call on the pool; else what others take and give back in the meantime may be in one
/// number and not yet in another, so that `allocations`, which is `frees` and `in_use`, may be less
/// than in the answer before. No counter wraps: 64 bits last for centuries.
typedef struct egb_stats {
    char     name[48];          // as given to create, cut to 47 bytes; of a subtree: its root's
    size_t   pools;             // 1, or how many the subtree has
    size_t   block_bytes;       // as given to create; of a subtree: its root's
    size_t   stride_bytes;      // from one block to the next
    size_t   max_blocks;        // limit given to create; 0: none. Of a subtree: its root's
    size_t   budget_bytes;      // as given to create; 0: none. Of a subtree: its root's
    size_t   capacity;          // blocks of all chunks
    size_t   in_use;            // blocks in the hands of callers
    size_t   cached;            // free blocks in magazines, depot included
    size_t   peak;              // most blocks in use at one time: see below
    uint64_t allocations;       // blocks handed out, ever
    uint64_t frees;             // blocks taken back, ever
    uint64_t failures;          // allocations that got NULL
    size_t   chunks;            // regions held
    size_t   bytes_held;        // of these regions, with the pool's own data in them
    size_t   bytes_prefaulted;  // of these, in memory before they were used: what EGB_PREFAULT got
    size_t   bytes_huge;        // of these, in large pages: what EGB_HUGE_PAGES got
} egb_stats;

// `peak` is never less than the most blocks that were in use at one time. It may be more, by the
// free blocks that were in magazines then: per thread that used the pool, and per egb_cache, at
// most EGB_MAGAZINE_BLOCKS_MAX, and at most EGB_MAGAZINE_BYTES_MAX bytes of them, three times. It
// is exact for blocks too large for magazines. That of a subtree is the sum of its pools' peaks,
// which need not have been at the same time.

/// The most blocks, and the most bytes of blocks, in one of a magazine's three batches.
#define EGB_MAGAZINE_BLOCKS_MAX 128u
#define EGB_MAGAZINE_BYTES_MAX  262144u

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_STATS_H

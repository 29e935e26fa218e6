// SPDX-License-Identifier: MIT
// Layer hosted: the numbers that pools count. Every build has all of them; none costs more than one
// addition for each free.
#ifndef EGGBOX_STATS_H
#define EGGBOX_STATS_H

#include "base.h"

EGB_C_BEGIN_

/// The numbers of a pool, or the sums over a subtree. All but `peak` are exact if no other thread
/// is inside a call on the pool. Otherwise a block that another thread takes or gives back in the
/// meantime may be in one number and not yet in another: then `allocations`, which is the sum of
/// `frees` and `in_use`, may be less than in an earlier answer. No counter wraps: 64 bits last for
/// centuries.
typedef struct egb_pool_stats {
    char     name[48];          // as given to create, cut to 47 bytes; for a subtree: its root's
    size_t   pools;             // 1, or the number of pools in the subtree
    size_t   block_bytes;       // as given to create; for a subtree: its root's
    size_t   stride_bytes;      // from one block to the next
    size_t   max_blocks;        // limit given to create; 0: none. For a subtree: its root's
    size_t   budget_bytes;      // as given to create; 0: none. For a subtree: its root's
    size_t   capacity;          // blocks in all chunks
    size_t   in_use;            // blocks in the hands of callers
    size_t   in_magazines;      // free blocks in magazines, depot included
    size_t   peak;              // most blocks in use at one time: see below
    uint64_t allocations;       // blocks handed out, ever
    uint64_t frees;             // blocks taken back, ever
    uint64_t failures;          // allocations that got NULL
    size_t   chunks;            // regions held
    size_t   bytes_held;        // size of these regions, with the pool's own data in them
    size_t   bytes_prefaulted;  // part of bytes_held that EGB_PREFAULT put in memory before use
    size_t   bytes_huge;        // part of bytes_held that EGB_HUGE_PAGES put in large pages
} egb_pool_stats;

// `peak` is never less than the most blocks that were in use at one time. It is exact if one thread
// at a time has a magazine of the pool and frees no block that an earlier thread took, and the
// level is not "off"; and for blocks too large for magazines. Else it may be more, by the free
// blocks that magazines held then, and for a thread alone at "off" by one batch. A magazine, of
// each thread that used the pool and of each egb_magazine, holds up to three batches, each of at
// most EGB_MAGAZINE_BLOCKS_MAX blocks and at most EGB_MAGAZINE_BYTES_MAX bytes. The peak of a
// subtree is the sum of its pools' peaks, which need not have been at the same time.

/// The most blocks, and the most bytes of blocks, in one of a magazine's three batches.
#define EGB_MAGAZINE_BLOCKS_MAX 128u
#define EGB_MAGAZINE_BYTES_MAX  262144u

EGB_C_END_

#endif  // EGGBOX_STATS_H

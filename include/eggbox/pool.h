// SPDX-License-Identifier: MIT
// Layer hosted: the pool. A growing pool that any thread may use, with a name, a parent, a budget
// and a handle that cannot dangle.
//
//     thread:   magazine | magazine | ...        free blocks of a pool at hand, no lock
//                   |
//     pool:       depot                          batches of blocks, one lock for up to 128
//                   |
//     chunks:   fixed pool | fixed pool | ...    one lock, and the system's memory
//
// A thread takes blocks from and gives them to its own magazine: an array of addresses, so that
// nothing of ours is read or written in a free block there. Only when it is empty or full does the
// call go further. Which blocks are in use is known from a byte per block outside the blocks.
//
// Magazines and depot: J. Bonwick and J. Adams, "Magazines and Vmem", 2001. How another thread
// takes blocks out of a magazine without a fence in its owner's way: the THE protocol of M. Frigo,
// C. Leiserson and K. Randall, "The Implementation of the Cilk-5 Multithreaded Language", 1998,
// with the fence on one side only (docs/decisions/0008-magazines.md).
//
// Threads  Any thread, any call, at any time, unless a function says otherwise. A block may be
//          freed by another thread than the one that allocated it.
// Progress alloc and free take no lock while the thread's magazine serves them. Else they take the
//          pool's lock, for as many steps as a batch has blocks at most. Where nearly all blocks of
//          a chunk are in use, each block of a batch takes as long as it takes to look through 8 of
//          the chunk's states or, if that is more, a 64th of them, 8 at a time (on machines of 32
//          bits a 32nd, 4 at a time); where those are more than 1,024, which only static memory
//          has, all together do. They take one lock of the process when the pool is used up, and
//          for a thread's first magazine and its table's growth.
// Signals  No call is safe in a signal handler that may interrupt another call of this header. A
//          handler that needs blocks may have a fixed pool of its own, wherever it interrupts.
// Fork     Both sides may go on with every call. In the child the blocks that other threads had in
//          their magazines are free again; one that another thread was just taking, or giving back,
//          may count as in use. Not from a signal handler that interrupts a call of this header.
#ifndef EGGBOX_POOL_H
#define EGGBOX_POOL_H

#include "fixed.h"
#include "stats.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// A pool, as a value: copy it, keep it, compare it. {0, 0} is the null pool: the root of the tree,
/// which has no blocks. A handle of a destroyed pool is stale: every call notices, for ever, and
/// without reading memory that was given back.
typedef struct egb_pool {
    uint32_t slot;
    uint32_t generation;
} egb_pool;

/// What a pool does for its pages and blocks, each independent of the others. egb_pool_stats() says
/// what was obtained of the first two. They do nothing about static memory, and the second nothing
/// about chunks under 2 MiB. Of the last, static memory has to be zero already.
#define EGB_PREFAULT   1u  // a chunk's pages are in memory before its first block is handed out
#define EGB_HUGE_PAGES 2u  // chunks are in large pages, if the system has some
#define EGB_CACHE_LINE 4u  // no two blocks share a cache line: the stride is a multiple of 64 bytes
#define EGB_FRESH_ZERO 8u  // a block that is handed out for the first time is all zero
// (Not at level "off" once the pool was trimmed, or had none left: what magazines gave back then
// has a link in it, and nothing says that nobody had it.)

/// What to do about a pool that cannot give a block.
typedef enum egb_exhausted {
    EGB_EXHAUSTED_FAIL  = 0,  // alloc returns NULL
    EGB_EXHAUSTED_RETRY = 1   // something was freed or waited for: try again
} egb_exhausted;

/// Called when `pool` has no block to give, with no lock held: it may free blocks, trim, create and
/// destroy pools, or wait. It must not return RETRY for ever.
typedef egb_exhausted (*egb_exhausted_fn)(egb_pool pool, void* user);

/// How to make a pool. All zero but `block_bytes` is fine.
typedef struct egb_pool_options {
    const char* name;         // shown in every report; copied, cut to 47 bytes; NULL: "pool"
    size_t      block_bytes;  // required: 1 or more
    size_t      block_align;  // 0: 16, or the largest power of two that divides block_bytes if
                              // that is smaller, but at least 4; else a power of two up to a page
    size_t   max_blocks;      // most blocks in use at one time; 0: no limit
    size_t   reserve_blocks;  // so many can be allocated without asking the system
    egb_pool parent;          // destroyed with it; {0, 0}: the root
    size_t   budget_bytes;    // most bytes this pool AND its descendants may hold; 0: no limit.
                              //   `memory` does not count
    void*  memory;            // static storage: the pool never grows, never asks the system.
    size_t memory_bytes;      //   It is the pool's until the pool is destroyed. Some 200 bytes, and
                              //   one for each block but at "off", have no room for blocks; if
                              //   it is not aligned as they are, neither do those in front
    unsigned    flags;        // EGB_PREFAULT | EGB_HUGE_PAGES | EGB_CACHE_LINE | EGB_FRESH_ZERO
    const char* check;        // the level; NULL: "check", where AddressSanitizer or Valgrind
                              //   watches "guard". All are in eggbox/check.h;
                              //   EGGBOX_CHECK counts more: eggbox/guard.h
    egb_exhausted_fn on_exhausted;  // NULL: exhaustion is NULL at once
    void*            user;          // passed on to on_exhausted
} egb_pool_options;

/// Makes a pool. Touches no page that blocks will be in, unless `reserve_blocks` are asked for with
/// EGB_PREFAULT.
///
/// Returns  EGB_OK, and the handle in `*out`;
///          EGB_INVALID if `out` or `options` is NULL; `block_bytes` is 0; `block_align` is neither
///          0 nor a power of two from 1 byte to a page; `flags` has unknown bits; `check` is no
///          level; `memory` holds not even one block, or only one of `memory` and `memory_bytes`
///          is given; `budget_bytes` is smaller than what the reserved blocks need;
///          EGB_STALE if `parent` is;
///          EGB_LIMIT if `block_bytes` is too large for any pool (16 GiB, or half of what a size_t
///          can say), `reserve_blocks` is over `max_blocks`, or they do not fit in `memory` or in
///          an ancestor's budget, or there are EGB_POOLS_MAX pools;
///          EGB_NO_MEMORY if the system refused;
///          EGB_UNSUPPORTED for the level "passthrough" on static memory and where this library is
///          the C library's malloc, and on systems without pages.
///          On anything but EGB_OK `*out` is unchanged and nothing is left behind.
EGB_NODISCARD egb_status egb_pool_create(egb_pool* out, const egb_pool_options* options);

/// The most pools at one time. Fewer where the system refuses the address space for so many.
#define EGB_POOLS_MAX 65535u

/// The most memory that the library keeps of pools that were destroyed, and of the heap's while it
/// goes from one size class to another: 8 MiB, of pages that were ever touched; and the most
/// addresses that belong to it, 64 MiB. They count for no budget. If the system refuses memory they
/// go back, and it is asked again; and by halves, a few times a second, while the heap is in use.
#define EGB_REGION_CACHE_BYTES_MAX     ((size_t)8 << 20)
#define EGB_REGION_CACHE_ADDRESSES_MAX ((size_t)64 << 20)

/// What destroy does about blocks that are in use.
typedef enum egb_destroy {
    EGB_DESTROY_REFUSE = 0,  // nothing, if any pool of the subtree has one
    EGB_DESTROY_FORCE  = 1   // their memory goes with the pool
} egb_destroy;

/// Destroys a pool and all its descendants. Every handle of them is stale from now on.
///
/// Returns  EGB_OK; EGB_BUSY if `how` is REFUSE and a block of the subtree is in use: nothing has
///          changed, but that free blocks are no longer in magazines; EGB_STALE; EGB_INVALID for
///          the null pool or an unknown `how`.
/// Threads  Others may be inside alloc and free of the pool: they get what they came for, or a
///          stale handle. The memory of a static pool is the caller's again when no other thread is
///          inside such a call any more. Where another thread has a magazine of the pool, or an
///          egb_cache of it is open, pages go back to the system at once, and addresses later: when
///          each of those threads has made an alloc or free that took a lock, or has ended, and
///          every cache is closed. Then, else at once, chunks stay with the library for pools to
///          come, up to EGB_REGION_CACHE_BYTES_MAX of a pool. For them up to 32 of the oldest ones
///          each go back to the system, or they themselves if those are not enough; egb_pool_trim()
///          of the null pool gives all of them back. Not those of pools with
///          EGB_PREFAULT or EGB_HUGE_PAGES.
/// Cost     O(pools of the subtree, their chunks, and threads); with EGB_FRESH_ZERO, of blocks that
///          were handed out up to EGB_REGION_CACHE_BYTES_MAX are cleared, too. (Where such a pool
///          gets a chunk that was kept of another one, its blocks are cleared then.)
egb_status egb_pool_destroy(egb_pool pool, egb_destroy how);

/// Says whether `pool` is there: neither stale nor null. Takes no lock.
bool egb_pool_alive(egb_pool pool);

/// Takes a block.
///
/// Returns  a block with unspecified contents; NULL if there is none: `max_blocks` are in use, a
///          budget is used up, or the system refused. Before that all free blocks in magazines of
///          other threads have been tried, and `on_exhausted`.
/// Misuse   EGB_EVENT_NO_POOL, EGB_EVENT_STALE: returns NULL. EGB_EVENT_OVERWRITTEN: a free block
///          was written to, and as far as it is known that has no other effect. At "check" it is
///          not noticed of blocks that are 1 KiB or more apart: they are not touched while they are
///          free.
/// Cost     O(1) while blocks of the pool are at hand; a system call when they are not.
EGB_NODISCARD EGB_INLINE void* egb_pool_alloc(egb_pool pool);

/// Gives a block back to its pool. NULL: no effect.
///
/// Misuse   refused, and nothing changes. At every level: EGB_EVENT_NO_POOL, EGB_EVENT_STALE. At
///          "check" also EGB_EVENT_FOREIGN, EGB_EVENT_WRONG_POOL, EGB_EVENT_INTERIOR,
///          EGB_EVENT_NEVER_ALLOCATED and EGB_EVENT_DOUBLE_FREE, each for certain, whatever the
///          block holds: but two threads that free the same block at the very same moment, neither
///          before the other, may both succeed; and a double free of a block whose chunk another
///          thread gives back in egb_pool_trim() at that moment may look where no memory is. At
///          "off" such a free may be found later or never. At "guard" and "track" also, and then
///          the block is taken back all the same, EGB_EVENT_OVERRUN and EGB_EVENT_UNDERRUN.
/// Cost     O(1)
EGB_INLINE void egb_pool_free(egb_pool pool, void* block);

/// Takes `count` blocks. Returns how many it got, which are out[0] and up: fewer than `count` only
/// when egb_pool_alloc() would have returned NULL. `out` NULL: 0.
size_t egb_pool_alloc_many(egb_pool pool, void** out, size_t count);

/// Gives `count` blocks back, as egb_pool_free() each. `blocks` NULL: no effect.
void egb_pool_free_many(egb_pool pool, void* const* blocks, size_t count);

/// Gets memory until `blocks` more can be allocated without asking the system. What a thread keeps
/// in its magazine is for that thread alone: where several allocate, reserve as many more as that
/// may be: stats.h says how many.
///
/// Returns  EGB_OK; EGB_STALE; EGB_INVALID for the null pool; EGB_LIMIT if `max_blocks` or a budget
///          does not allow it; EGB_NO_MEMORY. On anything but EGB_OK nothing has changed.
/// Cost     O(chunks made); if chunks and depot have less than `blocks` free, also O(free blocks in
///          magazines and depot, threads). Of the blocks only addresses are reserved, unless with
///          EGB_PREFAULT; but the end of each chunk is written to: about 0.2 % is memory at once.
EGB_NODISCARD egb_status egb_pool_reserve(egb_pool pool, size_t blocks);

/// Gives wholly free chunks back to the system, as long as the pool then still holds at least
/// `keep_bytes`. Empties every thread's magazine of the pool first, and the depot. If it holds more
/// all the same, blocks are gathered in few chunks from then on, for a later call to give the rest.
/// Of the null pool: what the library keeps for pools to come; and, not counted, what is left of
/// that which magazines are made of. Returns the bytes given back; 0 for a stale or static pool.
/// O(chunks, free blocks in magazines and in the depot, and threads).
size_t egb_pool_trim(egb_pool pool, size_t keep_bytes);

/// The numbers of a pool. EGB_STALE; EGB_INVALID if `out` is NULL or the pool is null. O(threads).
egb_status egb_pool_stats(egb_pool pool, egb_stats* out);

/// The sums of a pool and all its descendants; of the null pool: of all pools. EGB_STALE;
/// EGB_INVALID if `out` is NULL; EGB_NO_MEMORY if the library could not begin. O(pools * threads).
egb_status egb_pool_stats_subtree(egb_pool root, egb_stats* out);

/// Blocks handed out at least once, of the chunks that the pool has: as many as a pool without
/// magazines would have had to make. As long as one thread alone uses the pool, and trims nothing,
/// the most that were in use at one time, exactly, where `peak` of the statistics is an estimate.
///
/// Returns  at level "off", where nobody knows, the free blocks in magazines are counted, too; at
///          level "passthrough", and for a stale or null pool, 0.
/// Cost     O(touched blocks), a byte of each
size_t egb_pool_touched(egb_pool pool);

/// The parent. The null pool if that is the root, or `pool` is stale or null.
egb_pool egb_pool_parent(egb_pool pool);

/// Says whether `below` is a descendant of `above`. The null pool is above all others; none is
/// above itself; false if one of them is stale. O(depth).
bool egb_pool_is_ancestor(egb_pool above, egb_pool below);

/// Called with each pool of a subtree, and with each block. Must not call back into any pool.
typedef void (*egb_pool_visit_fn)(egb_pool pool, void* user);
typedef void (*egb_block_visit_fn)(void* block, void* user);

/// Calls `visit` with `root` and every descendant, a parent before its children. The null pool:
/// with all pools, and not with itself.
void egb_pool_each(egb_pool root, egb_pool_visit_fn visit, void* user);

/// Calls `visit` with every block that is in use, chunk by chunk. Empties every thread's magazine
/// of the pool first. A block that another thread allocates or frees meanwhile may be seen or not.
/// O(touched blocks); at level "off" O(touched * free / 2048).
void egb_pool_each_block(egb_pool pool, egb_block_visit_fn visit, void* user);

/// Gives back a block of any pool. NULL: no effect. Misuse as egb_pool_free(); what is in no pool's
/// memory is EGB_EVENT_FOREIGN.
void egb_free(void* block);

/// The pool that an address is in, any part of its blocks; the null pool for other addresses. Never
/// reads through it. Of a pool whose `memory` is in a block of another pool: that other pool; so
/// egb_free() is not for its blocks.
egb_pool egb_pool_of(const void* address);

/// Says whether `block` is a block of `pool` that is in use: with level "check" exactly. With level
/// "off", where nobody knows what is in use, whether it is a block of `pool` at all. `block` may be
/// any address: of no block, inside a block, NULL. False for a stale or null pool. Reports nothing.
///
/// Threads  Takes the pool's lock only for static memory, and for addresses that are in none of the
///          pool's chunks. A block that is not in use must not be asked about while another thread
///          trims or destroys the pool: its chunk may be gone.
/// Cost     O(1); for static memory O(log chunks)
bool egb_pool_is_live(egb_pool pool, const void* block);

/// How many bytes a block has room for, from its pool alone: the `block_bytes` given to create. 0
/// for an address in no pool. Of a block of the heap at level "guard" or "track": what was asked
/// for.
///
/// Threads  Takes the pool's lock for what is not a block in use, for static memory, and at levels
///          "guard", "track" and "passthrough"; for a large block of the heap that of all of them.
///          A block that is not in use must not be asked about while another thread trims or
///          destroys the pool.
/// Cost     O(1); for static memory O(log chunks)
size_t egb_block_bytes(const void* block);

// ---- owned magazines ----------------------------------------------------------------------------

typedef struct egb_cache egb_cache;

/// Opens a magazine that the caller owns, for the shortest way there is: no thread-local variable,
/// no look at the handle. For one thread at a time, which need not be the one that opens it: its
/// blocks are near those of the thread that uses it. It stays where it is until it is closed. On a
/// system without fences for other threads there are no magazines, and each call takes the lock.
///
/// Returns  EGB_OK; EGB_INVALID if `cache` is NULL, the pool is null, or its blocks are too large
///          for magazines (EGB_MAGAZINE_BYTES_MAX); EGB_STALE; EGB_NO_MEMORY.
EGB_NODISCARD egb_status egb_cache_open(egb_cache* cache, egb_pool pool);

/// As egb_pool_alloc() and egb_pool_free() of the cache's pool. When that was destroyed:
/// EGB_EVENT_STALE. On a cache that is not open: EGB_EVENT_NO_POOL.
EGB_NODISCARD EGB_INLINE void* egb_cache_alloc(egb_cache* cache);
EGB_INLINE void                egb_cache_free(egb_cache* cache, void* block);

/// Gives the blocks in it back to the pool. Without effect on a cache that is not open.
void egb_cache_close(egb_cache* cache);

#if defined(__cplusplus)
}
#endif

#include "pool_hot.h"

#endif  // EGGBOX_POOL_H

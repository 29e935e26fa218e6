// SPDX-License-Identifier: MIT
// Layer hosted: the pool. A growing pool that any thread may use, with a name, a parent, a budget
// and a handle that never dangles.
//
//     thread:   magazine | magazine | ...        free blocks of a pool at hand, no lock
//                   |
//     pool:       depot                          batches of blocks, one lock for up to 128
//                   |
//     chunks:   fixed pool | fixed pool | ...    one lock, and the system's memory
//
// A thread takes blocks from its own magazine, and gives them back to it. A magazine is an array of
// addresses: the library reads and writes nothing in a free block there. Only an empty or a full
// magazine sends the call further. One byte per block, outside the block, says whether it is in
// use.
//
// Magazines and depot: J. Bonwick and J. Adams, "Magazines and Vmem", 2001. Another thread takes
// blocks out of a magazine without a fence in its owner's way by the THE protocol of M. Frigo,
// C. Leiserson and K. Randall, "The Implementation of the Cilk-5 Multithreaded Language", 1998,
// with the fence on one side only (docs/decisions/0008-magazines.md).
//
// Threads  Any thread, any call, at any time, unless a function says otherwise. A block may be
//          freed by another thread than the one that allocated it.
// Progress alloc and free take no lock while the thread's magazine serves them. Else they take the
//          pool's lock, for at most as many steps as a batch has blocks. If nearly all blocks of a
//          chunk are in use, each block of a batch takes as long as reading 8 of the chunk's states
//          or, if that is more, a 64th of them, 8 at a time (on 32-bit machines a 32nd, 4 at a
//          time). If a 64th is more than 1,024 states, which only static memory has, all blocks of
//          the batch together take that long. They take one lock of the process when the pool is
//          used up, and for a thread's first magazine and its table's growth.
// Signals  No call is safe in a signal handler that may interrupt another call of this header. A
//          handler that needs blocks may have a fixed pool of its own, wherever it interrupts.
// Fork     Both sides may go on with every call. In the child the blocks that other threads had in
//          their magazines are free again; a block that another thread was just taking, or giving
//          back, may count as in use. Not from a signal handler that interrupts a call of this
//          header.
#ifndef EGGBOX_POOL_H
#define EGGBOX_POOL_H

#include "fixed.h"
#include "port.h"  // EGB_FOREVER
#include "stats.h"

EGB_C_BEGIN_

/// A pool, as a value: copy it, keep it, compare it. {0, 0} is the null pool: the root of the tree,
/// which has no blocks. A handle of a destroyed pool is stale: every call notices, for ever, and
/// without reading memory that was given back.
typedef struct egb_pool {
    uint32_t slot;
    uint32_t generation;
} egb_pool;

/// Options for a pool's pages and blocks, each independent of the others. egb_pool_get_stats()
/// tells how much the first two obtained. They have no effect on static memory, and EGB_HUGE_PAGES
/// has none on chunks under 2 MiB. For EGB_FRESH_ZERO static memory must be zero already.
#define EGB_PREFAULT   1u  // a chunk's pages are in memory before its first block is handed out
#define EGB_HUGE_PAGES 2u  // chunks are in large pages, if the system has some
#define EGB_CACHE_LINE 4u  // no two blocks share a cache line: the stride is a multiple of 64 bytes
#define EGB_FRESH_ZERO 8u  // a block that is handed out for the first time is all zero
// (At level "off" the last does not hold after a trim, or after the pool had no block left: blocks
// that magazines then gave back contain a link word, and nothing says that they are fresh.)

/// The answer of an egb_exhausted_fn.
typedef enum egb_exhausted {
    EGB_EXHAUSTED_FAIL  = 0,  // alloc returns NULL
    EGB_EXHAUSTED_RETRY = 1   // something was freed or waited for: try again
} egb_exhausted;

/// Called when `pool` has no block to give, with no lock held. The function may free blocks, trim,
/// create and destroy pools, or wait. It must not return RETRY for ever.
typedef egb_exhausted (*egb_exhausted_fn)(egb_pool pool, void* user);

/// How to make a pool. All zero but `block_bytes` is fine.
typedef struct egb_pool_options {
    const char* name;         // shown in every report; copied, cut to 47 bytes; NULL: "pool"
    size_t      block_bytes;  // required: 1 or more
    size_t      block_align;  // 0: 16, or the largest power of two that divides block_bytes if
                              // that is smaller, but at least 4; else a power of two up to a page
    size_t   max_blocks;      // most blocks in use at one time; 0: no limit
    size_t   reserve_blocks;  // this many can be allocated without asking the system
    egb_pool parent;          // the pool ends with its parent; {0, 0}: the root
    size_t   budget_bytes;    // most bytes this pool AND its descendants may hold; 0: no limit.
                              //   `memory` does not count
    void*  memory;            // static storage: the pool never grows, never asks the system.
    size_t memory_bytes;      //   The pool's until it is destroyed. EGB_POOL_BYTES() says how many
                              //   bytes so many blocks need: eggbox/pool_bytes.h
    unsigned  flags;          // EGB_PREFAULT | EGB_HUGE_PAGES | EGB_CACHE_LINE | EGB_FRESH_ZERO
    egb_level level;          // EGB_LEVEL_DEFAULT: "check", or "guard" if AddressSanitizer or
                              //   Valgrind watches. All levels: eggbox/misuse.h;
                              //   EGGBOX_CHECK has precedence: eggbox/guard.h
    egb_exhausted_fn on_exhausted;  // NULL: alloc returns NULL at once
    void*            user;          // passed on to on_exhausted
} egb_pool_options;

/// Makes a pool. Touches no page of blocks, unless `reserve_blocks` and EGB_PREFAULT are both
/// given.
///
/// Returns  EGB_OK, and the handle in `*out`;
///          EGB_INVALID if `out` or `options` is NULL; `block_bytes` is 0; `block_align` is neither
///          0 nor a power of two from 1 byte to a page; `flags` has unknown bits; `level` is no
///          level; `memory` holds not even one block, or only one of `memory` and `memory_bytes`
///          is given; `budget_bytes` is too small for the reserved blocks;
///          EGB_STALE if `parent` is;
///          EGB_LIMIT if `block_bytes` is too large for any pool (16 GiB, or half of the largest
///          size_t), `reserve_blocks` is over `max_blocks`, or the reserved blocks do not fit in
///          `memory` or in an ancestor's budget, or there are EGB_POOLS_MAX pools;
///          EGB_NO_MEMORY if the system refused;
///          EGB_UNSUPPORTED for the level "passthrough" on static memory, or if this library
///          replaces the C library's malloc, and on systems without pages.
///          On anything but EGB_OK `*out` is unchanged and nothing is left behind.
EGB_NODISCARD egb_status egb_pool_create(egb_pool* out, const egb_pool_options* options);

/// The most pools at one time. Fewer where the system refuses the address space for so many.
#define EGB_POOLS_MAX 65535u

/// The bounds of the region cache, which keeps chunks of destroyed pools, and chunks that go from
/// one size class of the heap to another: 8 MiB of pages that were ever touched, in 64 MiB of
/// addresses. Cached regions count for no budget. If the system refuses memory they go back, and
/// the library asks again. While the heap is in use, half of them go back a few times a second.
#define EGB_REGION_CACHE_BYTES_MAX     (EGB_CAST_(size_t, 8) << 20)
#define EGB_REGION_CACHE_ADDRESSES_MAX (EGB_CAST_(size_t, 64) << 20)

/// How destroy treats blocks in use.
typedef enum egb_destroy {
    EGB_DESTROY_REFUSE = 0,  // destroys nothing if any pool of the subtree has one
    EGB_DESTROY_FORCE  = 1   // their memory goes with the pool
} egb_destroy;

/// Destroys a pool and all its descendants. Every handle of them is stale from now on.
///
/// Returns  EGB_OK; EGB_BUSY if `how` is REFUSE and a block of the subtree is in use: nothing has
///          changed, except that magazines have no free blocks any more; EGB_STALE; EGB_INVALID
///          for the null pool or an unknown `how`.
/// Threads  Others may be inside alloc and free of the pool: their calls end as usual, or find the
///          handle stale. The memory of a static pool is the caller's again when no other thread is
///          inside such a call any more. If another thread has a magazine of the pool, or an
///          egb_magazine of the pool is open, pages go back to the system at once, and addresses
///          later: when each of those threads has made an alloc or free that took a lock, or has
///          ended, and every cache is closed. At that time, or at once if there are none, chunks go
///          to the region cache for new pools, up to EGB_REGION_CACHE_BYTES_MAX of a pool. To make
///          room for each of them up to 32 of the oldest cached chunks go back to the system; if
///          that is not enough, the chunk itself does. egb_pool_trim() of the null pool gives all
///          of them back. Chunks of pools with EGB_PREFAULT or EGB_HUGE_PAGES are not kept.
/// Cost     O(pools of the subtree, their chunks, and threads). With EGB_FRESH_ZERO blocks that
///          were handed out are cleared, too, up to EGB_REGION_CACHE_BYTES_MAX. (If such a pool
///          gets a cached chunk of another pool, its blocks are cleared then.)
egb_status egb_pool_destroy(egb_pool pool, egb_destroy how);

/// Says whether `pool` exists: neither stale nor null. Takes no lock.
bool egb_pool_alive(egb_pool pool);

/// Takes a block.
///
/// Returns  a block with unspecified contents; NULL if there is none: `max_blocks` are in use, a
///          budget is used up, or the system refused. Before that alloc has tried all free blocks
///          in magazines of other threads, and `on_exhausted`.
/// Misuse   EGB_MISUSE_NO_POOL, EGB_MISUSE_STALE: returns NULL. EGB_MISUSE_OVERWRITTEN: a free
///          block was written to; as far as the library knows, the write has no other effect. At
///          "check" it is not noticed in blocks that are 1 KiB or more apart: they are not touched
///          while they are free.
/// Cost     O(1) while blocks of the pool are at hand; a system call when they are not. The first
///          call that finds no block: O(threads), and a fence in each. Until as many calls have
///          followed as threads use the pool, and a block is free, each call takes the pool's lock.
///          A refusal is then O(1), or O(threads) without a fence if a thread has its last block in
///          use and had more at one time.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_pool_alloc(egb_pool pool);

/// Gives a block back to its pool. NULL: no effect.
///
/// Misuse   refused, and nothing changes. At every level: EGB_MISUSE_NO_POOL, EGB_MISUSE_STALE. At
///          "check" also EGB_MISUSE_FOREIGN, EGB_MISUSE_WRONG_POOL, EGB_MISUSE_INTERIOR,
///          EGB_MISUSE_NEVER_ALLOCATED and EGB_MISUSE_DOUBLE_FREE, each for certain, whatever the
///          block holds. There are two exceptions: two threads that free the same block at the very
///          same moment, neither before the other, may both succeed; and a double free of a block
///          whose chunk another thread gives back in egb_pool_trim() at that moment may read
///          unmapped memory. At "off" such a free may be found later or never. At "guard" and
///          "track" also EGB_MISUSE_OVERRUN and EGB_MISUSE_UNDERRUN: the block is then taken back
///          all the same.
/// Cost     O(1)
EGB_INLINE_PUBLIC void egb_pool_free(egb_pool pool, void* block);

/// Takes a block, and waits for one as long as `timeout_ms` milliseconds; EGB_FOREVER: without an
/// end; 0: not at all. Before the wait the call does all that egb_pool_alloc() does.
///
/// Threads are served in the order in which they begin to wait. As long as one waits, no later
/// caller gets a block before it: egb_pool_alloc() of others returns NULL.
///
/// A block that is freed goes straight to the first thread. A budget that gets bytes back, because
/// a pool below it was destroyed or gave a chunk back in egb_pool_trim(), wakes the first thread of
/// each pool that waits for a budget. A free alone gives no chunk back, and so it helps no other
/// pool.
///
/// The system tells nobody that it has memory again: if it refused, the first thread asks again
/// after 1 ms, then after 2 ms, and so on up to every 128 ms. The threads look as often for a free
/// that was under way when the pool ran out, by a thread that has made no call on the pool since.
///
/// Returns  EGB_OK, and `*out` is the block. On every other answer `*out` is NULL:
///          EGB_EMPTY if there is none, and `timeout_ms` is 0;
///          EGB_TIMED_OUT if none came in time, or the allocation fails on purpose (EGGBOX_FAIL);
///          EGB_CANCELLED if egb_pool_cancel() ended the wait;
///          EGB_STALE if the pool was destroyed during the wait, or with misuse EGB_MISUSE_STALE;
///          EGB_INVALID if `out` is NULL, or with misuse EGB_MISUSE_NO_POOL.
/// Misuse   as egb_pool_alloc(). The handler may be called while the thread waits, and then it must
///          not leave by longjmp() or by an exception.
/// Threads  The thread that frees a block hands it over, with the pool's lock. The lock inherits no
///          priority (docs/decisions/0040-a-pool-lock-inherits-no-priority.md).
/// Fork     The child has none of the threads that wait.
/// Cost     as egb_pool_alloc(), and O(1) to begin to wait. A timeout takes O(threads that wait).
///          As long as threads wait, each alloc and free of the pool takes its lock.
EGB_NODISCARD egb_status egb_pool_alloc_for(egb_pool pool, void** out, uint32_t timeout_ms);

/// Ends the wait of every thread that waits for a block of the pool now: they get EGB_CANCELLED.
///
/// Returns  how many there were; 0 for a stale or null pool.
/// Cost     O(that number), with the pool's lock.
size_t egb_pool_cancel(egb_pool pool);

/// Threads that wait for a block of the pool now; 0 for a stale or null pool. Takes the pool's
/// lock. O(1)
size_t egb_pool_waiting(egb_pool pool);

/// Takes `count` blocks, into out[0] and up. Returns how many it got: fewer than `count` only when
/// egb_pool_alloc() would have returned NULL. `out` NULL: 0.
size_t egb_pool_alloc_many(egb_pool pool, void** out, size_t count);

/// Gives `count` blocks back, as egb_pool_free() each. `blocks` NULL: no effect.
void egb_pool_free_many(egb_pool pool, void* const* blocks, size_t count);

/// Gets memory until `blocks` more can be allocated without asking the system. The blocks in a
/// thread's magazine are for that thread alone: if several threads allocate, reserve as many more
/// as their magazines hold (stats.h says how many).
///
/// Returns  EGB_OK; EGB_STALE; EGB_INVALID for the null pool; EGB_LIMIT if `max_blocks` or a budget
///          does not allow it; EGB_NO_MEMORY. On anything but EGB_OK nothing has changed.
/// Cost     O(chunks made); if chunks and depot have less than `blocks` free, also O(free blocks in
///          magazines and depot, threads). Without EGB_PREFAULT the call reserves only addresses
///          for the blocks; it writes to the end of each chunk, and about 0.2 % is memory at once.
EGB_NODISCARD egb_status egb_pool_reserve(egb_pool pool, size_t blocks);

/// Gives wholly free chunks back to the system, as long as the pool then still holds at least
/// `keep_bytes`. Empties every thread's magazine of the pool first, and the depot. If the pool
/// still holds more, it gathers blocks in few chunks from then on, and a later call can give the
/// rest. For the null pool: gives back the region cache; and, not counted, unused memory of batches
/// and magazines, and addresses that were to become regions. Returns the bytes given back; 0 for a
/// stale or static pool.
/// O(chunks, free blocks in magazines and in the depot, and threads).
size_t egb_pool_trim(egb_pool pool, size_t keep_bytes);

/// The numbers of a pool. EGB_STALE; EGB_INVALID if `out` is NULL or the pool is null. O(threads).
egb_status egb_pool_get_stats(egb_pool pool, egb_pool_stats* out);

/// The sums over a pool and all its descendants; for the null pool: over all pools. EGB_STALE;
/// EGB_INVALID if `out` is NULL; EGB_NO_MEMORY if the library could not begin. O(pools * threads).
egb_status egb_pool_get_subtree_stats(egb_pool root, egb_pool_stats* out);

/// Blocks of the pool's chunks that were handed out at least once: as many as a pool without
/// magazines would have had to make. As long as one thread alone uses the pool, and trims nothing,
/// this is as a rule the most blocks in use at one time, which `peak` of the statistics is exactly.
///
/// Returns  the blocks. At level "off" they include free blocks in magazines, because that level
///          cannot tell; 0 at level "passthrough", and for a stale or null pool.
/// Cost     O(touched blocks), a byte of each
size_t egb_pool_touched(egb_pool pool);

/// The parent. The null pool if that is the root, or `pool` is stale or null.
egb_pool egb_pool_parent(egb_pool pool);

/// Says whether `below` is a descendant of `above`. The null pool is above all others; no pool is
/// above itself; false if one of them is stale. O(depth).
bool egb_pool_is_ancestor(egb_pool above, egb_pool below);

/// Called with each pool of a subtree; with that and its numbers; and with each block. No lock is
/// held: the function may make every call, with any pool, and may fork.
typedef void (*egb_pool_visit_fn)(egb_pool pool, void* user);
typedef void (*egb_stats_visit_fn)(egb_pool pool, const egb_pool_stats* stats, void* user);
typedef void (*egb_block_visit_fn)(void* block, void* user);

/// Calls `visit` with `root` and every descendant that exists when the call begins and when its
/// turn comes, in the order of their making: a parent before its children. The null pool: with all
/// pools, and not with itself. `visit` may destroy any pool. It does not see those that are made
/// meanwhile. No effect if `visit` is NULL or `root` is stale.
///
/// Cost     O(pools of the subtree), and once more for each 128 of them; 2 KiB of stack, no other
///          memory.
void egb_pool_each(egb_pool root, egb_pool_visit_fn visit, void* user);

/// The same, with the numbers of each pool, as egb_pool_get_stats() tells them when its turn comes.
/// `stats` is for the time of the call of `visit`. Each pool takes O(threads) more.
void egb_pool_each_stats(egb_pool root, egb_stats_visit_fn visit, void* user);

/// Calls `visit` with every block that is in use when the call begins and when its turn comes,
/// chunk by chunk. (At level "passthrough" there are no chunks, and no order.) Empties every
/// thread's magazine of the pool first, and once more for each 2,048 blocks. A block that is
/// allocated or freed meanwhile by another thread may be seen or not.
///
/// `visit` may free blocks, and trim or destroy the pool, which ends the walk. Blocks that it frees
/// before their turn are not seen; level "off" cannot tell, and shows those of the same 2,048.
/// Blocks that it allocates may be seen. It is called at most as often as the pool had blocks, free
/// ones included, when the call began: if it makes the pool grow, it may not see each old block.
///
/// No effect if `visit` is NULL or `pool` is stale or null.
///
/// Cost     O(touched blocks); at level "off" O(touched * free / 2048). No memory.
void egb_pool_each_block(egb_pool pool, egb_block_visit_fn visit, void* user);

/// Gives back a block of any pool. NULL: no effect. Misuse as egb_pool_free(); an address in no
/// pool's memory is EGB_MISUSE_FOREIGN.
void egb_free(void* block);

/// The pool whose blocks an address is in, at any place inside a block; the null pool for other
/// addresses. Never reads through the address. If the pool's `memory` is in a block of another
/// pool, the answer is that other pool; therefore egb_free() is not for its blocks.
egb_pool egb_pool_of(const void* address);

/// Says whether `block` is a block of `pool` that is in use: with level "check" exactly. Level
/// "off" does not know which blocks are in use, and says whether `block` is a block of `pool` at
/// all. `block` may be any address: in no block, inside a block, NULL. False for a stale or null
/// pool. Reports nothing.
///
/// Threads  Takes the pool's lock only for static memory, and for addresses in none of the pool's
///          chunks. Do not ask about a block that is not in use while another thread trims or
///          destroys the pool: its chunk may be gone.
/// Cost     O(1); for static memory O(log chunks)
bool egb_pool_is_live(egb_pool pool, const void* block);

/// How many bytes a block has room for, from its pool alone: the `block_bytes` given to create. 0
/// for an address in no pool. For a block of the heap at level "guard" or "track": the bytes
/// requested.
///
/// Threads  Takes the pool's lock for an address that is no block in use, for static memory, and at
///          levels "guard", "track" and "passthrough"; takes the lock of all large blocks for a
///          large block of the heap. Do not ask about a block that is not in use while another
///          thread trims or destroys the pool.
/// Cost     O(1); for static memory O(log chunks)
size_t egb_block_bytes(const void* block);

// ---- owned magazines ----------------------------------------------------------------------------

typedef struct egb_magazine egb_magazine;

/// Opens a magazine that the caller owns. It is the shortest way to a block: no thread-local
/// variable, no check of the handle. It is for one thread at a time, not necessarily the thread
/// that opened it: its blocks are near those of the thread that uses it. The object must stay in
/// its place until it is closed. On a system without fences for other threads there are no
/// magazines, and each call takes the lock.
///
/// Returns  EGB_OK; EGB_INVALID if `cache` is NULL, the pool is null, or its blocks are too large
///          for magazines (EGB_MAGAZINE_BYTES_MAX); EGB_STALE; EGB_NO_MEMORY.
EGB_NODISCARD egb_status egb_magazine_open(egb_magazine* cache, egb_pool pool);

/// As egb_pool_alloc() and egb_pool_free() of the cache's pool. If the pool was destroyed:
/// EGB_MISUSE_STALE. On a cache that is not open: EGB_MISUSE_NO_POOL.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_magazine_alloc(egb_magazine* cache);
EGB_INLINE_PUBLIC void                egb_magazine_free(egb_magazine* cache, void* block);

/// Gives the cache's blocks back to the pool. Without effect on a cache that is not open.
void egb_magazine_close(egb_magazine* cache);

EGB_C_END_

#include "pool_bytes.h"
#include "pool_hot.h"

#endif  // EGGBOX_POOL_H

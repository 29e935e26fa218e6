// SPDX-License-Identifier: MIT
// Layer hosted: closer checks of blocks. Pools at level "guard" have red zones around each block,
// bytes that nobody may write to, and fill free blocks; pools at level "track" also know the place
// that allocated each block.
//
// The level of a pool is chosen once, when the pool is made, and choosing costs nothing afterwards.
// The environment is read when the first pool is made:
//
//     EGGBOX_CHECK="frames:track,net*:guard,*:check"   the first entry that fits the pool's name
//     EGGBOX_CHECK=guard                               every pool
//     .level = EGB_LEVEL_GUARD                         if no entry of EGGBOX_CHECK fits the name
//
// The heap is a parent pool "heap" and pools of the names "heap 16", "heap 32", ...; large blocks
// have the level of "heap". They have no red zones: if EGGBOX_CHECK puts "heap" at "guard" or
// "track", they stand between guard pages (egb_heap_guard_pages()); at "track" their leaks are
// known by the name "large". EGGBOX_CHECK does not change
// the layout of static memory: there only `level` itself adds red zones, which take their room from
// that memory.
//
// A pool at level "sample" is one at "check" that knows the calls that led to a sample of its
// blocks: to one in 512 KiB that is allocated, on average. EGGBOX_SAMPLE sets another number of
// bytes, from 1 to 1g, for example 4096, 64k or 4m. The heap samples its large blocks if "heap" is
// at "sample". egb_holders_each() tells estimates of such pools.
//
// A pool at level "passthrough" has no memory of its own: each block comes from the C library's
// malloc, where AddressSanitizer, Valgrind and heap profilers see it. Handles, trees, limits,
// budgets and numbers work as ever; `reserve_blocks` and egb_pool_reserve() do nothing. An address
// that is no block of any pool is passed on to free(), for the tool to report. egb_pool_of() knows
// such blocks by their start alone. Not on static memory, and not in libeggbox-malloc.so.
//
// The library tells AddressSanitizer and Valgrind about every block of every level: they report the
// use of a free block. In free blocks of less than 1 KiB the first 8 bytes stay open below "guard".
// If a tool watches and nothing chooses a level, a pool is therefore at "guard", not at "check".
// There are no magazines then (docs/decisions/0011). ASAN_OPTIONS=allow_user_poisoning=0 ends all
// that.
//
// Fault injection makes allocations fail on purpose, to test the answer of a program: NULL, as if
// the pool were used up and on_exhausted had given up.
//
//     EGGBOX_FAIL="net*:every=100"   each hundredth allocation of pools with such a name
//     EGGBOX_FAIL="*:once"           the first allocation of each place, for up to 1024 places
//
// Large blocks of the heap go by the name "large".
//
// At "guard" and "track" a free block waits in quarantine before it is handed out again, until 256
// blocks or 256 KiB were freed after it; 288 of either wait at most. That much of `reserve_blocks`
// may therefore need the system after all, unless the pool has a limit or the library is frozen:
// then blocks come out of the quarantine.
//
// Threads  Any thread, any call, at any time.
// Cost     At "guard" and "track" each alloc and free takes the pool's lock. Each free writes the
//          whole block, up to 1 MiB of it, and it is read before it is handed out again: O(bytes),
//          a fraction of a millisecond at most. A block takes up to 48 bytes more at "guard", 96 at
//          "track", and with them a multiple of its alignment: 2 KiB, if it has 1 KiB and is
//          aligned to it, as in the heap.
#ifndef EGGBOX_GUARD_H
#define EGGBOX_GUARD_H

#include "misuse.h"
#include "pool.h"

EGB_C_BEGIN_

// ---- integrity checks ---------------------------------------------------------------------------

/// Checks the bytes around a block.
///
/// Returns  EGB_OK: nothing is wrong, or its pool's level is below "guard" and the block does not
///          end at a guard page (heap.h); EGB_CORRUPT: bytes outside of the block were written to;
///          EGB_INVALID: no block in use starts there.
/// Misuse   EGB_MISUSE_OVERRUN, EGB_MISUSE_UNDERRUN: with EGB_CORRUPT.
/// Cost     O(1)
egb_status egb_block_check(const void* block);

/// Checks every block of a pool: the bytes around blocks in use, and the contents of free blocks.
/// Returns how many are damaged; 0 for a stale or null pool, and below level "guard".
///
/// Misuse   the first damage found: EGB_MISUSE_OVERRUN, EGB_MISUSE_UNDERRUN,
/// EGB_MISUSE_OVERWRITTEN.
/// Cost     O(bytes of its blocks that were ever used)
size_t egb_pool_check(egb_pool pool);

/// Checks all pools, one after the other, and, at any level, the heap's blocks that end at a guard
/// page. Returns the sum of the results of egb_pool_check() and the number of damaged blocks at
/// guard pages.
size_t egb_process_check(void);

// As egb_process_check(), at the end of a process, in a signal handler too. Checks nothing if a
// lock does not become free within a moment: the call that has it may have been interrupted, and
// not go on. Nor does it in the child of a vfork.
size_t egb_process_check_at_end_(void);

// Whether it would look at anything.
bool egb_process_is_checked_at_end_(void);

// ---- no more from the system --------------------------------------------------------------------

/// Freezes the library. From now on it asks the system for no memory: pools and heap must do with
/// the memory that they have. It gives none back by itself either, except chunks of destroyed pools
/// that the region cache has no room for (EGB_REGION_CACHE_BYTES_MAX,
/// EGB_REGION_CACHE_ADDRESSES_MAX). A call that needs more memory fails as if the system had
/// refused. Reserve before, and let every thread use every pool once.
///
/// Misuse   EGB_MISUSE_SEALED, for every call that would have had to ask the system; also for a
///          call that then finds another way, such as the pool's lock in place of a magazine for a
///          new thread.
/// Threads  A call that is asking at this moment may go on.
void egb_seal(void);

/// Ends the freeze.
///
/// Misuse   EGB_MISUSE_SEALED, if something was refused that no call has reported.
void egb_unseal(void);

// ---- live allocations by site -------------------------------------------------------------------

/// The live allocations of one pool and one site: blocks in use that were allocated there, by the
/// same calls.
typedef struct egb_holder {
    egb_pool    pool;       // the null pool, with the name "large": large blocks of the heap
    const char* pool_name;  // a copy: it stays right if the pool is destroyed during the call
    const void* site;       // a code address in the function that allocated them, or in its caller
    const char* file;       // its source file, if the caller passed it on; else NULL
    unsigned    line;
    size_t      blocks;
    size_t      bytes;         // as requested
    uint64_t    oldest_ms;     // age of the oldest, in milliseconds
    uint32_t    thread;        // the system's number of the thread that allocated the oldest
    const void* const* stack;  // the calls that led to `site`: misuse.h; NULL: not known
    size_t samples;            // 0: the numbers are exact; else they are scaled from so many blocks
} egb_holder;

/// Called with each holder, which is valid only during the call. No lock is held.
typedef void (*egb_holder_visit_fn)(const egb_holder* holder, void* user);

/// Calls `visit` with the holders of all pools at the levels "track" and "sample" in the subtree of
/// `root` (the null pool: everywhere, large blocks included), most bytes first. If there are more
/// than EGB_HOLDERS_MAX sites, the sites found last are one holder whose site and file are NULL. At
/// "sample" the numbers are estimates: a block of `size` bytes is a sample with the probability
/// 1 - exp(-size / EGGBOX_SAMPLE), and its holder counts the inverse of that many blocks.
///
/// Returns  EGB_OK; EGB_INVALID if `visit` is NULL; EGB_STALE; EGB_NO_MEMORY.
/// Cost     O(touched blocks of these pools at "track", sampled blocks in use at "sample")
egb_status egb_holders_each(egb_pool root, egb_holder_visit_fn visit, void* user);
#define EGB_HOLDERS_MAX 32768u

/// Prints the first `most` holders to stderr, with a line before and one behind. Prints nothing if
/// there are none. Returns how many blocks are in use, in all pools at the levels "track" and
/// "sample" of the subtree.
///
/// The library calls this by itself: when a pool at level "track" is destroyed with
/// EGB_DESTROY_FORCE though blocks are in use; when such a pool has no block to give, once a second
/// at most; and when the process ends, for all blocks that are left.
size_t egb_holders_print(egb_pool root, size_t most);

/// As egb_pool_alloc(); level "track" records the place in the source.
#define EGB_POOL_ALLOC(pool) egb_pool_alloc_at((pool), __FILE__, __LINE__)

/// The same, with a place that the caller passes on. `file` must stay valid.
EGB_NODISCARD EGB_INLINE_PUBLIC void*
egb_pool_alloc_at(egb_pool pool, const char* file, unsigned line);

EGB_INLINE_PUBLIC void* egb_pool_alloc_at(egb_pool pool, const char* file, unsigned line)
{
    void* block;
    return egb_pool_pop_(egb_pool_key_(pool), &block) ? block
                                                      : egb_pool_alloc_cold_at_(pool, file, line);
}

EGB_C_END_

#endif  // EGGBOX_GUARD_H

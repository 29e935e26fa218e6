// SPDX-License-Identifier: MIT
// Layer hosted: a closer look at blocks. Pools at level "guard" have bytes around each block that
// nobody may write to, and fill blocks that are free; pools at level "track" also know where each
// block is from.
//
// Which level a pool has is asked once, when it is made, and costs nothing afterwards. What the
// environment says of it is read when the first pool is made:
//
//     EGGBOX_CHECK="frames:track,net*:guard,*:check"   the first entry that fits the pool's name
//     EGGBOX_CHECK=guard                               every pool
//     .check = "guard"                                 where EGGBOX_CHECK says nothing of the name
//
// The heap is a parent pool "heap" and pools of the names "heap 16", "heap 32", ...; what is too
// large for them has no level, but may have a guard page: egb_heap_guard_pages(). Static memory is
// not stretched by EGGBOX_CHECK: there only `check` itself asks for guards, which take their room
// from it.
//
// A pool at level "passthrough" has no memory of its own: each block is one of the C library's
// malloc, so that AddressSanitizer, Valgrind and heap profilers see it. Handles, trees, limits,
// budgets and numbers are as ever; `reserve_blocks` and egb_pool_reserve() do nothing. What is no
// block of any pool is passed on to free(), for the tool to say so. egb_pool_of() knows such blocks
// by their start alone. Not on static memory, and not in libeggbox-malloc.so.
//
// AddressSanitizer and Valgrind are told of every block of every level: they report a use of one
// that is free. Of free blocks of less than 1 KiB below "guard" the first 8 bytes stay open; so
// where a tool watches a pool of which nobody says otherwise is at "guard", not at "check". There
// are no magazines then (docs/decisions/0011). ASAN_OPTIONS=allow_user_poisoning=0 ends all that.
//
// And allocations fail on purpose, so that a program's answer can be tested: NULL, as if the pool
// were used up and on_exhausted had given up.
//
//     EGGBOX_FAIL="net*:every=100"   each hundredth of pools of such a name
//     EGGBOX_FAIL="*:once"           the first of each place that allocates, of up to 1024
//
// Large blocks of the heap go by the name "large".
//
// At "guard" and "track" a free block waits in quarantine before it is handed out again, up to 256
// blocks or 256 KiB. So that much of `reserve_blocks` may need the system after all, unless the
// pool has a limit or the library is sealed: then the quarantine serves.
//
// Threads  Any thread, any call, at any time.
// Cost     At "guard" and "track" each alloc and free takes the pool's lock, and writes all of a
//          block up to 4 KiB at free. A block takes up to 48 bytes more at "guard", 96 at "track",
//          and more where its alignment asks for it.
#ifndef EGGBOX_GUARD_H
#define EGGBOX_GUARD_H

#include "check.h"
#include "pool.h"

#if defined(__cplusplus)
extern "C" {
#endif

// ---- is it as it should be ----------------------------------------------------------------------

/// Looks at what is around a block.
///
/// Returns  EGB_OK: nothing is wrong, or its pool's level is below "guard" and it does not end at a
///          guard page (heap.h); EGB_CORRUPT: bytes outside of it were written to; EGB_INVALID: no
///          block that is in use starts there.
/// Misuse   EGB_EVENT_OVERRUN, EGB_EVENT_UNDERRUN: with EGB_CORRUPT.
/// Cost     O(1)
egb_status egb_block_check(const void* block);

/// Looks at every block of a pool: around those in use, and into those that are free. Returns how
/// many are not as they should be; 0 for a stale or null pool, and below level "guard".
///
/// Misuse   the first one found: EGB_EVENT_OVERRUN, EGB_EVENT_UNDERRUN, EGB_EVENT_OVERWRITTEN.
/// Cost     O(bytes of its blocks that were ever used)
size_t egb_pool_check(egb_pool pool);

/// All pools, one after the other, and the heap's blocks that end at a guard page, at any level:
/// the sum of what egb_pool_check() returns, and how many of those are damaged.
size_t egb_check_all(void);

// ---- no more from the system --------------------------------------------------------------------

/// From now on the library asks the system for no memory, and gives none back by itself, but for
/// what a pool that is destroyed leaves no room for (EGB_REGION_CACHE_BYTES_MAX,
/// EGB_REGION_CACHE_ADDRESSES_MAX): what pools and heap have must do. A call that needs more fails
/// as if the system had refused. Reserve before, and let each thread that there is use each pool
/// once.
///
/// Misuse   EGB_EVENT_SEALED, of every call that would have had to ask; also of one that then finds
///          another way, such as the pool's lock in place of a magazine for a new thread.
/// Threads  A call that is asking at this moment may go on.
void egb_seal(void);

/// The end of that. Misuse  EGB_EVENT_SEALED, if something was refused that no call has reported.
void egb_unseal(void);

// ---- who has the blocks -------------------------------------------------------------------------

/// The blocks in use of one pool that were allocated at one place.
typedef struct egb_holder {
    egb_pool    pool;
    const char* pool_name;
    const void* site;  // a code address in what allocated them, or in its caller
    const char* file;  // and where in the source, if that was said; else NULL
    unsigned    line;
    size_t      blocks;
    size_t      bytes;      // that were asked for
    uint64_t    oldest_ms;  // age of the oldest, in milliseconds
    uint32_t    thread;     // that allocated the oldest: the system's number
} egb_holder;

/// Called with each holder; what it points to is valid during the call only. No lock is held.
typedef void (*egb_holder_visit_fn)(const egb_holder* holder, void* user);

/// Calls `visit` with the holders of all pools at level "track" in the subtree of `root` (the null
/// pool: everywhere), most bytes first. Of more than EGB_HOLDERS_MAX places those found last are
/// one holder whose site and file are NULL.
///
/// Returns  EGB_OK; EGB_INVALID if `visit` is NULL; EGB_STALE; EGB_NO_MEMORY.
/// Cost     O(touched blocks of these pools)
egb_status egb_holders_each(egb_pool root, egb_holder_visit_fn visit, void* user);
#define EGB_HOLDERS_MAX 4096u

/// Prints the first `most` of them to stderr, with a line before and one behind. Nothing is printed
/// if there are none. Returns how many blocks are in use, of all pools at level "track" there.
///
/// The library does so by itself: when a pool at level "track" is destroyed with EGB_DESTROY_FORCE
/// though blocks are in use; when one has none to give, once a second at most; and when the process
/// ends, of all that are left.
size_t egb_holders_print(egb_pool root, size_t most);

/// As egb_pool_alloc(), and the place in the source is known at level "track".
#define EGB_POOL_ALLOC(pool) egb_pool_alloc_at((pool), __FILE__, __LINE__)

/// The same, of a place that the caller passes on. `file` must stay.
EGB_NODISCARD EGB_INLINE void* egb_pool_alloc_at(egb_pool pool, const char* file, unsigned line)
{
    void* block;
    return egb_pool_pop_(egb_pool_key_(pool), &block) ? block
                                                      : egb_pool_alloc_cold_at_(pool, file, line);
}

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_GUARD_H

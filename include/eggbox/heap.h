// SPDX-License-Identifier: MIT
// Layer hosted: the heap. Blocks of any size, as of malloc: one pool per size class, and large
// requests straight from the system.
//
//     bytes    1 .. 16    17 .. 32   ..   113 .. 128   129 .. 144   ..   57345 .. 65536   more
//     pool     heap 16    heap 32         heap 128     heap 144          heap 65536       none
//
// Classes are 16 bytes apart up to 128, then 8 for each doubling: from 129 bytes on a block is less
// than 12.5 % larger than what was asked for. The pool of a class is made when the class is first
// used, as a child of egb_heap_pool(): every call of pool.h that takes a pool takes these.
//
// A large block is a region of its own, of whole units of 64 KiB of addresses, of which only those
// pages are memory that were touched. Freed ones are kept for requests and pools to come, up to
// 256 MiB (64 where addresses have 32 bits).
//
// Blocks are given back by egb_free(), from any thread. egb_block_bytes() says how many bytes a
// block has room for, and egb_pool_of() which class it is of: a large one, the null pool.
//
// When the heap grows although a quarter of it is free, chunks that are wholly free go from one
// class to others. Memory returns to the system when it was not needed for a quiet time: regions
// that were kept, and chunks that are wholly free. There is no thread for that: now and then a call
// that had to go further than its thread's magazine looks at the clock, and gives back a bounded
// part.
// egb_heap_trim() does it at once.
//
// Threads  Any thread, any call, at any time.
// Progress No lock while the thread's magazine of the class serves the call; else as pool.h. Large
//          requests take one lock of the process, for a look through the kept regions; what they
//          ask of the system they ask without it, but for records of many blocks at a time.
// Signals  No call is safe in a signal handler that may interrupt another call of this header. A
//          handler that needs blocks may have a fixed pool of its own, wherever it interrupts.
// Fork     Both sides may go on with every call.
#ifndef EGGBOX_HEAP_H
#define EGGBOX_HEAP_H

#include "pool.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// The size classes, and the largest of them. What is larger is a large request.
#define EGB_HEAP_CLASSES         80
#define EGB_HEAP_CLASS_BYTES_MAX 65536u

/// Takes a block of at least `bytes` bytes, aligned to 16. Of 0 bytes: a block of its own.
///
/// Returns  the block, with unspecified contents; NULL if `bytes` is over PTRDIFF_MAX, or the
///          system refused and nothing that the heap had kept was of use; or all EGB_POOLS_MAX
///          pools are there.
/// Cost     O(1) while blocks of the class are at hand, and for large requests that a kept region
///          serves; else a system call.
EGB_NODISCARD EGB_INLINE void* egb_malloc(size_t bytes);

/// As egb_malloc(count * bytes), all zero; NULL also if the product is over PTRDIFF_MAX. A block of
/// more than 1 MiB is fresh from the system, and not touched.
EGB_NODISCARD void* egb_calloc(size_t count, size_t bytes);

/// Makes a block larger or smaller. What fits in both is kept; the rest is unspecified. The block
/// stays where it is while the new size fits and is more than half of the block's; a large one also
/// if the system can change it where it is. Else the contents go to another block: the pages of a
/// large one without being copied, where the system can do that (Linux); and the old one is freed.
/// `block` may be of any pool. NULL: as egb_malloc(). `bytes` 0: as 1.
///
/// Returns  the block, or another in its place; NULL as egb_malloc(), and then the block is as it
///          was. A block that is to become smaller is never refused.
/// Misuse   as egb_free(): returns NULL, and nothing changes.
EGB_NODISCARD void* egb_realloc(void* block, size_t bytes);

/// As egb_malloc(), aligned to `align`. Up to a page from the first class whose blocks are so
/// aligned, at the latest one of a power of two; more, as a large block.
///
/// Returns  NULL also if `align` is no power of two.
EGB_NODISCARD void* egb_aligned_alloc(size_t align, size_t bytes);

/// The pool above all size classes. It gives the heap no blocks itself: it is there to be asked for
/// its subtree. The null pool as long as nothing was asked of the heap, or it could not be made.
///
/// Who destroys it, or the pool of a class, with EGB_DESTROY_FORCE ends the blocks of it: the heap
/// makes new ones for the next requests. Not while another thread uses the heap.
egb_pool egb_heap_pool(void);

/// Gives memory back to the system at once: kept regions, what is kept of pools that were
/// destroyed, and wholly free chunks of all classes, as long as the heap then still holds at least
/// `keep_bytes`, what is kept included; and all addresses of freed blocks that ended at a guard
/// page. Returns the bytes given back. The cost is that of egb_pool_trim() for each class.
size_t egb_heap_trim(size_t keep_bytes);

/// From now on each request is counted with the bytes it asked for, or no more. Counting takes the
/// hot path away: a few times the cost of a call. Best before the first request, for complete sums.
void egb_heap_measure(bool is_on);

/// Blocks that end at a page which nobody may use, and whose own pages nobody may use after the
/// free: who writes or reads behind such a block, or uses it when it is free, is stopped at once,
/// by SIGSEGV or what this system has in its place. `which` is one or both of
///
///     "large"    every large block
///     "1/1000"   of about so many small ones one, from 1/1 to 1/999999999
///
/// with a comma between; NULL or "" is none, as at first. EGGBOX_GUARD_PAGES says the same when the
/// first pool is made. Blocks that are there stay as they are.
///
/// Which small ones: of those that come further than their thread's magazine, where each stands for
/// all blocks that the magazine is then filled with. So it is one of so many blocks that come out
/// of the pools, at random distances; a program that frees and allocates the same few is not
/// sampled, unless requests are measured: then each is looked at.
///
/// Such a block is a large one, whatever its size: of whole units of 64 KiB of addresses, of which
/// its own pages are memory. It has as many bytes as were asked for; what its alignment leaves
/// between it and the page, below 16 bytes as a rule, and up to 128 bytes before it, are filled
/// with a pattern that is looked at by the free. egb_realloc() moves it, unless the page stays
/// right behind it. Freed ones wait in quarantine, of more than two pages without memory: up to 64,
/// and 1 GiB of addresses (16 MiB on 32-bit machines), till the next come, or the system refuses
/// the heap or a pool others, or egb_heap_trim(). At one time up to 1024 small ones and 8192 in all
/// are in use; then, and when the system refuses the page, requests are served as ever.
///
/// If the program has no handler for SIGSEGV at this moment, one is set that says, before the
/// program ends by that signal as it would have, what was done and where the block was allocated
/// and freed. (Not on Windows.)
///
/// Returns   EGB_OK; EGB_INVALID: `which` is nothing of that, and nothing has changed;
///           EGB_UNSUPPORTED: this system cannot close pages, or only larger ones than 32 KiB, or
///           the level of all pools is "passthrough"; EGB_NO_MEMORY: the heap could not be made.
/// Misuse    EGB_EVENT_OVERRUN, EGB_EVENT_UNDERRUN, by a free that finds the pattern changed. Of
///           these blocks a history is known at every level.
/// Cost      of such a block: one or two system calls for its alloc and as many for its free, up
///           to two more when it leaves quarantine, and page faults; of any other none, but for a
///           test where a magazine is found empty
egb_status egb_heap_guard_pages(const char* which);

/// A size class.
typedef struct egb_heap_class {
    egb_pool pool;  // the null pool: not used yet
    size_t   block_bytes;
    uint64_t requests;         // that its pool served while they were counted
    uint64_t requested_bytes;  // of these: with requests * block_bytes, the waste
} egb_heap_class;

/// What the heap counts. The numbers of the classes themselves are those of their pools:
/// egb_pool_stats() of one, egb_pool_stats_subtree(egb_heap_pool()) of all.
typedef struct egb_heap_numbers {
    uint64_t       large_allocations;  // blocks handed out, ever: those that realloc changed
    uint64_t       large_frees;        //   remain the same block
    uint64_t       large_failures;     // large requests that got NULL
    size_t         large_in_use;       // blocks
    size_t         large_peak;         // the most at one time
    size_t         large_bytes;        // of these, in whole units: addresses, not all memory
    size_t         large_bytes_peak;   // the most at one time
    size_t         cached;             // freed regions that are kept
    size_t         cached_bytes;
    uint64_t       guarded_allocations;  // of the large ones: blocks with a guard page, ever
    size_t         guarded_in_use;
    size_t         guarded_samples;  // of these, small ones
    size_t         quarantined;      // of the kept regions, those that nobody may use
    bool           is_measured;      // whether requests are counted now
    egb_heap_class classes[EGB_HEAP_CLASSES];
} egb_heap_numbers;

/// The numbers of the heap. EGB_INVALID if `out` is NULL.
egb_status egb_heap_stats(egb_heap_numbers* out);

#if defined(__cplusplus)
}
#endif

#include "heap_hot.h"

#endif  // EGGBOX_HEAP_H

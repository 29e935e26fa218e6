// SPDX-License-Identifier: MIT
// Layer hosted: the heap. Blocks of any size, as from malloc: one pool per size class, and large
// requests straight from the system.
//
//     bytes    1 .. 16    17 .. 32   ..   113 .. 128   129 .. 144   ..   61441 .. 65536   more
//     pool     heap 16    heap 32         heap 128     heap 144          heap 65536       none
//
// Classes are 16 bytes apart up to 128, then 8 for each doubling: from 129 bytes on a block is less
// than 12.5 % larger than the request. The pool of a class is made when the class is first used, as
// a child of egb_heap_pool(): every call of pool.h that takes a pool takes these pools.
//
// A large block is a region of its own, in whole units of 64 KiB of addresses; only the touched
// pages are memory. Freed regions are kept for new requests and pools, up to 256 MiB (64 on 32-bit
// machines).
//
// Blocks are given back by egb_free(), from any thread. egb_block_bytes() says how many bytes a
// block has room for, and egb_pool_of() gives the pool of its class, or the null pool for a large
// block.
//
// When the heap grows, wholly free chunks go from one class to others, if there are 4 MiB of them
// or a quarter of the heap is free. The purge returns memory to the system that was not used for
// some time: kept regions, and wholly free chunks. Now and then a call that its thread's magazine
// could not serve reads the clock, and gives back a bounded part; unused memory over a limit goes
// at once. A thread that calls egb_heap_purge() takes over the first, and the limit is higher then.
// egb_heap_trim() gives all back at once.
//
// Threads  Any thread, any call, at any time.
// Progress No lock while the thread's magazine of the class serves the call; else as pool.h. Large
//          requests take one lock of the process, to search the kept regions. They call the system
//          without that lock, except for records, which come for many blocks at a time.
// Signals  No call is safe in a signal handler that may interrupt another call of this header. A
//          handler that needs blocks may have a fixed pool of its own, wherever it interrupts.
// Fork     Both sides may go on with every call.
#ifndef EGGBOX_HEAP_H
#define EGGBOX_HEAP_H

#include "pool.h"

EGB_C_BEGIN_

/// The number of size classes, and the size of the largest. A larger request is a large request.
#define EGB_HEAP_CLASSES         80
#define EGB_HEAP_CLASS_BYTES_MAX 65536u

/// Takes a block of at least `bytes` bytes, aligned to 16. `bytes` 0: a block of its own.
///
/// Returns  the block, with unspecified contents; NULL if `bytes` is over PTRDIFF_MAX, or the
///          system refused and no kept region was of use, or there are EGB_POOLS_MAX pools.
/// Cost     O(1) while blocks of the class are at hand, and for large requests that a kept region
///          serves; else a system call.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_malloc(size_t bytes);

/// As egb_malloc(count * bytes), all zero; NULL also if the product is over PTRDIFF_MAX. A block of
/// more than 32 MiB is fresh from the system, and not touched.
EGB_NODISCARD void* egb_calloc(size_t count, size_t bytes);

/// Makes a block larger or smaller. The bytes that fit in both sizes keep their values; the rest is
/// unspecified. The block stays in its place while the new size fits and is more than half of the
/// block's; a large block also if the system can resize it in place, or if the new size is at most
/// EGB_HEAP_CLASS_BYTES_MAX and more than a quarter of the block's. Otherwise the contents go to
/// another block, and the old block is freed. On Linux the pages of a large block move without
/// being copied if the new size is 2 MiB or more. A shorter block is copied if a kept region is
/// likely to fit. `block` may be of any pool. NULL: as egb_malloc(). `bytes` 0: as 1.
///
/// Returns  the block, or another in its place; NULL as egb_malloc(), and then the block is
///          unchanged. A request for a smaller block is never refused.
/// Misuse   as egb_free(): returns NULL, and nothing changes.
EGB_NODISCARD void* egb_realloc(void* block, size_t bytes);

/// As egb_malloc(), aligned to `align`. Up to a page the block is of the first class with that
/// alignment, at the latest the class of a power of two; for more than a page it is a large block.
///
/// Returns  NULL also if `align` is no power of two.
EGB_NODISCARD void* egb_aligned_alloc(size_t align, size_t bytes);

/// The pool above all size classes. It gives no blocks itself: it is the root of their subtree. The
/// null pool as long as there was no request to the heap, or if the pool could not be made. Its
/// failures are the requests whose size class could not get a pool.
///
/// EGB_DESTROY_FORCE on it, or on the pool of a class, ends the blocks of that pool: the heap makes
/// new pools for the next requests. Do not destroy them while another thread uses the heap.
egb_pool egb_heap_pool(void);

/// Gives memory back to the system that nobody has used for a quarter to half a second: regions of
/// freed large blocks, chunks of destroyed pools, and wholly free chunks. A call gives back at most
/// 64 MiB or half, whichever is more, of the regions and of the wholly free chunks. Pages that hold
/// free blocks only go as well, of chunks that no block came to or left for as long. Returns the
/// bytes given back. A call that comes sooner than 250 ms after the last one has no effect.
///
/// For a thread or a timer that calls it again and again, every 250 ms or so: until 40 s after a
/// call the heap leaves unused memory up to a limit of 64 MiB to these calls, and gives back at
/// once all memory above it. Without them the limit is 8 MiB. It becomes higher if memory is needed
/// again soon. The malloc library has such a thread once the program has threads. In the child of a
/// fork it is as if there had been no call.
size_t egb_heap_purge(void);

/// Gives memory back to the system at once: kept regions, kept chunks of destroyed pools, and
/// wholly free chunks of all classes, as long as the heap then still holds at least `keep_bytes`,
/// kept memory included; and all addresses of freed blocks that ended at a guard page. Then, as far
/// as `keep_bytes` allow, pages of other chunks that hold free blocks only. Returns the bytes given
/// back. The cost is that of egb_pool_trim() for each class.
size_t egb_heap_trim(size_t keep_bytes);

/// Starts or stops to count each request and its bytes. Counting takes the hot path away: a call
/// costs a few times as much. Start before the first request, for complete sums.
void egb_heap_measure(bool is_on);

/// Chooses blocks that stand between guard pages: pages that nobody may use. After the free nobody
/// may use the block's own pages either. A write or read behind such a block or before its first
/// page, or a use after its free, is stopped at once, by SIGSEGV or the system's equivalent.
/// `which` is one or both of
///
///     "large"    every large block
///     "1/1000"   about one of this many small blocks, from 1/1 to 1/999999999
///
/// with a comma between; NULL or "" is none, the default. EGGBOX_GUARD_PAGES sets the same when the
/// first pool is made. Existing blocks stay as they are. If EGGBOX_CHECK puts the pool "heap" at
/// level "guard" or "track", large blocks have guard pages whatever `which` says.
///
/// The sample of small blocks is taken from requests that their thread's magazine cannot serve.
/// Each such request stands for all blocks that then fill the magazine. The sample is therefore one
/// of this many blocks that come out of the pools, at random distances. A program that frees and
/// allocates the same few blocks is not sampled, unless requests are counted: then each request is
/// considered.
///
/// A block with a guard page is a large block, whatever its size: whole units of 64 KiB of
/// addresses, in which only its own pages are memory. It has as many bytes as requested. The bytes
/// that its alignment leaves between it and the guard page, below 16 as a rule, and up to 128 bytes
/// before it hold a pattern that the free checks. A block with an alignment of more than a page has
/// no guard page before it. egb_realloc() moves such a block, unless the guard page stays right
/// behind it, or goes on by whole pages into addresses that an earlier move reserved. After moves
/// that copied eight times the block's size, growth may leave up to a page of the pattern between
/// the block and its guard page: else the time of growth by small steps would rise with the square
/// of the size.
///
/// Freed blocks wait in quarantine, blocks of more than two pages without memory: up to 64 blocks,
/// and 1 GiB of addresses (16 MiB on 32-bit machines). They leave it when later blocks come, when
/// the system refuses memory to the heap or a pool, or by egb_heap_trim(). At one time up to 1024
/// small blocks and 8192 in all are in use, each with up to three mappings; beyond that, and when
/// the system refuses the page, requests are served as ever.
///
/// If the program has no handler for SIGSEGV at this moment, the library sets one. It prints the
/// access, and the sites of the block's allocation and free, before the program ends by that signal
/// as it would have. (Not on Windows.)
///
/// Returns   EGB_OK; EGB_INVALID: `which` is none of these, and nothing has changed;
///           EGB_UNSUPPORTED: this system cannot close pages, or only larger ones than 32 KiB, or
///           the level of all pools is "passthrough"; EGB_NO_MEMORY: the heap could not be made.
/// Misuse    EGB_MISUSE_OVERRUN, EGB_MISUSE_UNDERRUN, by a free that finds the pattern changed.
///           These blocks have a history at every level.
/// Cost      for such a block: one to three system calls in alloc, one or two in free, up to two
///           more when it leaves quarantine, and page faults; for any other block nothing, except
///           one test when a magazine is empty
egb_status egb_heap_guard_pages(const char* which);

/// A size class.
typedef struct egb_heap_class {
    egb_pool pool;  // the null pool: not used yet
    size_t   block_bytes;
    uint64_t requests;         // requests that its pool served while they were counted
    uint64_t requested_bytes;  // their bytes: requests * block_bytes less these is the waste
} egb_heap_class;

/// The numbers of the heap. The numbers of a class are those of its pool: egb_pool_get_stats() for
/// one, egb_pool_get_subtree_stats(egb_heap_pool()) for all.
typedef struct egb_heap_stats {
    uint64_t       large_allocations;  // blocks handed out, ever: a block that realloc resized
    uint64_t       large_frees;        //   remains the same block
    uint64_t       large_failures;     // large requests that got NULL
    size_t         large_in_use;       // blocks
    size_t         large_peak;         // the most at one time
    size_t         large_bytes;        // their size, in whole units: addresses, not all memory
    size_t         large_bytes_peak;   // the most at one time
    size_t         cached;             // freed regions that are kept
    size_t         cached_bytes;
    uint64_t       guarded_allocations;  // large blocks with a guard page, ever
    size_t         guarded_in_use;
    size_t         guarded_samples;  // small requests among these
    size_t         quarantined;      // those of the cached regions that nobody may use
    bool           is_measured;      // true while requests are counted
    egb_heap_class classes[EGB_HEAP_CLASSES];
} egb_heap_stats;

/// The numbers of the heap. EGB_INVALID if `out` is NULL.
egb_status egb_heap_get_stats(egb_heap_stats* out);

EGB_C_END_

#include "heap_hot.h"

#endif  // EGGBOX_HEAP_H

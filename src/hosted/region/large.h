// SPDX-License-Identifier: MIT
// Room region: large blocks. Each is a region of whole units with a record. The regions are in a
// tree, not in the chunk map: a block of any size is one entry. Unless a comment says otherwise,
// functions on records need the lock of large blocks, and functions on blocks take it.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_H

#include "../report/misuse.h"
#include "eggbox/live.h"
#include "large_records.h"

// ---- numbers ------------------------------------------------------------------------------------

// The figures of large blocks for egb_heap_get_stats(). The regions in quarantine are among the
// cached ones.
typedef struct egb_large_numbers {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
    size_t   in_use;
    size_t   peak;
    size_t   bytes;
    size_t   bytes_peak;
    uint64_t guarded_allocations;
    size_t   cached;
    size_t   cached_bytes;
    size_t   guarded_in_use;
    size_t   guarded_samples;
    size_t   quarantined;
} egb_large_numbers;

void egb_large_count_(egb_large_numbers* out);

// From now on the numbers are also at `place`; NULL: no longer. Allocations, frees and failures
// start there from zero. The blocks and bytes in use, and their peaks, are those of the process.
void egb_large_live_to_(egb_live_large* place);

// ---- owners -------------------------------------------------------------------------------------

// Notes who requested the block, or resized it. `scale`: as in egb_large_owner.
void egb_large_note_owner_(const void* block, size_t bytes, const void* site, double scale);

// Forgets the owner of the block.
void egb_large_forget_owner_(const void* block);

// Counts the block as one of this size; 0: as one of no size, since realloc has resized it.
void egb_large_note_size_(const void* block, size_t bytes);

// Calls `visit`, without the lock, with each size of the table (large_sizes.h).
typedef void (*egb_large_size_fn)(const egb_large_size* size, void* user);
void egb_large_each_size_(egb_large_size_fn visit, void* user);

// Begins the counts of requests anew, and the peaks at the blocks in use.
void egb_large_count_sizes_anew_(void);

// Whether it is a block in use whose owner is known.
static inline bool egb_large_has_owner_(const egb_large* large)
{
    return large->state == EGB_LARGE_LIVE && large->owner.serial != 0;
}

// The same at level "track": a sample has an owner, too.
static inline bool egb_large_is_tracked_(const egb_large* large)
{
    return egb_large_has_owner_(large) && large->owner.scale == 0;
}

// The number of the latest request.
uint64_t egb_large_serial_(void);

// ---- blocks -------------------------------------------------------------------------------------

// Makes a block of `whole` bytes, whole units, of a cached region; NULL: none fits. A block of more
// than 32 MiB that must be zero is served only during a freeze: see large.c.
void* egb_large_take_cached_(size_t align, size_t whole, bool zeroed);

// The same of a region without memory; in a freeze none is served. A block that must be zero is
// written only where the system leaves such regions as they were.
void* egb_large_take_empty_(size_t align, size_t whole, bool zeroed);

// A block in a fresh region. NULL: the system refused.
void* egb_large_map_(size_t align, size_t whole);

// A block that ends at a guard page. The function reads `is_sample`, `alloc_site` and `moved` of
// `wish`. A block that realloc moved gets addresses to grow into. NULL: serve the request without a
// page.
void* egb_large_alloc_guarded_(size_t align, size_t bytes, const egb_guard_page* wish);

// The request's bytes, rounded up to whole units.
size_t egb_large_units_for_(size_t bytes);

// Counts a failed request. Returns NULL.
void* egb_large_refuse_(void);

// Serves a small request by a large block with a guard page, if a sample is due. NULL: none is due,
// or it failed.
void* egb_large_sample_(size_t align, size_t bytes, const void* site);

// Frees a large block. False, and nothing happened: no large block is there. The caller reports the
// misuse or damage in `*finding`.
bool egb_large_free_(void* block, const void* site, egb_finding* finding);

// The bytes that the large block around `address` has room for; 0: there is none.
size_t egb_large_bytes_(const void* address);

// Whether the large block has a guard page: then its bytes are the requested ones.
bool egb_large_is_guarded_(const void* block);

// How many bytes realloc copied for the block, in all its moves. It is known with a guard page.
size_t egb_large_moved_(const void* block);

// The block's history: empty without a guard page.
egb_history egb_large_history_(const void* block);

// Gives back the addresses of the quarantine; and of regions without memory, for a request of
// `bytes` bytes, if the process has a limit that allows it. False: there were none, or the process
// is frozen.
bool egb_large_make_room_(size_t bytes);

// Takes a cached region of `bytes` bytes, whole units, for a chunk: a longer one is cut. NULL: none
// fits, or regions cannot be joined and cut.
void* egb_large_pass_on_(size_t bytes);

// Takes over a region that was a chunk: for large blocks, and for chunks of any pool. It is cached
// until the caller has given all that it gives, and then calls egb_large_limit_cache_(): neighbours
// go to the system in one call. False, and the region stays the caller's: no memory for its record,
// or regions cannot be joined and cut.
bool egb_large_take_over_(void* region, size_t bytes);

// Whether a large block in use starts here.
bool egb_large_is_live_(const void* block);

// Checks the patterns around a large block. EGB_CORRUPT: they are damaged; the caller reports
// `*finding`. EGB_INVALID: no large block in use starts here.
egb_status egb_large_check_(const void* block, egb_finding* finding);

// Checks the patterns around all large blocks in use. Returns the number of damaged blocks; the
// caller reports the first one, in `*finding`.
size_t egb_large_check_all_(egb_finding* finding);

// Makes a large block larger or smaller, in place or elsewhere. Its bytes are copied only where the
// system cannot move its pages. NULL: impossible, and the block is as before.
void* egb_large_resize_(void* block, size_t bytes);

// Releases regions that were cached before an epoch, as egb_large_cache_expire_(): at least `bytes`
// bytes stay in the cache. Returns the bytes given back.
size_t egb_large_release_(uint32_t before, size_t bytes);

// Releases cached regions of any age, as egb_large_cache_expire_(), and the whole quarantine. At
// least `bytes` bytes stay in the cache. Returns the bytes given back.
size_t egb_large_release_all_(size_t bytes);

// The bytes of all regions, by their use.
typedef struct egb_large_held {
    size_t in_use;
    size_t cached;
    size_t quarantined;
} egb_large_held;

egb_large_held egb_large_held_(void);

// The lock of large blocks.
void egb_large_lock_(void);
void egb_large_unlock_(void);
bool egb_large_is_free_soon_(int milliseconds);

// Unlocks it in the child of a fork, and counts the blocks with a guard page again.
void egb_large_reset_(void);

// Changes the bytes of blocks in use. The lock is held.
void egb_large_note_bytes_(size_t more, size_t less);

// Gives back the cached bytes over the limit, which depends on the bytes in use. Takes the lock.
void egb_large_limit_cache_(void);

// Caches a region that is no block any more, or puts it on the unmap list. The lock is held.
void egb_large_keep_(egb_large* large, egb_unmap_list* unmap_list);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_H

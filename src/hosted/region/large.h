// SPDX-License-Identifier: MIT
// Room region: large blocks. Each is a region of whole units with a record, to which the chunk map
// leads. Unless a comment says otherwise, the lock of large blocks is held by the caller of the
// functions on records, and taken by the functions on blocks.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_H

#include "../report/misuse.h"
#include "chunk_map.h"

// ---- records ------------------------------------------------------------------------------------

typedef enum egb_large_state {
    EGB_LARGE_NEW,   // on its way to be a block's
    EGB_LARGE_LIVE,  // a block in use
    EGB_LARGE_CACHED,
    EGB_LARGE_QUARANTINED  // it had a guard page, and nobody may use it
} egb_large_state;

// Where a block is that ends at a guard page; without one it is all of its region.
typedef struct egb_guard_page {
    size_t      bytes;  // that were asked for; 0: there is no guard page
    size_t      lead;   // before the block
    size_t      room;   // from its start to the guard page, which goes to the end of the region
    bool        is_sample;
    const void* alloc_site;
    const void* free_site;
} egb_guard_page;

// A region of whole units. Records are never given back to the system, so that a stale address can
// be looked up.
typedef struct egb_large {
    void*             region;
    size_t            bytes;
    egb_large_state   state;
    uint32_t          epoch;   // the epoch of the purge in which it was cached
    uint64_t          number;  // the first one ever kept is 1
    struct egb_large* newer;   // of those kept that are of about its size
    struct egb_large* older;
    egb_guard_page    guard;
} egb_large;

static inline bool egb_large_has_page_(const egb_large* large)
{
    return large->guard.bytes != 0;
}

// Regions on their way to the system: collected with the lock held, released without it. Each is
// the next one's `older`.
typedef struct egb_unmap_list {
    egb_large* first;  // NULL: there are none
} egb_unmap_list;

// Without the lock. Says how many bytes it gave back.
size_t egb_unmap_list_release_(const egb_unmap_list* unmap_list);

// NULL: refused.
egb_large* egb_large_new_record_(void);
void       egb_large_drop_record_(egb_large* large);

// All that there are.
void egb_large_each_(egb_growing_visit_fn visit, void* user);

// Enters a region in the map, without the lock. False: refused, and it is not there.
bool egb_large_enter_(void* region, size_t bytes, egb_large* large);

// The record of the region that an address is in; NULL: there is none.
egb_large* egb_large_at_(const void* address);

// The region is no block any more: from now on nobody finds it.
void egb_large_unmap_later_(egb_unmap_list* unmap_list, egb_large* large);

// ---- numbers ------------------------------------------------------------------------------------

// What egb_heap_get_stats() says of large blocks.
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

// ---- blocks -------------------------------------------------------------------------------------

// A cached region as a block of `whole` bytes, whole units; NULL: none fits. A long block that is
// to be zero is not served: see large.c.
void* egb_large_take_cached_(size_t align, size_t whole, bool zeroed);

// A block in a region that is fresh from the system. NULL: refused.
void* egb_large_map_(size_t align, size_t whole);

// A block that ends at a guard page. NULL: the request is to be served without one.
void* egb_large_alloc_guarded_(size_t align, size_t bytes, bool is_sample, const void* site);

// Whole units for a request.
size_t egb_large_units_for_(size_t bytes);

// Counts a request that got nothing. Returns NULL.
void* egb_large_refuse_(void);

// Serves a small request by a large block with a guard page, if one is due. NULL: none is, or it
// could not be had.
void* egb_large_sample_(size_t align, size_t bytes, const void* site);

// Frees a large block. False, and nothing happened: no large block is there. Misuse and damage are
// in `*finding`, for the caller to report.
bool egb_large_free_(void* block, const void* site, egb_finding* finding);

// How many bytes the large block has room for that `address` is in; 0: there is none.
size_t egb_large_bytes_(const void* address);

// Whether the large block there has a guard page: then its bytes are what was asked for.
bool egb_large_is_guarded_(const void* block);

// What is known of the block: nothing, if it has no guard page.
egb_history egb_large_history_(const void* block);

// Gives back what freed blocks with guard pages keep of addresses. False: nothing, or sealed.
bool egb_large_make_room_(void);

// A kept region of just so many bytes, whole units, for a chunk. NULL: there is none.
void* egb_large_pass_on_(size_t bytes);

// Whether a large block in use starts here.
bool egb_large_is_live_(const void* block);

// Looks at what is around a large block; around all of them, and says of how many it is not as it
// should be. The first finding is in `*finding`, for the caller to report.
egb_status egb_large_check_(const void* block, egb_finding* finding);
size_t     egb_large_check_all_(egb_finding* finding);

// Makes a large block larger or smaller, here or elsewhere, without copying. NULL: that cannot be
// done, and it is as it was.
void* egb_large_resize_(void* block, size_t bytes);

// Releases regions that are cached since before `epoch`, the oldest first, as long as `bytes` bytes
// of them stay. Returns the bytes given back.
size_t egb_large_release_(uint32_t epoch, size_t bytes);

// Releases cached regions of any age, the oldest first, as long as `bytes` bytes of them stay, and
// all of the quarantine. Returns the bytes given back.
size_t egb_large_release_all_(size_t bytes);

// Bytes of all regions, and of those that are kept.
size_t egb_large_held_(size_t* cached);

// The lock that keeps all this.
void egb_large_lock_(void);
void egb_large_unlock_(void);
bool egb_large_is_free_soon_(void);
void egb_large_reset_(void);

// Bytes of blocks in use changed. The lock is held.
void egb_large_note_bytes_(size_t more, size_t less);

// Caches a region that is no block's any more, or puts it on the list. The lock is held.
void egb_large_keep_(egb_large* large, egb_unmap_list* unmap_list);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_H

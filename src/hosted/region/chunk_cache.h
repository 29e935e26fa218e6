// SPDX-License-Identifier: MIT
// Room region: the region cache of chunks: regions that were chunks, for chunks to come. Freed
// regions of large blocks have another cache: large_cache.h.
#ifndef EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H
#define EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H

#include "pages.h"

// A region that was a chunk. Parts of it were never touched and are still zero: those between the
// touched blocks, and the states and the header at its end.
typedef struct egb_cached_chunk {
    void*  region;  // NULL: none
    size_t bytes;
    size_t touched;  // bytes from the start; touched <= end
    size_t end;      // states and header begin here
    size_t front;    // pages in front of this may be in memory,
    size_t back;     // and those from here on
} egb_cached_chunk;

// Takes a region of exactly `bytes` bytes, cut or joined if need be, or none.
egb_cached_chunk egb_region_cache_take_(size_t bytes);

// Adds a region, which may push out others. False, and the region stays the caller's: its addresses
// are more than EGB_REGION_CACHE_BYTES_MAX, its memory is more than the share of the process
// (keep.h), or too many regions would have to go.
bool egb_region_cache_put_(const egb_cached_chunk* one);

// The bytes of addresses in the cache.
size_t egb_region_cache_held_(void);

// Gives the oldest regions back to the system until `keep_bytes` bytes are left, but at most
// `regions_max` regions. Returns the bytes given back.
size_t egb_region_cache_trim_(size_t keep_bytes, size_t regions_max);

// The lock of the cache. No other lock is taken while it is held.
void egb_region_cache_lock_(void);
void egb_region_cache_unlock_(void);
void egb_region_cache_reset_(void);
bool egb_region_cache_is_free_soon_(int milliseconds);

#endif  // EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H

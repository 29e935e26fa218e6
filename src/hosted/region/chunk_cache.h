// SPDX-License-Identifier: MIT
// Room region: regions that were chunks, kept for chunks to come.
#ifndef EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H
#define EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H

#include "pages.h"

// A region that has been a chunk. Not all of it was touched: what is between the blocks that were,
// and the states and the header at its end, is still zero.
typedef struct egb_cached_chunk {
    void*  region;  // NULL: none
    size_t bytes;
    size_t touched;  // bytes from the start; touched <= end
    size_t end;      // where states and header begin
    size_t front;    // pages in front of it may be in memory,
    size_t back;     // and those from it on
} egb_cached_chunk;

// A region of exactly so many bytes, or none. And back, which may push out others; false: it has
// more bytes of addresses than the shelf has room for in memory, or there are too many in its way.
egb_cached_chunk egb_region_cache_take_(size_t bytes);
bool             egb_region_cache_put_(const egb_cached_chunk* one);

size_t egb_region_cache_held_(void);

// Gives the oldest back to the system until no more than `keep_bytes` are left, but no more than so
// many regions, and says how many bytes that were.
size_t egb_region_cache_trim_(size_t keep_bytes, size_t regions_max);

// The lock of the cache. Nothing else is taken while it is held.
void egb_region_cache_lock_(void);
void egb_region_cache_unlock_(void);
void egb_region_cache_reset_(void);
bool egb_region_cache_is_free_soon_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_CHUNK_CACHE_H

// SPDX-License-Identifier: MIT
// Room region: the freed regions of large blocks that stay mapped for requests to come. The lock of
// large blocks is held.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H

#include "large.h"

// How much is kept, for a turn or two. It is also no more than would make the heap hold more than
// ever was in use, an eighth of that, and a little: then what is not of the sizes that are asked
// for now goes first. Blocks of many sizes leave gaps between them: without the eighth, regions of
// tens of MiB come from the system again and again.
enum {
    EGB_LARGE_CACHE_BYTES_MAX       = (sizeof(void*) < 8 ? 64 : 256) << 20,
    EGB_LARGE_CACHE_BYTES_OVER_PEAK = 8 << 20
};

// How many bytes may be kept now, when blocks in use have `bytes`, and had `peak` at most: all,
// when nothing would come again that goes.
size_t egb_large_cache_bytes_max_(size_t bytes, size_t peak);

// A region for a block of so many bytes, whole units. NULL: none of those kept fits.
egb_large* egb_large_cache_take_(size_t align, size_t whole);

// Keeps a region. Then there may be one too many.
void egb_large_cache_add_(egb_large* large);

// What is kept right behind the region becomes a part of it, so many bytes: its record is still to
// be told. False, and nothing happened: there is not as much.
bool egb_large_cache_give_behind_(egb_large* large, size_t more);

// The oldest go, until no more bytes are kept; of the last one as much as must, where it can be
// cut.
void egb_large_cache_limit_(egb_unmap_list* unmap_list, size_t most);

// Begins the next epoch of the purge, and returns its number. No lock is needed.
uint32_t egb_region_next_epoch_(void);

// Those that are kept since before `epoch` go, the oldest first, as long as `bytes` bytes stay; of
// the last one as much as may, where it can be cut.
void egb_large_cache_expire_(egb_unmap_list* unmap_list, uint32_t epoch, size_t bytes);

size_t egb_large_cache_bytes_(void);
size_t egb_large_cache_count_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H

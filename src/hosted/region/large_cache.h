// SPDX-License-Identifier: MIT
// Room region: the freed regions of large blocks that stay mapped for later requests. The lock of
// large blocks is held.
#ifndef EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H
#define EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H

#include "large.h"

// The most bytes cached; the purge removes old regions within two epochs anyway. Besides, large
// blocks and cached regions together may not have more bytes than the peak of large blocks, an
// eighth of that, and a little: beyond it, sizes without requests go first. Blocks of many sizes
// leave gaps: without the eighth, regions of tens of MiB come from the system again and again.
enum {
    EGB_LARGE_CACHE_BYTES_MAX       = (sizeof(void*) < 8 ? 64 : 256) << 20,
    EGB_LARGE_CACHE_BYTES_OVER_PEAK = 8 << 20
};

// The bytes that may be cached while blocks in use have `bytes`, and had `peak` at most. During a
// freeze there is no limit: a region that goes would not come again.
size_t egb_large_cache_bytes_max_(size_t bytes, size_t peak);

// A process with more large regions than these unmaps none between two others, as each would be one
// more mapping, and Linux allows 65,530: their memory goes, and their addresses stay.
enum { EGB_LARGE_REGIONS_UNMAPPED_MAX = 8192 };

// A cached region for a block of `whole` bytes, whole units; or one without memory, whose `epoch`
// is 0. NULL: none fits.
egb_large* egb_large_cache_take_(size_t align, size_t whole);
egb_large* egb_large_cache_take_empty_(size_t align, size_t whole);

// False: no cached region fits a block of `whole` bytes. True: one is likely to.
bool egb_large_cache_may_fit_(size_t whole);

// Caches a region. The cache may then be over its limit.
void egb_large_cache_add_(egb_large* large);

// The same for a region whose memory is gone: no limit counts it, and its age does not matter.
void egb_large_cache_add_empty_(egb_large* large);

// Puts a region of the tree on the list, with neighbours that have no memory; or only its memory is
// to go: see EGB_LARGE_REGIONS_UNMAPPED_MAX.
void egb_large_cache_give_later_(egb_unmap_list* unmap_list, egb_large* large);

// Puts regions without memory on the list, for as many bytes of addresses: the longest first. All
// calls together leave a bounded number of gaps.
void egb_large_cache_give_empty_(egb_unmap_list* unmap_list, size_t bytes);

// Extends the region by `more` cached bytes right behind it. `same_mapping`: only if they are in
// the same mapping of the system. False, and nothing happened: there are fewer.
bool egb_large_cache_give_behind_(egb_large* large, size_t more, bool same_mapping);

// Regions go until at most `most` bytes are cached; the last one only in part, if it can be cut.
// The oldest goes first, with one exception: the rest of a region that was cut keeps its age, but
// in its list it stands behind the regions that were cached before the cut, and goes after them.
void egb_large_cache_limit_(egb_unmap_list* unmap_list, size_t most);

// Begins the next epoch of the purge, and returns its number: regions are cached in it. No lock is
// needed.
uint32_t egb_large_cache_next_epoch_(void);

// Regions cached before the epoch `before` go, in the same order, while at least `bytes` bytes
// stay; the last one only in part, if it can be cut.
void egb_large_cache_expire_(egb_unmap_list* unmap_list, uint32_t before, size_t bytes);

size_t egb_large_cache_bytes_(void);
size_t egb_large_cache_count_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_LARGE_CACHE_H

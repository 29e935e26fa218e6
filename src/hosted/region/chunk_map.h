// SPDX-License-Identifier: MIT
// Room region: from an address to the chunk that it is in.
#ifndef EGGBOX_SRC_HOSTED_REGION_CHUNK_MAP_H
#define EGGBOX_SRC_HOSTED_REGION_CHUNK_MAP_H

#include "../../core/growing_private.h"
#include "eggbox/pool_hot.h"
#include "pages.h"

// The number of lanes: a lane is a shard of threads that share chunks.
enum { EGB_LANES = 8 };

// On 64-bit machines addresses have 48 bits: systems hand out no others unless asked to.
#if UINTPTR_MAX > UINT32_MAX
enum { EGB_ADDRESS_BITS = 48, EGB_LEAF_BITS = 16 };
#else
enum { EGB_ADDRESS_BITS = 32, EGB_LEAF_BITS = 8 };
#endif
enum { EGB_UNIT_BITS = 16, EGB_ROOT_BITS = EGB_ADDRESS_BITS - EGB_UNIT_BITS - EGB_LEAF_BITS };

// One unit of the address space, in a cache line of its own: all that a free, or a question for a
// block's size, has to know. `key` is set last and cleared first; while it is 0 nothing else
// counts. All but the shape is atomic.
typedef struct egb_unit {
    EGB_ALIGNAS_(64) uint64_t key;  // the pool's handle, and a lane; 0: nothing is there
    egb_chunk_* chunk;
    egb_shape_  shape;        // the chunk's; without states: no blocks in this unit
    uint32_t    blocks;       // in the chunk; 0: the pool is destroyed
    size_t      block_bytes;  // the pool's; 0: red zones: ask the pool
} egb_unit;
EGB_STATIC_ASSERT(sizeof(egb_unit) == 64, "a unit is one line");

// A map entry names the lane of its chunk in bits of a slot that handles do not use.
enum { EGB_KEY_LANE = 2 };
#define EGB_KEY_LANES ((uint64_t)(EGB_LANES - 1) * EGB_KEY_LANE)
EGB_STATIC_ASSERT(EGB_LANES* EGB_KEY_LANE < EGB_SLOT_STEP_, "a lane is part of no slot");

static inline uint64_t egb_key_in_lane_(uint64_t key, size_t lane)
{
    return (key & ~EGB_KEY_LANES) | lane * EGB_KEY_LANE;
}

static inline size_t egb_lane_of_key_(uint64_t key)
{
    return (size_t)(key & EGB_KEY_LANES) / EGB_KEY_LANE;
}

typedef struct egb_leaf {
    egb_unit units[(size_t)1 << EGB_LEAF_BITS];
} egb_leaf;

extern egb_leaf* egb_leaves_[(size_t)1 << EGB_ROOT_BITS];  // atomic; leaves are never given back

// Enters a chunk's region. False: the system refused; the caller clears the part that was set.
bool egb_chunk_map_set_(void* region, size_t bytes, const egb_unit* unit);

// Removes a region: its addresses lead to no chunk any more.
void egb_chunk_map_clear_(void* region, size_t bytes);

// Changes the chunk's key.
void egb_chunk_map_set_key_(const egb_chunk_* chunk, uint64_t key);

// The chunk's blocks belong to no pool any more, but the chunk is still there.
void egb_chunk_map_forget_(const egb_chunk_* chunk);

// The unit of an address; address bits beyond the known ones are ignored. NULL: no chunk is or was
// near.
static inline egb_unit* egb_unit_like_(const void* address)
{
    const uintptr_t unit = (uintptr_t)address >> EGB_UNIT_BITS;
    const uintptr_t root = unit >> EGB_LEAF_BITS & (((uintptr_t)1 << EGB_ROOT_BITS) - 1);
    egb_leaf* const leaf = __atomic_load_n(&egb_leaves_[root], __ATOMIC_ACQUIRE);
    return leaf == NULL ? NULL : &leaf->units[unit & (((uintptr_t)1 << EGB_LEAF_BITS) - 1)];
}

EGB_INLINE bool egb_is_address_(const void* address)
{
    return (uintptr_t)address >> EGB_UNIT_BITS >> EGB_LEAF_BITS >> EGB_ROOT_BITS == 0;
}

static inline egb_unit* egb_unit_of_(const void* address)
{
    return egb_is_address_(address) ? egb_unit_like_(address) : NULL;
}

static inline uint64_t egb_key_at_(const egb_unit* unit)
{
    return __atomic_load_n(&unit->key, __ATOMIC_ACQUIRE);
}

// The key of the chunk's owner, without the lane; 0: no chunk is there.
static inline uint64_t egb_key_of_unit_(const egb_unit* unit)
{
    return unit == NULL ? 0 : egb_key_in_lane_(egb_key_at_(unit), 0);
}

// The low word of the key of the pool whose chunk contains the address: the slot, the lane and the
// bit for checks; divided by EGB_SLOT_STEP_ it is the slot's number. 0: the address is nobody's, a
// large block's, or a pool's on static memory. The answer may be outdated when the caller reads it.
uint32_t egb_chunk_map_slot_(const void* address);

// The chunk that contains the address, if its pool has this key or is an older pool in the same
// slot; else NULL. The caller holds the pool's lock, or the address is in a block in use; else the
// chunk may be gone.
egb_chunk_* egb_chunk_map_find_(uint64_t key, const void* address);

// Whether `address` is in one of the chunk's blocks.
static inline bool egb_chunk_has_(const egb_chunk_* chunk, const void* address)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)chunk->fixed.first;
    return offset / EGB_WORD_BYTES < chunk->shape.blocks * (size_t)chunk->fixed.stride;
}

// The chunk's key in the map.
static inline uint64_t egb_key_of_chunk_(const egb_chunk_* chunk)
{
    return egb_key_at_(egb_unit_of_(chunk->range.start));
}

#endif  // EGGBOX_SRC_HOSTED_REGION_CHUNK_MAP_H

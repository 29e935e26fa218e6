// SPDX-License-Identifier: MIT
// From any address to the chunk it is in: a radix tree of two steps with one entry for each 64 KiB
// of address space, of which only the parts exist where chunks are. Chunks from the system are
// whole units of 64 KiB. Readers take no lock: they may always learn whose an address is, because
// control blocks stay; but a chunk's header goes with its chunk, so only who has the pool locked,
// or holds a block of the chunk, may look into it.
#include "pool_private.h"

// 48 bits of address, on 64-bit machines, are all that systems hand out unless asked for more.
#if UINTPTR_MAX > UINT32_MAX
enum { ADDRESS_BITS = 48, LEAF_BITS = 16 };
#else
enum { ADDRESS_BITS = 32, LEAF_BITS = 8 };
#endif
enum { UNIT_BITS = 16, ROOT_BITS = ADDRESS_BITS - UNIT_BITS - LEAF_BITS };

// Both are atomic. The owner is the last to be set and the first to be cleared.
typedef struct unit_entry {
    egb_chunk_*  chunk;
    egb_control* owner;
} unit_entry;

typedef struct leaf {
    unit_entry entries[(size_t)1 << LEAF_BITS];
} leaf;

static leaf* leaves[(size_t)1 << ROOT_BITS];  // atomic; they are never given back

static size_t unit_of(const void* address)
{
    return (uintptr_t)address >> UNIT_BITS;
}

static bool is_in_map(size_t unit)
{
    return unit >> LEAF_BITS >> ROOT_BITS == 0;
}

// The leaf for a unit, made if need be. Two pools may make the same one: one of the two goes back.
static leaf* make_leaf(size_t unit)
{
    leaf** const place = &leaves[unit >> LEAF_BITS];
    leaf*        there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (there == NULL) {
        leaf* const made = egb_pages(sizeof(leaf));
        if (made == NULL) {
            return NULL;
        }
        if (__atomic_compare_exchange_n(
                place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
            )) {
            return made;
        }
        egb_pages_release(made, sizeof(leaf));
    }
    return there;
}

static unit_entry* entry_in(leaf* in, size_t unit)
{
    return &in->entries[unit & (((size_t)1 << LEAF_BITS) - 1)];
}

// NULL: there is no chunk in the unit, nor was there one near.
static unit_entry* entry_at(size_t unit)
{
    if (!is_in_map(unit)) {
        return NULL;
    }
    leaf* const in = __atomic_load_n(&leaves[unit >> LEAF_BITS], __ATOMIC_ACQUIRE);
    return in == NULL ? NULL : entry_in(in, unit);
}

bool egb_chunk_map_set(void* region, size_t bytes, egb_chunk_* chunk, egb_control* owner)
{
    const size_t first = unit_of(region);
    const size_t count = bytes >> UNIT_BITS;
    if (!is_in_map(first + count - 1)) {
        return false;
    }
    for (size_t unit = first; unit < first + count; unit++) {
        leaf* const in = make_leaf(unit);
        if (in == NULL) {
            return false;  // the range is given back, and thereby cleared
        }
        unit_entry* const entry = entry_in(in, unit);
        __atomic_store_n(&entry->chunk, chunk, __ATOMIC_RELAXED);
        __atomic_store_n(&entry->owner, owner, __ATOMIC_RELEASE);
    }
    return true;
}

void egb_chunk_map_clear(void* region, size_t bytes)
{
    const size_t first = unit_of(region);
    const size_t count = bytes >> UNIT_BITS;
    for (size_t unit = first; unit < first + count; unit++) {
        unit_entry* const entry = entry_at(unit);
        if (entry != NULL) {
            __atomic_store_n(&entry->owner, NULL, __ATOMIC_RELEASE);
            __atomic_store_n(&entry->chunk, NULL, __ATOMIC_RELEASE);
        }
    }
}

egb_control* egb_chunk_map_owner(const void* address)
{
    unit_entry* const entry = entry_at(unit_of(address));
    return entry == NULL ? NULL : __atomic_load_n(&entry->owner, __ATOMIC_ACQUIRE);
}

egb_chunk_* egb_chunk_map_find(const egb_control* owner, const void* address)
{
    unit_entry* const entry = entry_at(unit_of(address));
    return entry == NULL || __atomic_load_n(&entry->owner, __ATOMIC_ACQUIRE) != owner
               ? NULL
               : __atomic_load_n(&entry->chunk, __ATOMIC_RELAXED);
}

egb_chunk_* egb_chunk_at_end(const egb_control* control, void* region, size_t bytes)
{
    egb_chunk_place place;
    return egb_chunk_find_place(&control->growing.options, region, bytes, &place) ? place.header
                                                                                  : NULL;
}

// Static memory is in no map: it need not be whole units.
egb_chunk_* egb_chunk_in(const egb_control* control, const void* address)
{
    if (control->memory.region != NULL) {
        return egb_growing_chunk_of(&control->growing, address);
    }
    return egb_chunk_map_find(control, address);
}

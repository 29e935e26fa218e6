// SPDX-License-Identifier: MIT
// From any address to its chunk: a radix tree of two steps with one entry for each 64 KiB of
// address space; only the parts near chunks exist. Chunks from the system are whole units of 64
// KiB. Readers take no lock: they may always learn the owner of an address, because control blocks
// stay. A chunk's header goes with its chunk: only a thread that holds the pool's lock or a block
// of the chunk may read it.
#include "chunk_map.h"

egb_leaf* egb_leaves_[(size_t)1 << EGB_ROOT_BITS];

// Whether the unit has a leaf; makes it if need be. Two pools may make the same leaf: one of the
// two goes back.
static bool make_leaf(size_t unit)
{
    if (unit >> EGB_LEAF_BITS >> EGB_ROOT_BITS != 0) {
        return false;
    }
    egb_leaf** const place = &egb_leaves_[unit >> EGB_LEAF_BITS];
    egb_leaf*        there = NULL;
    // Not a load: the page that is read first comes twice, for the read and for the write below.
    if (!__atomic_compare_exchange_n(
            place, &there, NULL, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE
        )) {
        return true;
    }
    egb_leaf* const made = egb_pages_(sizeof(egb_leaf));
    if (made == NULL) {
        return false;
    }
    if (!__atomic_compare_exchange_n(
            place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
        )) {
        egb_pages_release_(made, sizeof(egb_leaf));
    }
    return true;
}

// NULL: the system refused.
static egb_unit* make_unit(const void* address)
{
    return make_leaf((uintptr_t)address >> EGB_UNIT_BITS) ? egb_unit_of_(address) : NULL;
}

static void set_unit(egb_unit* unit, const egb_unit* to)
{
    __atomic_store_n(&unit->chunk, to->chunk, __ATOMIC_RELAXED);
    // The system may have had the range from another thread. All that this thread, and those that
    // let go of the chunk before, read here happened before the key was cleared.
    (void)egb_key_at_(unit);
    unit->shape = to->shape;
    EGB_STORE_(unit->blocks, to->blocks);
    EGB_STORE_(unit->block_bytes, to->block_bytes);
    __atomic_store_n(&unit->key, to->key, __ATOMIC_RELEASE);
}

bool egb_chunk_map_set_(void* region, size_t bytes, const egb_unit* unit)
{
    for (size_t offset = 0; offset < bytes; offset += EGB_UNIT_BYTES) {
        egb_unit* const there = make_unit((const char*)region + offset);
        if (there == NULL) {
            return false;  // the caller gives the range back, and so clears it
        }
        set_unit(there, unit);
    }
    return true;
}

void egb_chunk_map_set_key_(const egb_chunk_* chunk, uint64_t key)
{
    for (size_t offset = 0; offset < chunk->range.bytes; offset += EGB_UNIT_BYTES) {
        egb_unit* const unit = egb_unit_of_((const char*)chunk->range.start + offset);
        __atomic_store_n(&unit->key, key, __ATOMIC_RELEASE);
    }
}

void egb_chunk_map_forget_(const egb_chunk_* chunk)
{
    for (size_t offset = 0; offset < chunk->range.bytes; offset += EGB_UNIT_BYTES) {
        EGB_STORE_(egb_unit_of_((const char*)chunk->range.start + offset)->blocks, 0);
    }
}

void egb_chunk_map_clear_(void* region, size_t bytes)
{
    for (size_t offset = 0; offset < bytes; offset += EGB_UNIT_BYTES) {
        egb_unit* const unit = egb_unit_of_((const char*)region + offset);
        if (unit != NULL) {
            __atomic_store_n(&unit->key, 0, __ATOMIC_RELEASE);
            __atomic_store_n(&unit->chunk, NULL, __ATOMIC_RELEASE);
        }
    }
}

// A pool's slot, and its entries in the map, stay until its last chunk is gone.
uint32_t egb_chunk_map_slot_(const void* address)
{
    const egb_unit* const unit = egb_unit_of_(address);
    return unit == NULL ? 0 : (uint32_t)egb_key_at_(unit);
}

egb_chunk_* egb_chunk_map_find_(uint64_t key, const void* address)
{
    const egb_unit* const unit = egb_unit_of_(address);
    const uint32_t        slot = unit == NULL ? 0 : (uint32_t)egb_key_at_(unit);
    return slot == 0 || slot / EGB_SLOT_STEP_ != (uint32_t)key / EGB_SLOT_STEP_
               ? NULL
               : __atomic_load_n(&unit->chunk, __ATOMIC_RELAXED);
}

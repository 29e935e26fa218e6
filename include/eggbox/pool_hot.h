// SPDX-License-Identifier: MIT
// Layer hosted: the hot path of pool.h, which includes this file. Everything here is private.
#ifndef EGGBOX_POOL_HOT_H
#define EGGBOX_POOL_HOT_H

#include "eggbox/pool.h"

#if defined(__cplusplus)
extern "C" {
#endif

// A magazine's entries are written by its thread alone. Other threads, with the pool's lock held,
// read `top` and the entries below it, and write `bottom`, `full`, `key`, `checked` and `limit`: to
// take blocks out, and to end the magazine when its pool is destroyed. Hence the atomic accesses:
// plain moves on x86-64, where some plain accesses would have been part of another instruction.
#define EGB_LOAD_(place)         __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define EGB_STORE_(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)

// A free block in a magazine, and the byte that says so.
typedef struct egb_entry_ {
    void*          block;
    unsigned char* state;
} egb_entry_;

// The states of a block. Fresh ones are zero, as the system's memory is.
#define EGB_STATE_LIVE_ 1u
#define EGB_STATE_FREE_ 2u

// Addresses of entries are numbers, because another thread sets `bottom` to one beyond all of them.
typedef struct egb_magazine_ {
    EGB_ALIGNAS_(8) uint64_t key;      // the pool's handle; EGB_NO_KEY_: this magazine is no pool's
    EGB_ALIGNAS_(8) uint64_t checked;  // the same if the pool's level is check, else EGB_NO_KEY_
    uintptr_t top;                     // behind the newest entry
    uintptr_t bottom;  // the oldest entry; INTPTR_MAX while another thread takes entries
    uintptr_t full;    // where top cannot go further; 0: revoked
    EGB_ALIGNAS_(8) uint64_t allocations;
    // The chunk that a block was freed to last: enough of it to find its blocks' states.
    uintptr_t      first;
    size_t         inverse;
    unsigned char* states;  // at level "off": one byte that nobody asks
    uint32_t       limit;   // blocks of the chunk; 0: no chunk
    uint8_t        shift;
    // Not for the hot path.
    struct egb_control* control;  // the pool's; NULL: this magazine is no pool's
    struct egb_batch*   loaded;   // has the entries
    struct egb_batch*   spare;    // full or empty; NULL: none
    uintptr_t           lowest;   // what `bottom` is when no other thread takes entries
    size_t              wish;     // blocks to get at the next refill
    size_t              unused;   // 128 bytes on 64-bit machines
} egb_magazine_;

// A thread's magazines, found by a part of the pool's slot. One thread-local pointer leads to them.
// It starts at one that belongs to no thread and no pool, so that the first use of a thread falls
// into the cold path by itself.
typedef struct egb_thread_ {
    uint32_t            mask;     // of a slot
    uint32_t            revoked;  // not 0: a pool that has a magazine here was destroyed
    size_t              bytes;    // of this and the magazines
    struct egb_thread_* next;     // of all threads
    struct egb_thread_* previous;
    uint64_t            unused[12];    // so that a magazine is two cache lines
    egb_magazine_       magazines[1];  // mask + 1 of them
} egb_thread_;

// In no handle: there is no generation 0.
#define EGB_NO_KEY_ ((uint64_t)UINT32_MAX)

#if defined(_WIN32)
egb_thread_* egb_thread_self_(void);
#else
extern __thread egb_thread_* egb_thread_here_ __attribute__((tls_model("initial-exec")));

EGB_INLINE egb_thread_* egb_thread_self_(void)
{
    return egb_thread_here_;
}
#endif

EGB_COLD void* egb_pool_alloc_cold_(egb_pool pool);
EGB_COLD void  egb_pool_free_cold_(egb_pool pool, void* block);

EGB_INLINE uint64_t egb_pool_key_(egb_pool pool)
{
    return (uint64_t)pool.generation << 32 | pool.slot;
}

// A compiler that knows how the address came about computes it anew for each field.
EGB_INLINE egb_magazine_* egb_magazine_of_(egb_thread_* thread, egb_pool pool)
{
    size_t offset = (pool.slot & thread->mask) * sizeof(egb_magazine_);
    EGB_OPAQUE_(offset);
    egb_magazine_* magazine = (egb_magazine_*)(void*)((char*)thread->magazines + offset);
    EGB_OPAQUE_(magazine);
    return magazine;
}

// Takes the newest entry off. False, and nothing has changed, if there is none, or another thread
// is taking them. The order matters: first lower `top`, then look at `bottom`. The other thread
// does the opposite, with a fence for both in between: so one of the two sees the other.
EGB_INLINE bool egb_magazine_pop_(egb_magazine_* magazine, void** block)
{
    const uintptr_t top = EGB_LOAD_(magazine->top) - sizeof(egb_entry_);
    __atomic_store_n(&magazine->top, top, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (EGB_UNLIKELY((intptr_t)top < (intptr_t)EGB_LOAD_(magazine->bottom))) {
        EGB_STORE_(magazine->top, top + sizeof(egb_entry_));
        return false;
    }
    const egb_entry_* const entry = (const egb_entry_*)top;
    EGB_STORE_(magazine->allocations, magazine->allocations + 1);
    EGB_STORE_(*entry->state, EGB_STATE_LIVE_);
    *block = entry->block;
    return true;
}

// Whether `block` is in the chunk freed to last, and in use: then `*state` is the byte that says
// so.
EGB_INLINE bool
egb_magazine_find_(const egb_magazine_* magazine, const void* block, unsigned char** state)
{
    const size_t distance = (size_t)((uintptr_t)block - magazine->first);
    const size_t index    = egb_rotate_right_(distance * magazine->inverse, magazine->shift);
    if (EGB_UNLIKELY(index >= EGB_LOAD_(magazine->limit))) {
        return false;
    }
    *state = magazine->states + index;
    return EGB_LOAD_(**state) == EGB_STATE_LIVE_;
}

EGB_INLINE bool egb_magazine_push_(egb_magazine_* magazine, void* block, unsigned char* state)
{
    const uintptr_t top = EGB_LOAD_(magazine->top);
    if (EGB_UNLIKELY(top >= EGB_LOAD_(magazine->full))) {
        return false;
    }
    egb_entry_* const entry = (egb_entry_*)top;
    EGB_STORE_(*state, EGB_STATE_FREE_);
    EGB_STORE_(entry->block, block);  // two stores: a load of half of one has to wait for it
    EGB_STORE_(entry->state, state);
    __atomic_store_n(&magazine->top, top + sizeof(egb_entry_), __ATOMIC_RELEASE);
    return true;
}

EGB_INLINE void* egb_pool_alloc(egb_pool pool)
{
    egb_magazine_* const magazine = egb_magazine_of_(egb_thread_self_(), pool);
    void*                block;
    if (EGB_UNLIKELY(
            EGB_LOAD_(magazine->key) != egb_pool_key_(pool) || !egb_magazine_pop_(magazine, &block)
        )) {
        return egb_pool_alloc_cold_(pool);
    }
    return block;
}

// Whether the magazine took the block.
EGB_INLINE bool egb_magazine_give_(egb_magazine_* magazine, void* block, bool is_checked)
{
    unsigned char* state = magazine->states;
    if (EGB_UNLIKELY(!is_checked)) {
        return block != NULL && egb_magazine_push_(magazine, block, state);
    }
    return egb_magazine_find_(magazine, block, &state) &&
           egb_magazine_push_(magazine, block, state);
}

// Whether the thread's magazine took it. The first comparison is the handle's, too.
EGB_INLINE bool egb_pool_free_hot_(egb_pool pool, void* block)
{
    egb_magazine_* const magazine   = egb_magazine_of_(egb_thread_self_(), pool);
    const uint64_t       key        = egb_pool_key_(pool);
    const bool           is_checked = EGB_LOAD_(magazine->checked) == key;
    if (EGB_UNLIKELY(!is_checked && EGB_LOAD_(magazine->key) != key)) {
        return false;
    }
    return egb_magazine_give_(magazine, block, is_checked);
}

EGB_INLINE void egb_pool_free(egb_pool pool, void* block)
{
    if (EGB_UNLIKELY(!egb_pool_free_hot_(pool, block))) {
        egb_pool_free_cold_(pool, block);
    }
}

// ---- owned magazines ----------------------------------------------------------------------------

struct egb_cache {
    egb_magazine_ magazine;  // all zero: not open
    egb_pool      pool;
    egb_cache*    next;  // of all open caches
    egb_cache*    previous;
};

EGB_COLD void* egb_cache_alloc_cold_(egb_cache* cache);
EGB_COLD void  egb_cache_free_cold_(egb_cache* cache, void* block);

EGB_INLINE void* egb_cache_alloc(egb_cache* cache)
{
    void* block;
    if (EGB_UNLIKELY(!egb_magazine_pop_(&cache->magazine, &block))) {
        return egb_cache_alloc_cold_(cache);
    }
    return block;
}

EGB_INLINE void egb_cache_free(egb_cache* cache, void* block)
{
    const bool is_checked = EGB_LOAD_(cache->magazine.checked) != EGB_NO_KEY_;
    if (EGB_UNLIKELY(!egb_magazine_give_(&cache->magazine, block, is_checked))) {
        egb_cache_free_cold_(cache, block);
    }
}

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_POOL_HOT_H

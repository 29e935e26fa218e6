// SPDX-License-Identifier: MIT
// Layer hosted: the hot path of pool.h, which includes this file. Everything here is private.
#ifndef EGGBOX_POOL_HOT_H
#define EGGBOX_POOL_HOT_H

#include "atomic_hot.h"
#include "growing.h"
#include "pool.h"

EGB_C_BEGIN_

// Only its thread fills a magazine's entries. Other threads, with the pool's lock held, read `top`
// and the entries below it, and write the bottoms, `full` and the keys: to take blocks out, and to
// end the magazine when its pool is destroyed. They invalidate entries: in a trim those above `top`
// whose blocks go back, at the end of the pool all. If a pool has run out of blocks, they exchange
// `top` (src/hosted/cache/tight.h).
//
// Level "off" has no test of its own in alloc: it shares a test with the other levels. At "off"
// `bottom` is the end of the entries, and the only bound. From level "check" on no entry is above
// `bottom`: the first comparison leads to the second, with `bottom_checked`. In free the handle
// tells the level.

// A free block in a magazine, and its state byte. Popped entries are left in place above `top`. A
// LIFO free therefore finds its block, and the block's state byte, at `top`.
typedef struct egb_entry_ {
    void*          block;
    unsigned char* state;  // at level "off" a byte of no block
} egb_entry_;

// The states of a block. Fresh ones are zero, as the system's memory is.
#define EGB_STATE_LIVE_   1u
#define EGB_STATE_FREE_   2u
#define EGB_STATE_RESTED_ 3u  // free, in a magazine, and not taken since: src/hosted/cache/peak.h

// Beside EGB_STATE_LIVE_, at level "sample": a sampled block, which no hot path takes back.
#define EGB_STATE_SAMPLE_ 0x20u

// Addresses of entries are numbers: another thread sets `bottom` to a number beyond all of them.
typedef struct egb_magazine_ {
    EGB_ALIGNAS_(8) uint64_t key;  // the pool's handle; EGB_NO_KEY_: this magazine is no pool's
    uintptr_t top;                 // behind the newest entry; 0: there are no entries
    uintptr_t bottom;              // the oldest entry; INTPTR_MAX: none may be taken unchecked
    uintptr_t bottom_checked;      // the oldest entry; INTPTR_MAX: none may be taken
    uintptr_t full;                // the upper end, past which top must not go
    EGB_ALIGNAS_(8) uint64_t frees;
    // Not for the hot path of this file.
    uint64_t chunk_key;        // chunk-map key of the chunks whose blocks it may hand out again; at
                               // level "off" the key of all the pool's chunks
    struct egb_depot* depot;   // the pool's; NULL: this magazine is no pool's
    struct egb_batch* loaded;  // has the entries
    struct egb_batch* spare;   // as a rule full or empty; NULL: none
    uintptr_t         lowest;  // the oldest entry when no other thread takes them
    uint8_t           refill_max;     // blocks to get at the next refill; 0: the first one
    bool              is_unsure;      // counted in its depot's `unsure`: src/hosted/cache/tight.h
    uint8_t           lane;           // the magazine's lane in its depot
    uint8_t           remote_length;  // length of the next batch for blocks of other lanes' chunks
    uint32_t          remote_first;   // index of its oldest entry: another thread took those before
    struct egb_batch* remote;         // blocks of other lanes' chunks; NULL: none yet
    uintptr_t         remote_top;     // behind its newest entry
    uintptr_t         remote_full;    // upper end of its entries
    // [0]: a sum over `top` and `frees` when the purge looked last. The rest is unused.
    uint64_t seen[sizeof(void*) == 8 ? 1 : 6];
} egb_magazine_;

// A slot is the distance of its pool's magazine from the first magazine: it is added, and nothing
// else is computed. The lowest bit says that the pool's level is not "off".
enum { EGB_SLOT_STEP_ = 128, EGB_SLOT_CHECKED_ = 1 };
EGB_STATIC_ASSERT(sizeof(egb_magazine_) == EGB_SLOT_STEP_, "a slot counts magazines");

// Pools whose slots are this far apart share a magazine. Most of a table is never touched. The C
// library's malloc has the heap's pools, and no others.
#if defined(EGB_IS_MALLOC) && EGB_IS_MALLOC
enum { EGB_THREAD_MAGAZINES_ = 1024 };
#elif UINTPTR_MAX > UINT32_MAX
enum { EGB_THREAD_MAGAZINES_ = 16384 };
#else
enum { EGB_THREAD_MAGAZINES_ = 512 };
#endif

// A thread's magazines. One thread-local pointer leads to them. It starts at a table that belongs
// to no thread and no pool: the first use of a thread therefore falls into the cold path.
typedef struct egb_thread_ {
    uint32_t            used;     // magazines from the first on that a pool may have
    uint32_t            revoked;  // not 0: a pool that has a magazine here was destroyed
    size_t              lane;     // this thread's lane in every depot
    struct egb_thread_* next;     // in the list of all threads
    struct egb_thread_* previous;
    size_t              room_bytes;  // bytes of blocks that its loaded batches have room for
    uint64_t            unused[sizeof(void*) == 8 ? 11 : 12];  // a magazine is two cache lines
    egb_magazine_       magazines[EGB_THREAD_MAGAZINES_];
} egb_thread_;

// In no handle: there is no generation 0.
#define EGB_NO_KEY_ UINT64_C(0xFFFFFFFF)

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
EGB_COLD void* egb_pool_alloc_cold_at_(egb_pool pool, const char* file, unsigned line);
void           egb_pool_free_other_(egb_pool pool, void* block);  // not the last one taken
EGB_COLD void  egb_pool_free_cold_(egb_pool pool, void* block);

// Bytes of a block in use of a pool without red zones, as far as the map alone knows it: no lock,
// and neither the chunk's header nor the control block, which are in no cache as a rule. 0: ask
// others.
size_t egb_plain_bytes_(const void* block);

// The key of the pool that the map knows at an address, which is in a block in use; it takes no
// lock. 0: ask egb_pool_of(), which asks others, too.
uint64_t egb_mapped_key_(const void* block);

// If a handle is in memory, compilers load it once for its slot and once more as a whole. The
// opaque key hides that the slot is part of it. The key replaces the handle: the handle need not be
// kept.
EGB_INLINE uint64_t egb_pool_key_(egb_pool pool)
{
    uint64_t key = (uint64_t)pool.generation << 32 | pool.slot;
    if (sizeof(void*) == sizeof key) {
        EGB_OPAQUE_(key);
    }
    return key;
}

EGB_INLINE egb_pool egb_pool_of_key_(uint64_t key)
{
    const egb_pool pool = {(uint32_t)key, (uint32_t)(key >> 32)};
    return pool;
}

EGB_INLINE bool egb_key_is_checked_(uint64_t key)
{
    return (key & EGB_SLOT_CHECKED_) != 0;
}

// A compiler that sees how the address is computed would compute it anew for each field.
EGB_INLINE egb_magazine_* egb_magazine_in_(egb_thread_* thread, uint64_t key)
{
    const uint32_t places = (uint32_t)EGB_THREAD_MAGAZINES_ * EGB_SLOT_STEP_ - EGB_SLOT_STEP_;
    egb_magazine_* magazine =
        (egb_magazine_*)(void*)((char*)thread->magazines + ((uint32_t)key & places));
    EGB_OPAQUE_(magazine);
    return magazine;
}

EGB_INLINE egb_magazine_* egb_magazine_of_key_(uint64_t key)
{
    return egb_magazine_in_(egb_thread_self_(), key);
}

// Takes the newest entry off. False, and nothing has changed, if there is none, or another thread
// is taking them. The order matters: first lower `top`, then read a bottom. The other thread does
// the opposite, with a fence for both in between: one of the two therefore sees the other.
EGB_INLINE bool egb_magazine_pop_(egb_magazine_* magazine, void** block)
{
    const uintptr_t top = EGB_LOAD_(magazine->top) - sizeof(egb_entry_);
    __atomic_store_n(&magazine->top, top, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const egb_entry_* const entry = (const egb_entry_*)top;
    if (egb_is_above_(&magazine->bottom, top)) {
        if (EGB_UNLIKELY(egb_is_above_(&magazine->bottom_checked, top))) {
            EGB_STORE_(magazine->top, top + sizeof(egb_entry_));
            return false;
        }
        EGB_STORE_(*EGB_LOAD_(entry->state), EGB_STATE_LIVE_);
    }
    *block = EGB_LOAD_(entry->block);
    return true;
}

// Puts the block that was taken last on top again: its entry is still in place. False, and nothing
// has changed, if `block` is another block, or free already. An entry of no block stands at the
// upper end, past which `top` must not go. Frees are counted, and the count is stored last: no
// other store then separates the two stores to a state (docs/decisions/0019). The number of
// allocations follows from the frees.
EGB_INLINE bool egb_magazine_undo_(egb_magazine_* magazine, void* block, bool is_checked)
{
    const uintptr_t         top   = EGB_LOAD_(magazine->top);
    const egb_entry_* const entry = (const egb_entry_*)top;
    if (EGB_UNLIKELY(!egb_block_is_(&entry->block, block))) {
        return false;
    }
    if (is_checked) {
        unsigned char* const state = EGB_LOAD_(entry->state);
        if (EGB_UNLIKELY(!egb_state_is_(state, EGB_STATE_LIVE_))) {
            return false;
        }
        EGB_STORE_(*state, EGB_STATE_FREE_);
    }
    __atomic_store_n(&magazine->top, top + sizeof(egb_entry_), __ATOMIC_RELEASE);
    egb_count_one_(&magazine->frees);
    return true;
}

// Takes a block out of this thread's magazine of the pool. False: the magazine has none.
EGB_INLINE bool egb_pool_pop_(uint64_t key, void** block)
{
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    return EGB_LIKELY(egb_key_is_(&magazine->key, key) && egb_magazine_pop_(magazine, block));
}

EGB_INLINE_PUBLIC void* egb_pool_alloc(egb_pool pool)
{
    const uint64_t key = egb_pool_key_(pool);
    void*          block;
    return egb_pool_pop_(key, &block) ? block : egb_pool_alloc_cold_(egb_pool_of_key_(key));
}

// Puts back the block that this thread took last. False: it is another block, or free already, or
// the magazine is no longer this pool's. The bit in the handle is tested first. Compilers would
// compare the keys before that, once for both cases, and keep the result: the fence prevents it.
EGB_INLINE bool egb_pool_undo_(egb_magazine_* magazine, uint64_t key, void* block)
{
    if (!egb_key_is_checked_(key)) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        return EGB_LIKELY(egb_key_is_(&magazine->key, key)) &&
               egb_magazine_undo_(magazine, block, false);
    }
    return EGB_LIKELY(egb_key_is_(&magazine->key, key)) &&
           egb_magazine_undo_(magazine, block, true);
}

EGB_INLINE_PUBLIC void egb_pool_free(egb_pool pool, void* block)
{
    const uint64_t key = egb_pool_key_(pool);
    if (EGB_UNLIKELY(!egb_pool_undo_(egb_magazine_of_key_(key), key, block))) {
        egb_pool_free_other_(egb_pool_of_key_(key), block);
    }
}

// ---- owned magazines ----------------------------------------------------------------------------

struct egb_magazine {
    egb_magazine_ magazine;  // all zero: not open
    egb_pool      pool;
    egb_magazine* next;  // in the list of all open caches
    egb_magazine* previous;
    bool          is_unchecked;  // the cache is open, and the pool's level is "off"
};

EGB_COLD void* egb_magazine_alloc_cold_(egb_magazine* cache);
void           egb_magazine_free_other_(egb_magazine* cache, void* block);

EGB_INLINE_PUBLIC void* egb_magazine_alloc(egb_magazine* cache)
{
    void* block;
    if (EGB_UNLIKELY(!egb_magazine_pop_(&cache->magazine, &block))) {
        return egb_magazine_alloc_cold_(cache);
    }
    return block;
}

EGB_INLINE bool egb_magazine_undo_owned_(egb_magazine* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    if (cache->is_unchecked) {
        return egb_magazine_undo_(magazine, block, false);
    }
    return EGB_LIKELY(EGB_LOAD_(magazine->top) != 0) && egb_magazine_undo_(magazine, block, true);
}

EGB_INLINE_PUBLIC void egb_magazine_free(egb_magazine* cache, void* block)
{
    if (EGB_UNLIKELY(!egb_magazine_undo_owned_(cache, block))) {
        egb_magazine_free_other_(cache, block);
    }
}

EGB_C_END_

#endif  // EGGBOX_POOL_HOT_H

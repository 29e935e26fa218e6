// SPDX-License-Identifier: MIT
// Layer hosted: the hot path of heap.h, which includes this file. Everything here is private.
#ifndef EGGBOX_HEAP_HOT_H
#define EGGBOX_HEAP_HOT_H

#include "eggbox/heap.h"

#if defined(__cplusplus)
extern "C" {
#endif

// Sizes up to this find their pool in a table, one entry for each 16 bytes.
enum { EGB_HEAP_STEP_BYTES_ = 16, EGB_HEAP_SMALL_BYTES_ = 1024 };

// The keys of the pools of small sizes. Null pools at first, and for as long as requests are
// measured: in no thread's magazine, they send each call to the cold path without a test of their
// own. Atomic.
EGB_ALIGNAS_(8) extern uint64_t egb_heap_small_[EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ + 1];

EGB_COLD void* egb_malloc_cold_(size_t bytes);  // of a class, or large
void*          egb_malloc_more_(size_t bytes);  // more than small

// Takes a block out of this thread's magazine of the pool. False: it has none.
EGB_INLINE bool egb_heap_pop_(uint64_t key, void** block)
{
    const egb_pool       pool     = {(uint32_t)key, (uint32_t)(key >> 32)};
    egb_magazine_* const magazine = egb_magazine_of_(egb_thread_self_(), pool);
    return EGB_LIKELY(
        EGB_LOAD_(magazine->key) == key &&
        egb_magazine_pop_(magazine, block, egb_pool_is_checked_(pool))
    );
}

EGB_INLINE void* egb_malloc(size_t bytes)
{
    if (EGB_UNLIKELY(bytes > EGB_HEAP_SMALL_BYTES_)) {
        return egb_malloc_more_(bytes);
    }
    // The comparison is made once; compilers that do not optimise warn where it is only above.
    const size_t step = bytes > EGB_HEAP_SMALL_BYTES_
                            ? 0
                            : (bytes + EGB_HEAP_STEP_BYTES_ - 1) / EGB_HEAP_STEP_BYTES_;
    void*        block;
    return egb_heap_pop_(EGB_LOAD_(egb_heap_small_[step]), &block) ? block
                                                                   : egb_malloc_cold_(bytes);
}

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_HEAP_HOT_H

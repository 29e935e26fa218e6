// SPDX-License-Identifier: MIT
// In place of the compiler's header, for the sources of the shared layer: each atomic operation is
// a step of the explorer, which decides which process goes on next, and on which memory.
#ifndef EGGBOX_TESTS_SHARED_EXPLORE_STDATOMIC_H
#define EGGBOX_TESTS_SHARED_EXPLORE_STDATOMIC_H

#include "explore.h"

#define ATOMIC_LLONG_LOCK_FREE 2
#define ATOMIC_INT_LOCK_FREE   2

typedef enum memory_order {
    memory_order_relaxed,
    memory_order_acquire,
    memory_order_release,
    memory_order_seq_cst
} memory_order;

static inline bool explore_compare_(
    volatile const void* at, size_t bytes, void* expected, uint64_t wanted, const char* function
)
{
    const uint64_t before = bytes == 4 ? *(uint32_t*)expected : *(uint64_t*)expected;
    const uint64_t found =
        explore_step(EXPLORE_COMPARE, at, memory_order_seq_cst, wanted, before, function);
    if (bytes == 4) {
        *(uint32_t*)expected = (uint32_t)found;
    } else {
        *(uint64_t*)expected = found;
    }
    return found == before;
}

#define EXPLORE_VALUE_(kind, at, value, order)                                                 \
    ((__typeof__(+*(at)))explore_step(kind, at, (int)(order), (uint64_t)(value), 0, __func__))

#define atomic_load_explicit(at, order) EXPLORE_VALUE_(EXPLORE_LOAD, at, 0, order)
#define atomic_load(at)                 EXPLORE_VALUE_(EXPLORE_LOAD, at, 0, memory_order_seq_cst)
#define atomic_store_explicit(at, value, order)             \
    ((void)EXPLORE_VALUE_(EXPLORE_STORE, at, value, order))
#define atomic_store(at, value)     atomic_store_explicit(at, value, memory_order_seq_cst)
#define atomic_fetch_add(at, value) EXPLORE_VALUE_(EXPLORE_ADD, at, value, memory_order_seq_cst)
#define atomic_fetch_or(at, value)  EXPLORE_VALUE_(EXPLORE_OR, at, value, memory_order_seq_cst)
#define atomic_fetch_and(at, value) EXPLORE_VALUE_(EXPLORE_AND, at, value, memory_order_seq_cst)
#define atomic_compare_exchange_strong(at, expected, wanted)       \
    explore_compare_(at, sizeof *(at), expected, wanted, __func__)
#define atomic_compare_exchange_weak atomic_compare_exchange_strong

#endif  // EGGBOX_TESTS_SHARED_EXPLORE_STDATOMIC_H

// SPDX-License-Identifier: MIT
// Layer hosted: words that threads share, for hot paths. Everything here is private.
//
// All accesses are atomic, and relaxed. Compilers make a separate instruction of every atomic load,
// while a plain load would be part of its comparison: that is 8 of the 47 instructions of a pool's
// alloc and free on x86-64 (docs/decisions/0013). There the comparison is written in assembler. It
// is as atomic: an aligned word is read at once. ThreadSanitizer does not see reads in assembler,
// and gets the code of all other machines.
#ifndef EGGBOX_ATOMIC_HOT_H
#define EGGBOX_ATOMIC_HOT_H

#include "base.h"

#include <stdbool.h>
#include <stdint.h>

EGB_QUIET_BEGIN_

#define EGB_LOAD_(place)         __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define EGB_STORE_(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)

#if defined(__SANITIZE_THREAD__)
  #define EGB_HAS_TSAN_ 1
#elif defined(__has_feature)
  #if __has_feature(thread_sanitizer)
    #define EGB_HAS_TSAN_ 1
  #endif
#endif

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && \
    !defined(EGB_HAS_TSAN_)

EGB_INLINE bool egb_key_is_(const uint64_t* place, uint64_t key)
{
    bool is;
    __asm__ volatile("{cmpq %2, %1|cmp %1, %2}" : "=@cce"(is) : "m"(*place), "r"(key));
    return is;
}

EGB_INLINE bool egb_block_is_(void* const* place, const void* block)
{
    bool is;
    __asm__ volatile("{cmpq %2, %1|cmp %1, %2}" : "=@cce"(is) : "m"(*place), "r"(block));
    return is;
}

EGB_INLINE bool egb_state_is_(const unsigned char* place, unsigned char state)
{
    bool is;
    __asm__ volatile("{cmpb %2, %1|cmp byte ptr %1, %2}" : "=@cce"(is) : "m"(*place), "iq"(state));
    return is;
}

// True if `place` is above `address`, as signed numbers, because `address` may be below 0.
EGB_INLINE bool egb_is_above_(const uintptr_t* place, uintptr_t address)
{
    bool is;
    __asm__ volatile("{cmpq %2, %1|cmp %1, %2}" : "=@ccg"(is) : "m"(*place), "r"(address));
    return is;
}

// Adds one to a number that this thread alone writes.
EGB_INLINE void egb_count_one_(uint64_t* place)
{
    __asm__ volatile("{addq $1, %0|add qword ptr %0, 1}" : "+m"(*place) : : "cc");
}

#else

EGB_INLINE bool egb_key_is_(const uint64_t* place, uint64_t key)
{
    return EGB_LOAD_(*place) == key;
}

EGB_INLINE bool egb_block_is_(void* const* place, const void* block)
{
    return EGB_LOAD_(*place) == block;
}

EGB_INLINE bool egb_state_is_(const unsigned char* place, unsigned char state)
{
    return EGB_LOAD_(*place) == state;
}

// True if `place` is above `address`, as signed numbers.
EGB_INLINE bool egb_is_above_(const uintptr_t* place, uintptr_t address)
{
    return (intptr_t)EGB_LOAD_(*place) > (intptr_t)address;
}

// Adds one to a number that this thread alone writes.
EGB_INLINE void egb_count_one_(uint64_t* place)
{
    EGB_STORE_(*place, *place + 1);
}

#endif

EGB_QUIET_END_

#endif  // EGGBOX_ATOMIC_HOT_H

// SPDX-License-Identifier: MIT
// Requests before the library is ready. Nothing here calls a function of another library, nor reads
// a variable of one.
#include "early.h"

#if EGB_IS_MALLOC

  #include "../../core/util.h"

enum { EARLY_BYTES = 1 << 20, EARLY_ALIGN = 16 };

// Before each block.
typedef struct early_head {
    EGB_ALIGNAS_(16) size_t bytes;
} early_head;

bool egb_early_is_over_;

EGB_ALIGNAS_(16) static unsigned char memory[EARLY_BYTES];  // no page of it is there before its use
EGB_AMONG_DATA_ static size_t used;                         // atomic

void* egb_early_alloc_(size_t align, size_t bytes)
{
    align = align < EARLY_ALIGN ? EARLY_ALIGN : align;
    if (bytes > EARLY_BYTES || align > EARLY_BYTES) {
        return NULL;
    }
    // At least one byte: the next block has another address.
    const size_t    room  = egb_round_up_(bytes == 0 ? 1 : bytes, EARLY_ALIGN);
    const size_t    whole = sizeof(early_head) + align - EARLY_ALIGN + room;
    const size_t    from  = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    const uintptr_t first = (uintptr_t)memory + from + sizeof(early_head);
    const uintptr_t block = (first + align - 1) & ~(uintptr_t)(align - 1);
    if (from + whole > EARLY_BYTES) {
        (void)__atomic_fetch_sub(&used, whole, __ATOMIC_RELAXED);
        return NULL;
    }
    ((early_head*)block - 1)->bytes = room;
    return (void*)block;
}

size_t egb_early_bytes_(const void* block)
{
    const size_t from      = (uintptr_t)block - (uintptr_t)memory;
    const bool   is_inside = from >= sizeof(early_head) && from < EARLY_BYTES;
    return is_inside ? ((const early_head*)block - 1)->bytes : 0;
}

// The compiler must not make a call of memcpy() of it, which is another library's.
void egb_early_copy_(void* to, size_t bytes, const void* block)
{
    const size_t whole = egb_smaller_(bytes, egb_early_bytes_(block));
    for (size_t i = 0; i < whole; i++) {
        ((volatile unsigned char*)to)[i] = ((const unsigned char*)block)[i];
    }
}

const void* egb_early_memory_(size_t* bytes)
{
    *bytes = egb_smaller_(EGB_LOAD_(used), EARLY_BYTES);
    return memory;
}

#endif

// SPDX-License-Identifier: MIT
// Room region: the memory for requests that come before the library may ask anybody for anything.
//
// A library that is the C library's malloc can be called before it is ready: by a resolver of an
// IFUNC, before the loader has relocated this library, when no other library's function and no
// variable outside can be reached; and by the functions that are called to make it ready, if
// another library stands before the C library's. Until it is ready, requests are served out of 1
// MiB of static memory, one behind the other. Freeing such a block does nothing; its memory is not
// reused.
#ifndef EGGBOX_SRC_HOSTED_REGION_EARLY_H
#define EGGBOX_SRC_HOSTED_REGION_EARLY_H

#include "../../os/os.h"
#include "eggbox/atomic_hot.h"

#if EGB_IS_MALLOC

extern bool egb_early_is_over_;  // atomic

static inline bool egb_is_early_(void)
{
    return EGB_UNLIKELY(!EGB_LOAD_(egb_early_is_over_));
}

// A block that is all zero, aligned to a power of two. NULL: there is no room for it.
void* egb_early_alloc_(size_t align, size_t bytes);

// The bytes of an early block; 0: the address is of none.
size_t egb_early_bytes_(const void* block);

// Copies an early block, as much as fits.
void egb_early_copy_(void* to, size_t bytes, const void* block);

// The memory of all early blocks, and its bytes.
const void* egb_early_memory_(size_t* bytes);

#else

static inline bool egb_is_early_(void)
{
    return false;
}

static inline void* egb_early_alloc_(size_t align, size_t bytes)
{
    (void)align;
    (void)bytes;
    return NULL;
}

static inline size_t egb_early_bytes_(const void* block)
{
    (void)block;
    return 0;
}

static inline void egb_early_copy_(void* to, size_t bytes, const void* block)
{
    (void)to;
    (void)bytes;
    (void)block;
}

#endif

#endif  // EGGBOX_SRC_HOSTED_REGION_EARLY_H

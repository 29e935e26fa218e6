// SPDX-License-Identifier: MIT
// Layer override: the allocation functions of glibc, each as a call of heap.h. The rest of this
// file is errno and odd arguments, as the standards and glibc's manual describe them.
//
// The library never asks the malloc that it stands before for memory. A block that is known to be
// that malloc's, because it lies below the program's break, goes back there. Any other pointer from
// elsewhere counts as misuse: free() leaves it alone, realloc() refuses it, and the misuse handler
// is told.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// Else the compiler has to expect that another library has these.
#pragma GCC visibility push(hidden)
#include "eggbox/heap.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

// Not in every C library's headers.
EXPORT void  cfree(void* block);
EXPORT void  free_sized(void* block, size_t bytes);
EXPORT void  free_aligned_sized(void* block, size_t align, size_t bytes);
EXPORT void* reallocarray(void* block, size_t count, size_t bytes);

static void* or_no_memory(void* block)
{
    if (EGB_UNLIKELY(block == NULL)) {
        errno = ENOMEM;
    }
    return block;
}

static bool is_power_of_two(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

// A constructor sets it: a request may come before other libraries can be called. No system has
// longer pages than these.
static size_t page_bytes = (size_t)64 << 10;

__attribute__((constructor(101))) static void find_page_bytes(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
}

// ---- C11, C23 -----------------------------------------------------------------------------------

static __attribute__((noinline)) void* malloc_more(size_t bytes, const void* site)
{
    return or_no_memory(egb_malloc_more_(bytes, site));
}

// As egb_malloc(). A request that needs no call is never refused, so nothing is left to check for
// it, and the rest is a jump.
EXPORT void* malloc(size_t bytes)
{
    void* block;
    return EGB_LIKELY(egb_malloc_pop_(bytes, &block)) ? block : malloc_more(bytes, EGB_CALLER());
}

EXPORT void* calloc(size_t count, size_t bytes)
{
    return or_no_memory(egb_calloc_from_(count, bytes, EGB_CALLER()));
}

// The heap does not touch errno, so free does not either.
EXPORT void free(void* block)
{
    egb_free(block);
}

// realloc() leaves a block where it is as long as more than half of it is used. Its size is right,
// though another class serves that size. From level "guard" on each block moves, and its size is
// known.
static bool may_be_resized(const void* block, size_t bytes)
{
    const size_t room = egb_plain_bytes_(block);
    return bytes <= room && bytes > room / 2;
}

EXPORT void free_sized(void* block, size_t bytes)
{
    if (may_be_resized(block, bytes)) {
        egb_free(block);
    } else {
        egb_free_sized_(block, bytes);
    }
}

// Only blocks of aligned_alloc() come here, which has no block for another alignment than a power
// of two. No block lies at the highest of these.
EXPORT void free_aligned_sized(void* block, size_t align, size_t bytes)
{
    egb_free_aligned_sized_(block, is_power_of_two(align) ? align : SIZE_MAX / 2 + 1, bytes);
}

// With 0 bytes it is free(), as in glibc.
static void* resize(void* block, size_t bytes, const void* site)
{
    if (block != NULL && bytes == 0) {
        egb_free_from_(block, site);
        return NULL;
    }
    void* const other = egb_realloc_from_(block, bytes, site);
    if (EGB_UNLIKELY(other == NULL)) {
        errno = block != NULL && egb_block_bytes(block) == 0 ? EINVAL : ENOMEM;
    }
    return other;
}

EXPORT void* realloc(void* block, size_t bytes)
{
    return resize(block, bytes, EGB_CALLER());
}

EXPORT void* aligned_alloc(size_t align, size_t bytes)
{
    if (!is_power_of_two(align)) {
        errno = EINVAL;
        return NULL;
    }
    return or_no_memory(egb_aligned_alloc_from_(align, bytes, EGB_CALLER()));
}

// ---- POSIX, BSD, glibc --------------------------------------------------------------------------

// Returns the error, and does not set errno.
EXPORT int posix_memalign(void** out, size_t align, size_t bytes)
{
    if (!is_power_of_two(align) || align % sizeof(void*) != 0) {
        return EINVAL;
    }
    void* const block = egb_aligned_alloc_from_(align, bytes, EGB_CALLER());
    if (block == NULL) {
        return ENOMEM;
    }
    *out = block;
    return 0;
}

// An alignment that is no power of two becomes the next one, as glibc has it.
EXPORT void* memalign(size_t align, size_t bytes)
{
    if (align > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t power = 1;
    while (power < align) {
        power *= 2;
    }
    return or_no_memory(egb_aligned_alloc_from_(power, bytes, EGB_CALLER()));
}

EXPORT void* valloc(size_t bytes)
{
    return or_no_memory(egb_aligned_alloc_from_(page_bytes, bytes, EGB_CALLER()));
}

EXPORT void* pvalloc(size_t bytes)
{
    const size_t page = page_bytes;
    if (bytes > PTRDIFF_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    return or_no_memory(
        egb_aligned_alloc_from_(page, (bytes + page - 1) / page * page, EGB_CALLER())
    );
}

EXPORT void* reallocarray(void* block, size_t count, size_t bytes)
{
    size_t whole;
    if (__builtin_mul_overflow(count, bytes, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, whole, EGB_CALLER());
}

EXPORT void cfree(void* block)
{
    egb_free(block);
}

EXPORT size_t malloc_usable_size(void* block)
{
    return block == NULL ? 0 : egb_block_bytes(block);
}

EXPORT int malloc_trim(size_t keep_bytes)
{
    return egb_heap_trim(keep_bytes) != 0;
}

// There is nothing to tune. A program that takes "no" for a failure shall go on.
EXPORT int mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1;
}

// ---- the C library's own names for them ---------------------------------------------------------

// A library that stands before malloc, and a few programs, call these.
#if defined(__clang__)
  #define SAME_AS(function) EXPORT __attribute__((alias(#function)))
#else  // or gcc warns
  #define SAME_AS(function) EXPORT __attribute__((alias(#function), copy(function)))
#endif

SAME_AS(malloc) void* __libc_malloc(size_t bytes);
SAME_AS(calloc) void* __libc_calloc(size_t count, size_t bytes);
SAME_AS(realloc) void* __libc_realloc(void* block, size_t bytes);
SAME_AS(free) void __libc_free(void* block);
SAME_AS(memalign) void* __libc_memalign(size_t align, size_t bytes);
SAME_AS(valloc) void* __libc_valloc(size_t bytes);
SAME_AS(pvalloc) void* __libc_pvalloc(size_t bytes);

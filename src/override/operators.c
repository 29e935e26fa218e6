// SPDX-License-Identifier: MIT
// Layer override: operator new and delete of C++, by their names in object files, in C: so that the
// library needs no C++ library, and C programs get none. The functions of the same names in the
// program's own C++ library handle a refused request, with the new-handler and std::bad_alloc, and
// they come to malloc() in their turn. Compiled with -fexceptions: they throw.
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)
#include "eggbox/heap.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

#if __SIZEOF_SIZE_T__ == __SIZEOF_INT__
  #define SIZE "j"
#else
  #define SIZE "m"
#endif
#define NOTHROW "RKSt9nothrow_t"
#define ALIGN   "St11align_val_t"

// A library that a plugin brought is not in the order in which names are looked up.
static void* find_in_cpp_library(const char* name)
{
    static const char* const libraries[] = {"libstdc++.so.6", "libc++.so.1"};
    void*                    function    = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; function == NULL && i < sizeof libraries / sizeof libraries[0]; i++) {
        void* const library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        function            = library == NULL ? NULL : dlsym(library, name);
    }
    return function;
}

static void* refused(const char* name, size_t bytes)
{
    void* (*next)(size_t);
    *(void**)&next = find_in_cpp_library(name);
    if (next == NULL) {
        abort();
    }
    return next(bytes);
}

static void* refused_nothrow(const char* name, size_t bytes, const void* tag)
{
    void* (*next)(size_t, const void*);
    *(void**)&next = find_in_cpp_library(name);
    return next == NULL ? NULL : next(bytes, tag);
}

static void* refused_aligned(const char* name, size_t bytes, size_t align)
{
    void* (*next)(size_t, size_t);
    *(void**)&next = find_in_cpp_library(name);
    if (next == NULL) {
        abort();
    }
    return next(bytes, align);
}

static void* refused_aligned_nothrow(const char* name, size_t bytes, size_t align, const void* tag)
{
    void* (*next)(size_t, size_t, const void*);
    *(void**)&next = find_in_cpp_library(name);
    return next == NULL ? NULL : next(bytes, align, tag);
}

static __attribute__((noinline)) void* new_more(const char* name, size_t bytes, const void* site)
{
    void* const block = egb_malloc_more_(bytes, site);
    return EGB_LIKELY(block != NULL) ? block : refused(name, bytes);
}

static __attribute__((noinline)) void*
new_more_nothrow(const char* name, size_t bytes, const void* tag, const void* site)
{
    void* const block = egb_malloc_more_(bytes, site);
    return EGB_LIKELY(block != NULL) ? block : refused_nothrow(name, bytes, tag);
}

// ---- new ----------------------------------------------------------------------------------------

#define DEFINE_NEW(name, symbol)                                                              \
    EXPORT void* name(size_t bytes) __asm__(symbol SIZE);                                     \
    void*        name(size_t bytes)                                                           \
    {                                                                                         \
        void* block;                                                                          \
        return EGB_LIKELY(egb_malloc_pop_(bytes, &block))                                     \
                   ? block                                                                    \
                   : new_more(symbol SIZE, bytes, EGB_CALLER());                              \
    }                                                                                         \
    EXPORT void* name##_nothrow(size_t bytes, const void* tag) __asm__(symbol SIZE NOTHROW);  \
    void*        name##_nothrow(size_t bytes, const void* tag)                                \
    {                                                                                         \
        void* block;                                                                          \
        return EGB_LIKELY(egb_malloc_pop_(bytes, &block))                                     \
                   ? block                                                                    \
                   : new_more_nothrow(symbol SIZE NOTHROW, bytes, tag, EGB_CALLER());         \
    }                                                                                         \
    EXPORT void* name##_aligned(size_t bytes, size_t align) __asm__(symbol SIZE ALIGN);       \
    void*        name##_aligned(size_t bytes, size_t align)                                   \
    {                                                                                         \
        void* const block = egb_aligned_alloc_from_(align, bytes, EGB_CALLER());              \
        return block != NULL ? block : refused_aligned(symbol SIZE ALIGN, bytes, align);      \
    }                                                                                         \
    EXPORT void* name##_aligned_nothrow(size_t bytes, size_t align, const void* tag) __asm__( \
        symbol SIZE ALIGN NOTHROW                                                             \
    );                                                                                        \
    void* name##_aligned_nothrow(size_t bytes, size_t align, const void* tag)                 \
    {                                                                                         \
        void* const block = egb_aligned_alloc_from_(align, bytes, EGB_CALLER());              \
        return block != NULL                                                                  \
                   ? block                                                                    \
                   : refused_aligned_nothrow(symbol SIZE ALIGN NOTHROW, bytes, align, tag);   \
    }

DEFINE_NEW(new_one, "_Znw")
DEFINE_NEW(new_array, "_Zna")

// ---- delete -------------------------------------------------------------------------------------

// The heap does not need the size or alignment that follows the block among the arguments. It
// compares them with its own. A tag is left alone.
#define DEFINE_DELETE(name, symbol)                                                              \
    EXPORT void name(void* block) __asm__(symbol);                                               \
    void        name(void* block)                                                                \
    {                                                                                            \
        egb_free(block);                                                                         \
    }                                                                                            \
    EXPORT void name##_nothrow(void* block) __asm__(symbol NOTHROW);                             \
    void        name##_nothrow(void* block)                                                      \
    {                                                                                            \
        egb_free(block);                                                                         \
    }                                                                                            \
    EXPORT void name##_sized(void* block, size_t bytes) __asm__(symbol SIZE);                    \
    void        name##_sized(void* block, size_t bytes)                                          \
    {                                                                                            \
        egb_free_sized_(block, bytes);                                                           \
    }                                                                                            \
    EXPORT void name##_aligned(void* block, size_t align) __asm__(symbol ALIGN);                 \
    void        name##_aligned(void* block, size_t align)                                        \
    {                                                                                            \
        egb_free_aligned_(block, align);                                                         \
    }                                                                                            \
    EXPORT void name##_aligned_nothrow(void* block, size_t align) __asm__(symbol ALIGN NOTHROW); \
    void        name##_aligned_nothrow(void* block, size_t align)                                \
    {                                                                                            \
        egb_free_aligned_(block, align);                                                         \
    }                                                                                            \
    EXPORT void name##_sized_aligned(void* block, size_t bytes, size_t align) __asm__(           \
        symbol SIZE ALIGN                                                                        \
    );                                                                                           \
    void name##_sized_aligned(void* block, size_t bytes, size_t align)                           \
    {                                                                                            \
        egb_free_aligned_sized_(block, align, bytes);                                            \
    }

DEFINE_DELETE(delete_one, "_ZdlPv")
DEFINE_DELETE(delete_array, "_ZdaPv")

// SPDX-License-Identifier: MIT
// AddressSanitizer and Valgrind. AddressSanitizer's functions are there if the program was built
// with it, whatever this library was built with. Valgrind is asked by instructions that do nothing
// elsewhere.
#include "os.h"

#if defined(__has_include)
  #if __has_include(<valgrind/memcheck.h>)
    #include <valgrind/memcheck.h>
    #if !defined(NVALGRIND)  // the header defines it for a processor that Valgrind does not know
      #define EGB_KNOWS_VALGRIND_ 1
    #endif
  #endif
#endif
#if !defined(EGB_KNOWS_VALGRIND_)
  #define EGB_KNOWS_VALGRIND_ 0
#endif

// ---- AddressSanitizer ---------------------------------------------------------------------------

// A library in place of malloc is called before AddressSanitizer is ready.
#if defined(__ELF__) && !EGB_IS_MALLOC
void __asan_poison_memory_region(const volatile void* start, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* start, size_t bytes) __attribute__((weak));
int  __asan_address_is_poisoned(const volatile void* address) __attribute__((weak));

static bool has_sanitizer(void)
{
    return __asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL &&
           __asan_address_is_poisoned != NULL;
}

static void poison(const void* start, size_t bytes)
{
    if (has_sanitizer()) {
        __asan_poison_memory_region(start, bytes);
    }
}

static void unpoison(const void* start, size_t bytes)
{
    if (has_sanitizer()) {
        __asan_unpoison_memory_region(start, bytes);
    }
}

// It can be told not to listen: ASAN_OPTIONS=allow_user_poisoning=0.
static bool sanitizer_listens(void)
{
    static uint64_t probe[2];
    if (!has_sanitizer()) {
        return false;
    }
    poison(probe, sizeof probe);
    const bool listens = __asan_address_is_poisoned(probe) != 0;
    unpoison(probe, sizeof probe);
    return listens;
}
#else
static void poison(const void* start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

static void unpoison(const void* start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

static bool sanitizer_listens(void)
{
    return false;
}
#endif

// ---- Valgrind -----------------------------------------------------------------------------------

#if EGB_KNOWS_VALGRIND_
static bool has_valgrind(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

static void tell_pool(const void* pool, bool is_made)
{
    if (is_made) {
        VALGRIND_CREATE_MEMPOOL(pool, 0, 0);
    } else {
        VALGRIND_DESTROY_MEMPOOL(pool);
    }
}

static void tell_block(const void* pool, const void* block, size_t bytes, bool is_taken)
{
    if (is_taken) {
        VALGRIND_MEMPOOL_ALLOC(pool, block, bytes);
    } else {
        VALGRIND_MEMPOOL_FREE(pool, block);
    }
}

static void tell_open(const void* start, size_t bytes, bool is_open)
{
    if (is_open) {
        (void)VALGRIND_MAKE_MEM_DEFINED(start, bytes);
    } else {
        (void)VALGRIND_MAKE_MEM_NOACCESS(start, bytes);
    }
}
#else
static bool has_valgrind(void)
{
    return false;
}

static void tell_pool(const void* pool, bool is_made)
{
    (void)pool;
    (void)is_made;
}

static void tell_block(const void* pool, const void* block, size_t bytes, bool is_taken)
{
    (void)pool;
    (void)block;
    (void)bytes;
    (void)is_taken;
}

static void tell_open(const void* start, size_t bytes, bool is_open)
{
    (void)start;
    (void)bytes;
    (void)is_open;
}
#endif

// ---- either -------------------------------------------------------------------------------------

bool egb_os_is_watched_(void)
{
    enum { UNKNOWN, NO, YES };
    EGB_AMONG_DATA_ static unsigned char answer;  // atomic; the same whoever finds it out
    unsigned char                        known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == UNKNOWN) {
        known = sanitizer_listens() || has_valgrind() ? YES : NO;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known == YES;
}

void egb_os_watch_pool_(const void* pool, bool is_made)
{
    if (egb_os_is_watched_()) {
        tell_pool(pool, is_made);
    }
}

void egb_os_watch_taken_(const void* pool, const void* block, size_t bytes)
{
    if (egb_os_is_watched_()) {
        unpoison(block, bytes);
        tell_block(pool, block, bytes, true);
    }
}

void egb_os_watch_given_(const void* pool, const void* block, size_t bytes)
{
    if (egb_os_is_watched_()) {
        poison(block, bytes);
        tell_block(pool, block, bytes, false);
    }
}

void egb_os_watch_open_(const void* start, size_t bytes)
{
    if (egb_os_is_watched_()) {
        unpoison(start, bytes);
        tell_open(start, bytes, true);
    }
}

void egb_os_watch_close_(const void* start, size_t bytes)
{
    if (egb_os_is_watched_()) {
        poison(start, bytes);
        tell_open(start, bytes, false);
    }
}

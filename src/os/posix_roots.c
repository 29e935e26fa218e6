// SPDX-License-Identifier: MIT
// The ranges that LeakSanitizer is told of when the process ends, before it looks for leaks. Not
// sooner: a fork waits for its locks, and meanwhile nobody may. It is told of ranges given back,
// too, and looks through the new mappings there.
#include "posix_features.h"

#include "posix_roots.h"

#if defined(__linux__) && defined(__GNUC__)

// LeakSanitizer's; NULL in a program without it.
extern void __lsan_register_root_region(const void* start, size_t bytes) __attribute__((weak));

enum { ROOTS_MAX = 1024, ROOTS_MILLISECONDS = 200 };

static const size_t root_bytes_max = (size_t)1 << 30;

typedef struct leak_root {
    uintptr_t start;
    uintptr_t end;
} leak_root;

static egb_os_mutex roots_lock;
static leak_root    roots[ROOTS_MAX];  // no two overlap or touch
static size_t       root_count;

static bool do_roots_touch(leak_root one, leak_root other)
{
    return one.start <= other.end && other.start <= one.end;
}

// The range and the first of those that it touches, which is forgotten; false: it touches none.
static bool join_root(leak_root* range)
{
    for (size_t i = 0; i < root_count; i++) {
        const leak_root old = roots[i];
        if (do_roots_touch(old, *range)) {
            roots[i]     = roots[--root_count];
            range->start = old.start < range->start ? old.start : range->start;
            range->end   = old.end > range->end ? old.end : range->end;
            return true;
        }
    }
    return false;
}

void egb_posix_add_root_(const void* region, size_t bytes)
{
    leak_root range = {(uintptr_t)region, (uintptr_t)region + bytes};
    if (__lsan_register_root_region == NULL || bytes > root_bytes_max ||
        !egb_os_lock_soon_(&roots_lock, ROOTS_MILLISECONDS)) {
        return;
    }
    while (join_root(&range)) {
    }
    if (root_count < ROOTS_MAX) {
        roots[root_count++] = range;
    }
    egb_os_unlock_(&roots_lock);
}

// Behind the destructors of static objects, before LeakSanitizer, which was there earlier.
__attribute__((destructor)) static void tell_roots(void)
{
    for (size_t i = 0; __lsan_register_root_region != NULL && i < root_count; i++) {
        __lsan_register_root_region((const void*)roots[i].start, roots[i].end - roots[i].start);
    }
}

#else

void egb_posix_add_root_(const void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
}

#endif

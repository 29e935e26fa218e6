// SPDX-License-Identifier: MIT
// The ranges that LeakSanitizer was told of. It takes one back only as it was told of it, but ours
// are given back in parts and several at a time; so it is told of more, and never of less.
#include "posix_features.h"

#include "posix_roots.h"

#if defined(__linux__) && defined(__GNUC__)

// LeakSanitizer's; both NULL in a program without it.
extern void __lsan_register_root_region(const void* start, size_t bytes) __attribute__((weak));
extern void __lsan_unregister_root_region(const void* start, size_t bytes) __attribute__((weak));

enum { ROOTS_MAX = 1024 };

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
            roots[i] = roots[--root_count];
            __lsan_unregister_root_region((const void*)old.start, old.end - old.start);
            range->start = old.start < range->start ? old.start : range->start;
            range->end   = old.end > range->end ? old.end : range->end;
            return true;
        }
    }
    return false;
}

void egb_posix_add_root(const void* region, size_t bytes)
{
    leak_root range = {(uintptr_t)region, (uintptr_t)region + bytes};
    if (__lsan_register_root_region == NULL || __lsan_unregister_root_region == NULL ||
        bytes > root_bytes_max || !egb_os_lock_soon(&roots_lock)) {
        return;
    }
    while (join_root(&range)) {
    }
    if (root_count < ROOTS_MAX) {
        roots[root_count++] = range;
        __lsan_register_root_region((const void*)range.start, range.end - range.start);
    }
    egb_os_unlock(&roots_lock);
}

#else

void egb_posix_add_root(const void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
}

#endif

// SPDX-License-Identifier: MIT
// Layer override: the functions of glibc that tell the numbers of malloc. The blocks of the size
// classes are its main arena, those in magazines its fast bins, and large blocks those from mmap.
// All that is unused may be given back, not only memory at the end of an arena.
#include <malloc.h>

#if defined(__GLIBC__)

  #include <errno.h>
  #include <stdbool.h>
  #include <stdint.h>
  #include <stdio.h>

  #pragma GCC visibility push(hidden)
  #include "eggbox/heap.h"
  #include "eggbox/stats.h"
  #pragma GCC visibility pop

  #define EXPORT __attribute__((visibility("default")))

// Bytes are those of whole blocks, with what a level adds to each.
typedef struct counts {
    size_t held;  // by the pools, in chunks
    size_t in_use;
    size_t fast;  // free, in magazines and depots
    size_t fast_blocks;
    size_t rest;  // free, in chunks, with the data of the pools
    size_t rest_blocks;
    size_t large;
    size_t large_bytes;
    size_t large_peak;
    size_t large_bytes_peak;
    size_t kept_bytes;  // regions of freed large blocks
} counts;

// The free blocks of a class.
typedef struct free_blocks {
    size_t block_bytes;
    size_t count;
} free_blocks;

static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;  // threads that are at work may be in one number only
}

static void count_class(egb_pool pool, counts* sum, free_blocks* its)
{
    egb_pool_stats one;
    if (egb_pool_get_stats(pool, &one) == EGB_OK) {
        const size_t fast = one.in_magazines * one.stride_bytes;
        its->block_bytes  = one.block_bytes;
        its->count        = less(one.capacity, one.in_use);
        sum->held += one.bytes_held;
        sum->in_use += one.in_use * one.stride_bytes;
        sum->fast += fast;
        sum->fast_blocks += one.in_magazines;
        sum->rest_blocks += less(its->count, one.in_magazines);
    }
}

// `each` has room for EGB_HEAP_CLASSES, or is NULL.
static counts count_all(free_blocks* each)
{
    counts         out = {0};
    egb_heap_stats numbers;
    (void)egb_heap_get_stats(&numbers);
    out.large            = numbers.large_in_use;
    out.large_bytes      = numbers.large_bytes;
    out.large_peak       = numbers.large_peak;
    out.large_bytes_peak = numbers.large_bytes_peak;
    out.kept_bytes       = numbers.cached_bytes;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        free_blocks one = {0, 0};
        count_class(numbers.classes[i].pool, &out, &one);
        if (each != NULL) {
            each[i] = one;
        }
    }
    out.rest = less(less(out.held, out.in_use), out.fast);
    return out;
}

static size_t unused(const counts* now)
{
    return less(now->held, now->in_use);
}

  #if __GLIBC_PREREQ(2, 33)
EXPORT struct mallinfo2 mallinfo2(void)
{
    const counts           now = count_all(NULL);
    const struct mallinfo2 out = {
        .arena    = now.held,
        .ordblks  = now.rest_blocks,
        .smblks   = now.fast_blocks,
        .hblks    = now.large,
        .hblkhd   = now.large_bytes,
        .fsmblks  = now.fast,
        .uordblks = now.in_use,
        .fordblks = unused(&now),
        .keepcost = unused(&now) + now.kept_bytes,
    };
    return out;
}
  #endif

static int as_int(size_t number)
{
    return number > INT32_MAX ? INT32_MAX : (int)number;
}

EXPORT struct mallinfo mallinfo(void)
{
    const counts          now = count_all(NULL);
    const struct mallinfo out = {
        .arena    = as_int(now.held),
        .ordblks  = as_int(now.rest_blocks),
        .smblks   = as_int(now.fast_blocks),
        .hblks    = as_int(now.large),
        .hblkhd   = as_int(now.large_bytes),
        .fsmblks  = as_int(now.fast),
        .uordblks = as_int(now.in_use),
        .fordblks = as_int(unused(&now)),
        .keepcost = as_int(unused(&now) + now.kept_bytes),
    };
    return out;
}

// The most that a call has found held.
static size_t note_most(size_t held)
{
    static size_t most;  // atomic
    size_t        seen = __atomic_load_n(&most, __ATOMIC_RELAXED);
    while (seen < held && !__atomic_compare_exchange_n(
                              &most, &seen, held, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED
                          )) {
    }
    return seen < held ? held : seen;
}

static void print_totals(const counts* now, FILE* out)
{
    (void)fprintf(
        out, "<total type=\"fast\" count=\"%zu\" size=\"%zu\"/>\n", now->fast_blocks, now->fast
    );
    (void)fprintf(
        out, "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n", now->rest_blocks, now->rest
    );
}

static void print_system(const counts* now, size_t most, FILE* out)
{
    (void)fprintf(out, "<system type=\"current\" size=\"%zu\"/>\n", now->held);
    (void)fprintf(out, "<system type=\"max\" size=\"%zu\"/>\n", most);
    (void)fprintf(out, "<aspace type=\"total\" size=\"%zu\"/>\n", now->held);
    (void)fprintf(out, "<aspace type=\"mprotect\" size=\"%zu\"/>\n", now->held);
}

// Nothing is locked while the stream is written to: it may need memory itself.
EXPORT int malloc_info(int options, FILE* out)
{
    if (options != 0) {
        return EINVAL;
    }
    free_blocks  each[EGB_HEAP_CLASSES];
    const counts now  = count_all(each);
    const size_t most = note_most(now.held);
    (void)fputs("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n", out);
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        if (each[i].count != 0) {
            (void)fprintf(
                out,
                "  <size from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%zu\"/>\n",
                each[i].block_bytes,
                each[i].block_bytes,
                each[i].block_bytes * each[i].count,
                each[i].count
            );
        }
    }
    (void)fputs("</sizes>\n", out);
    print_totals(&now, out);
    print_system(&now, most, out);
    (void)fputs("</heap>\n", out);
    print_totals(&now, out);
    (void)fprintf(
        out, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n", now.large, now.large_bytes
    );
    print_system(&now, most, out);
    (void)fputs("</malloc>\n", out);
    return 0;
}

EXPORT void malloc_stats(void)
{
    const counts now = count_all(NULL);
    (void)fprintf(
        stderr,
        "Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n",
        now.held,
        now.in_use
    );
    (void)fprintf(
        stderr,
        "Total (incl. mmap):\nsystem bytes     = %10zu\nin use bytes     = %10zu\n",
        now.held + now.large_bytes,
        now.in_use + now.large_bytes
    );
    (void)fprintf(
        stderr,
        "max mmap regions = %10zu\nmax mmap bytes   = %10zu\n",
        now.large_peak,
        now.large_bytes_peak
    );
}

#else

typedef int egb_no_numbers_;  // a file has to declare something

#endif

// SPDX-License-Identifier: MIT
// The cost of alloc and free in instructions, beside newlib's malloc and free on the same calls.
//
// The pattern is the five phases that the Allocator library published for an STM32F4: n blocks of
// 16 bytes; the even ones freed; n blocks of 32 bytes; the odd ones freed; the blocks of 32 bytes
// freed backwards. As there, one pool of 2 n blocks of 32 bytes serves both sizes, no block is
// written to, and each allocator has three runs.
//
// A number is the instructions from the first one of the called function to its return, included.
//
// Expected: a free to a pool, and the inline alloc of a recycled block, always take the same
// number, and fewer than the heap's. The cost of a heap depends on its contents.
#include "board.h"
#include "eggbox/fixed_shared.h"
#include "eggbox/port/cortex_m.h"

#include <stdlib.h>

enum { n = EMBED_BENCH_COUNT, small_bytes = 16, large_bytes = 32, phase_count = 5, run_count = 3 };

static egb_fixed pool;
static uint64_t  region[2 * n * large_bytes / 8];
static uint32_t  live_bits[EGB_FIXED_LIVE_BYTES(2 * n) / 4];
static void*     small[n];
static void*     large[n];

void egb_misuse(const egb_misuse_event* event)
{
    board_print(egb_misuse_text(event->kind));
    CHECK(false);
}

// ---- the allocators ---------------------------------------------------------------------------

typedef struct allocator {
    const char* name;
    void* (*alloc)(size_t bytes);
    void (*free)(void* block);
    egb_status (*make)(void);  // NULL: no pool
    bool is_inline;            // its alloc of a recycled block is in the header: one count for all
} allocator;

// One instruction, the return. The rest of the result is the cost of measuring.
__attribute__((naked)) static void* alloc_nothing(size_t bytes __attribute__((unused)))
{
    __asm__("bx lr");
}

__attribute__((naked)) static void free_nothing(void* block __attribute__((unused)))
{
    __asm__("bx lr");
}

static void* alloc_from_pool(size_t bytes)
{
    (void)bytes;
    return egb_fixed_alloc(&pool);
}

static void free_to_pool(void* block)
{
    egb_fixed_free(&pool, block);
}

static void* alloc_unchecked(size_t bytes)
{
    (void)bytes;
    return egb_fixed_alloc_unchecked(&pool);
}

static void free_unchecked(void* block)
{
    egb_fixed_free_unchecked(&pool, block);
}

static egb_fixed_shared shared;

static void* alloc_shared(size_t bytes)
{
    (void)bytes;
    return egb_fixed_shared_alloc(&shared);
}

static void free_shared(void* block)
{
    egb_fixed_shared_free(&shared, block);
}

static egb_status make_shared(void)
{
    const egb_status status = egb_fixed_init(&pool, region, sizeof region, large_bytes);
    return status == EGB_OK ? egb_fixed_shared_init(&shared, &pool, &egb_port_primask, 0) : status;
}

static egb_status make_default(void)
{
    return egb_fixed_init(&pool, region, sizeof region, large_bytes);
}

static egb_status make_with_live_bits(void)
{
    return egb_fixed_init_checked(
        &pool, region, sizeof region, large_bytes, live_bits, sizeof live_bits
    );
}

static egb_status make_unchecked(void)
{
    return egb_fixed_init_unchecked(&pool, region, sizeof region, large_bytes);
}

static const allocator nothing = {"nothing", alloc_nothing, free_nothing, NULL, false};
static const allocator heap    = {EMBED_LIBC " malloc", malloc, free, NULL, false};
static const allocator pools[] = {
    {"fixed pool, default check", alloc_from_pool, free_to_pool, make_default, true},
    {"fixed pool, live bits", alloc_from_pool, free_to_pool, make_with_live_bits, false},
    {"fixed pool, unchecked", alloc_unchecked, free_unchecked, make_unchecked, true},
    {"default check, PRIMASK", alloc_shared, free_shared, make_shared, false},
};

// ---- counting ---------------------------------------------------------------------------------

typedef struct tally {
    uint32_t min;
    uint32_t max;
    uint32_t sum;
    uint32_t measuring;  // instructions counted that are not the called function's
} tally;

static void add(tally* to, uint32_t before, uint32_t after)
{
    const uint32_t count = board_instructions(before, after) - to->measuring;
    to->min              = count < to->min ? count : to->min;
    to->max              = count > to->max ? count : to->max;
    to->sum += count;
}

__attribute__((noinline)) static void* count_alloc(const allocator* from, size_t bytes, tally* to)
{
    const uint32_t before = BOARD_SYSTICK->current;
    void* const    block  = from->alloc(bytes);
    const uint32_t after  = BOARD_SYSTICK->current;
    add(to, before, after);
    return block;
}

__attribute__((noinline)) static void count_free(const allocator* from, void* block, tally* to)
{
    const uint32_t before = BOARD_SYSTICK->current;
    from->free(block);
    const uint32_t after = BOARD_SYSTICK->current;
    add(to, before, after);
}

static void start(tally* it, uint32_t measuring)
{
    it->min       = UINT32_MAX;
    it->max       = 0;
    it->sum       = 0;
    it->measuring = measuring;
}

static uint32_t measuring_alloc;
static uint32_t measuring_free;

// A function that only returns is one instruction long; the rest of its count is the measuring.
static void learn_what_measuring_takes(void)
{
    tally it;
    start(&it, 0);
    (void)count_alloc(&nothing, small_bytes, &it);
    measuring_alloc = it.sum - 1;
    start(&it, 0);
    count_free(&nothing, NULL, &it);
    measuring_free = it.sum - 1;
}

// ---- the five phases --------------------------------------------------------------------------

typedef struct figures {
    tally    allocs;
    tally    frees;
    uint32_t phases[phase_count];
} figures;

static uint32_t instructions_of(const figures* run)
{
    return run->allocs.sum + run->frees.sum;
}

static void alloc_all(const allocator* from, void** blocks, size_t bytes, figures* run)
{
    for (unsigned i = 0; i < n; i++) {
        blocks[i] = count_alloc(from, bytes, &run->allocs);
        CHECK(blocks[i] != NULL || from == &nothing);
    }
}

static void free_every_second(const allocator* from, unsigned first, figures* run)
{
    for (unsigned i = first; i < n; i += 2) {
        count_free(from, small[i], &run->frees);
    }
}

static void free_backwards(const allocator* from, figures* run)
{
    for (unsigned i = n; i-- > 0;) {
        count_free(from, large[i], &run->frees);
    }
}

static void run_phase(const allocator* from, unsigned phase, figures* run)
{
    switch (phase) {
        case 0: alloc_all(from, small, small_bytes, run); break;
        case 1: free_every_second(from, 0, run); break;
        case 2: alloc_all(from, large, large_bytes, run); break;
        case 3: free_every_second(from, 1, run); break;
        default: free_backwards(from, run); break;
    }
}

static void run_all(const allocator* from, figures* run)
{
    start(&run->allocs, measuring_alloc);
    start(&run->frees, measuring_free);
    for (unsigned phase = 0; phase < phase_count; phase++) {
        const uint32_t before = instructions_of(run);
        run_phase(from, phase, run);
        run->phases[phase] = instructions_of(run) - before;
    }
}

// ---- the report -------------------------------------------------------------------------------

static void print_range(const tally* it)
{
    board_print_number(it->min, 6);
    board_print(" ..");
    board_print_number(it->max, 5);
}

static void print_run(const figures* run)
{
    for (unsigned phase = 0; phase < phase_count; phase++) {
        board_print_number(run->phases[phase], 10);
    }
    board_print_number(instructions_of(run), 11);
    print_range(&run->allocs);
    print_range(&run->frees);
    board_print("\n");
}

static void check_run(const allocator* from, unsigned number, const figures* run)
{
    if (from->make == NULL) {
        return;
    }
    CHECK(egb_fixed_whole(&pool) && egb_fixed_in_use(&pool) == 0);
    CHECK(egb_fixed_peak(&pool) == n + n / 2);
    CHECK(run->frees.min == run->frees.max);
    // From the second run on every block is recycled.
    CHECK(!from->is_inline || number == 0 || run->allocs.min == run->allocs.max);
}

// Returns the instructions of the last run.
static uint32_t report(const allocator* from)
{
    static figures run;
    CHECK(from->make == NULL || from->make() == EGB_OK);
    for (unsigned number = 0; number < run_count; number++) {
        run_all(from, &run);
        board_print_text(from->name, 26);
        board_print_number(number + 1, 3);
        print_run(&run);
        check_run(from, number, &run);
    }
    return instructions_of(&run);
}

static void check_measuring(void)
{
    static figures run;
    run_all(&nothing, &run);
    CHECK(run.allocs.min == 1 && run.allocs.max == 1);
    CHECK(run.frees.min == 1 && run.frees.max == 1);
}

static void print_ratio(const char* name, uint32_t heap_count, uint32_t pool_count)
{
    board_print("run 3: ");
    board_print(heap.name);
    board_print(" / ");
    board_print_text(name, 26);
    const uint32_t tenths = (heap_count * 10 + pool_count / 2) / pool_count;
    board_print_number(tenths / 10, 4);
    board_print(".");
    board_print_number(tenths % 10, 0);
    board_print("\n");
}

void board_main(void)
{
    board_count_start();
    learn_what_measuring_takes();
    board_print("instructions, n = ");
    board_print_number(n, 0);
    board_print("\nallocator                 run  n of 16 free even   n of 32  free odd free back"
                "      total  alloc min..max free min..max\n");
    check_measuring();
    const uint32_t heap_count = report(&heap);
    uint32_t       pool_counts[sizeof pools / sizeof pools[0]];
    for (unsigned i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        pool_counts[i] = report(&pools[i]);
        CHECK(!pools[i].is_inline || pool_counts[i] < heap_count);
    }
    for (unsigned i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        print_ratio(pools[i].name, heap_count, pool_counts[i]);
    }
}

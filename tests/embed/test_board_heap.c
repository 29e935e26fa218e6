// SPDX-License-Identifier: MIT
// The heap for boards on a Cortex-M: an interrupt at every instruction of its calls, and its worst
// case in instructions.
//
// Worst case: a heap whose first k classes are empty is asked for its smallest size, for each k. An
//             alloc that finds no block asks every class. Random requests must never take longer.
#include "sweep.h"

#include "eggbox/board_heap.h"
#include "eggbox/port/cortex_m.h"

enum { class_count = 8, blocks_each = 2, random_requests = 3000 };

static const uint16_t  sizes[class_count] = {16, 32, 48, 64, 96, 128, 192, 256};
static egb_board_class classes[class_count];
static egb_board_heap  heap;
static uint64_t        memory[832 * blocks_each / 8];
static unsigned        misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

static void make(void)
{
    for (unsigned i = 0; i < class_count; i++) {
        classes[i].block_bytes = sizes[i];
        classes[i].count       = blocks_each;
    }
    CHECK(
        egb_board_init(&heap, memory, sizeof memory, classes, class_count, &egb_port_primask, 0) ==
        EGB_OK
    );
    misuses = 0;
}

// ---- an interrupt at every instruction ----------------------------------------------------------

static void *mine, *theirs, *old_block;

static void prepare(void)
{
    make();
    old_block = egb_board_alloc(&heap, 20);
}

static void calls(void)
{
    void* const a = egb_board_alloc(&heap, 20);
    mine          = egb_board_alloc(&heap, 60);
    mine          = egb_board_realloc(&heap, mine, 100);
    egb_board_free(&heap, a);
}

static void interrupt(void)
{
    egb_board_free(&heap, old_block);
    theirs = egb_board_alloc(&heap, 90);
}

static bool is_sound(void)
{
    return misuses == 0 && mine != theirs && egb_board_whole(&heap) &&
           egb_board_usable(&heap, mine) >= 100 && egb_board_usable(&heap, theirs) >= 90 &&
           egb_board_available(&heap) + egb_board_usable(&heap, mine) +
                   egb_board_usable(&heap, theirs) ==
               sizeof memory;
}

// ---- the worst case -----------------------------------------------------------------------------

static uint32_t alloc_max, free_max;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void* count_alloc(size_t bytes, uint32_t* count)
{
    const uint32_t before = BOARD_SYSTICK->current;
    void* const    block  = egb_board_alloc(&heap, bytes);
    const uint32_t after  = BOARD_SYSTICK->current;
    *count                = board_instructions(before, after);
    return block;
}

static uint32_t count_free(void* block)
{
    const uint32_t before = BOARD_SYSTICK->current;
    egb_board_free(&heap, block);
    const uint32_t after = BOARD_SYSTICK->current;
    return board_instructions(before, after);
}

// Fresh blocks first, then recycled ones.
static void print_worst_case(void)
{
    make();
    board_print("empty classes    alloc fresh    recycled    free\n");
    for (unsigned empty = 0; empty <= class_count; empty++) {
        uint32_t    fresh = 0, recycled = 0, freed = 0, ignored = 0;
        void* const block = count_alloc(1, &fresh);
        CHECK((block == NULL) == (empty == class_count));
        if (block != NULL) {
            freed = count_free(block);
            CHECK(count_alloc(1, &recycled) == block);
            void* const second = count_alloc(1, &ignored);
            freed              = larger(freed, count_free(second));
            CHECK(count_alloc(1, &ignored) == second);  // and now this class is empty as well
        }
        alloc_max = larger(alloc_max, larger(fresh, recycled));
        free_max  = larger(free_max, freed);
        board_print_number(empty, 13);
        board_print_number(fresh, 15);
        board_print_number(recycled, 12);
        board_print_number(freed, 8);
        board_print("\n");
    }
}

// Classes that are too small are passed by.
static void print_too_small(void)
{
    board_print("too small classes    alloc\n");
    for (unsigned small = 0; small < class_count; small++) {
        uint32_t count = 0;
        make();
        egb_board_free(&heap, count_alloc(sizes[small], &count));
        CHECK(count_alloc(sizes[small], &count) != NULL);
        board_print_number(small, 17);
        board_print_number(count, 9);
        board_print("\n");
    }
}

// A block whose second word happens to be the mark of free blocks makes its free look through the
// free list of its class.
static void print_chance_mark(void)
{
    enum { blocks = 41 };
    static egb_board_class one = {.block_bytes = 16, .count = blocks};
    void*                  held[blocks];
    CHECK(egb_board_init(&heap, memory, sizeof memory, &one, 1, &egb_port_primask, 0) == EGB_OK);
    for (unsigned i = 0; i < blocks; i++) {
        held[i] = egb_board_alloc(&heap, 1);
    }
    for (unsigned i = 1; i < blocks; i++) {
        egb_board_free(&heap, held[i]);
    }
    ((uint32_t*)held[0])[1] = EGB_FIXED_MARK_;
    board_print("free of a block that holds the mark, beside 40 free ones: ");
    board_print_number(count_free(held[0]), 0);
    board_print("\n");
    CHECK(egb_board_class_in_use(&heap, 0) == 0 && misuses == 0);
}

static uint32_t next_random(void)
{
    static uint32_t state = 1;
    state                 = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void check_random(void)
{
    static void* held[blocks_each * class_count];
    uint32_t     alloc_most = 0, free_most = 0, count;
    make();
    for (unsigned i = 0; i < random_requests; i++) {
        void** const at = &held[next_random() % (sizeof held / sizeof held[0])];
        if (*at == NULL) {
            *at        = count_alloc(next_random() % 256, &count);
            alloc_most = larger(alloc_most, count);
        } else {
            free_most = larger(free_most, count_free(*at));
            *at       = NULL;
        }
    }
    board_print("at most, in random requests: alloc ");
    board_print_number(alloc_most, 0);
    board_print(", free ");
    board_print_number(free_most, 0);
    board_print("\n");
    CHECK(alloc_most <= alloc_max && free_most <= free_max && misuses == 0);
    CHECK(egb_board_whole(&heap));
}

void board_main(void)
{
    const sweep_scene scene = {"board heap", prepare, calls, interrupt, is_sound, true};
    sweep_print_heading();
    CHECK(sweep(&scene) == 0);
    board_count_start();
    print_worst_case();
    check_random();
    print_too_small();
    print_chance_mark();
}

// SPDX-License-Identifier: MIT
// How long the sections of a pool for interrupts keep an interrupt waiting, in instructions: the
// timer fires once at each instruction of a call, and the handler reads how late it is.
//
// A delay is counted from the earliest that any handler has run: what the processor itself takes,
// and the two instructions of the reading, are not in it.
#include "board.h"
#include "eggbox/fixed_shared.h"
#include "eggbox/port/cortex_m.h"

enum { block_bytes = 16, block_count = 8, points_max = 300, delay_max = 110 };

static uint64_t         region[block_bytes * block_count / 8];
static egb_fixed        pool;
static egb_fixed_shared shared;
static void*            block;

void egb_misuse(const egb_misuse_event* event)
{
    board_print(egb_misuse_text(event->kind));
    CHECK(false);
}

static volatile uint32_t reading;  // the timer, as the handler read it
static volatile bool     has_come;

__attribute__((used)) static void on_tick(uint32_t current)
{
    board_tick_stop();
    reading  = current;
    has_come = true;
}

__attribute__((naked)) void board_tick(void)
{
    __asm__("ldr r0, =0xE000E018\n ldr r0, [r0]\n ldr r1, =on_tick\n bx r1\n .ltorg");
}

// ---- the calls --------------------------------------------------------------------------------

typedef struct scene {
    const char* name;
    size_t      reserve;
    bool        is_fresh;  // no block was used before
    void (*call)(void);
} scene;

static void do_nothing(void) {}

static void do_alloc(void)
{
    block = egb_fixed_shared_alloc(&shared);
}

static void do_free(void)
{
    egb_fixed_shared_free(&shared, block);
}

static const scene nothing  = {"nothing", 0, true, do_nothing};
static const scene scenes[] = {
    {"alloc", 0, false, do_alloc},
    {"alloc, fresh", 0, true, do_alloc},
    {"alloc, reserve", 2, false, do_alloc},
    {"alloc, fresh, reserve", 2, true, do_alloc},
    {"free", 0, false, do_free},
    {"free, reserve", 2, false, do_free},
};

static void prepare(const scene* of)
{
    CHECK(egb_fixed_init(&pool, region, sizeof region, block_bytes) == EGB_OK);
    CHECK(egb_fixed_shared_init(&shared, &pool, &egb_port_primask, of->reserve) == EGB_OK);
    if (!of->is_fresh) {
        void* const other = egb_fixed_shared_alloc(&shared);
        block             = egb_fixed_shared_alloc(&shared);
        egb_fixed_shared_free(&shared, other);
    }
}

// ---- the sweep --------------------------------------------------------------------------------

// How late the interrupt is that is due after so many instructions. The timer goes on from its
// largest value, so that the handler can read how long ago that was.
static uint32_t late_after(const scene* of, uint32_t instructions)
{
    prepare(of);
    has_come = false;
    board_tick_after(instructions);
    BOARD_SYSTICK->reload = board_systick_max;
    of->call();
    for (volatile unsigned i = 0; i < points_max && !has_come; i++) {
    }
    board_tick_stop();
    CHECK(has_come);
    return board_instructions(board_systick_max, reading);
}

// The first instructions are those that set the timer.
static uint32_t worst_of(const scene* of, uint32_t least)
{
    uint32_t worst = 0;
    for (uint32_t instructions = 12; instructions < points_max; instructions++) {
        const uint32_t late = late_after(of, instructions);
        CHECK(late >= least);
        worst = late > worst ? late : worst;
    }
    return worst - least;
}

void board_main(void)
{
    const uint32_t least = late_after(&nothing, 100);
    board_print("PRIMASK: instructions that an interrupt waits at most\n");
    CHECK(worst_of(&nothing, least) == 0);
    for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const uint32_t worst = worst_of(&scenes[i], least);
        board_print_text(scenes[i].name, 24);
        board_print_number(worst, 4);
        board_print("\n");
        CHECK(worst > 0 && worst <= delay_max);
    }
}

// SPDX-License-Identifier: MIT
#include "sweep.h"

enum { points_max = 5000 };

static const sweep_scene* now;
static volatile bool      is_over;  // the calls have returned
static volatile unsigned  count;    // interrupts in this run
static uint32_t           address;  // the interrupted instruction
static bool               was_late;

// The registers that the processor pushes on the stack before a handler runs.
typedef struct exception_frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
} exception_frame;

__attribute__((used)) static void on_tick(const exception_frame* frame)
{
    board_tick_stop();
    count++;
    address  = frame->pc;
    was_late = is_over;
    now->interrupt();
}

// Only here, before the compiler's prologue, does the stack pointer still point at the frame.
__attribute__((naked)) void board_tick(void)
{
    __asm__("mov r0, sp\n ldr r1, =on_tick\n bx r1\n .ltorg");
}

// Has the interrupt come after so many instructions of the calls.
static void run(uint32_t instructions)
{
    now->prepare();
    count   = 0;
    is_over = false;
    board_tick_after(instructions);
    now->calls();
    is_over = true;
    for (volatile unsigned i = 0; i < points_max && count == 0; i++) {
    }
    board_tick_stop();
}

// How many instructions the calls take when nothing interrupts them.
static uint32_t length_of_calls(void)
{
    now->prepare();
    board_count_start();
    const uint32_t before = BOARD_SYSTICK->current;
    now->calls();
    const uint32_t after = BOARD_SYSTICK->current;
    board_tick_stop();
    return board_instructions(before, after);
}

void sweep_print_heading(void)
{
    board_print("scene                         instructions  points  places  damaged\n");
}

unsigned sweep(const sweep_scene* scene)
{
    now                     = scene;
    const uint32_t length   = length_of_calls();
    uint32_t       previous = 0;
    unsigned       points = 0, places = 0, damaged = 0;
    for (;; points++) {
        run(points);
        if (was_late || count != 1) {
            break;
        }
        damaged += !scene->is_sound();
        places += address != previous;
        previous = address;
    }
    // There were as many points as instructions, and each elsewhere than the one before. Under a
    // mask interrupts wait, so that there they may come at the same place.
    CHECK(count == 1 && points >= length && points < points_max);
    CHECK(scene->is_masked ? places > 1 : places == points);
    board_print_text(scene->name, 30);
    board_print_number(length, 12);
    board_print_number(points, 8);
    board_print_number(places, 8);
    board_print_number(damaged, 9);
    board_print("\n");
    return damaged;
}

// SPDX-License-Identifier: MIT
// Embed tests: what a program without a system needs from its board. Printing and the exit code go
// through semihosting to the emulator; the SysTick timer counts instructions.
//
// Under `-icount shift=10` the emulator lets every instruction take 1024 ns of its own time, so the
// timer's ticks divided by EMBED_TICKS_PER_1000 and rounded are an exact number of instructions,
// the same in every run.
#ifndef EGGBOX_TESTS_EMBED_BOARD_H
#define EGGBOX_TESTS_EMBED_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Each program defines it. On its return the exit code is 0 if every CHECK held, else 3: the
// emulator itself ends with 1 when something is wrong with it.
void board_main(void);

// The same as the return of board_main(), for programs whose system takes its place.
void board_end(void);

// Called on the timer's interrupt, on SVC and on PendSV; without a definition each is a fault.
void board_tick(void);
void board_supervisor_call(void);
void board_pending_switch(void);

void board_print(const char* text);
void board_print_number(uint32_t number, unsigned width);  // right-aligned in `width` columns
void board_print_text(const char* text, unsigned width);   // left-aligned

// Whether the emulator was given `text` as the program's argument.
bool board_argument_is(const char* text);

// Counts a failure and says where, if `truth` does not hold.
void board_check(bool truth, const char* what, const char* file, unsigned line);
#define CHECK(truth) board_check((truth), #truth, __FILE__, __LINE__)

// ---- SysTick --------------------------------------------------------------------------------

typedef struct board_systick {
    uint32_t control;
    uint32_t reload;
    uint32_t current;
} board_systick;

#define BOARD_SYSTICK       ((volatile board_systick*)0xE000E010u)
#define BOARD_ICSR          (*(volatile uint32_t*)0xE000ED04u)
#define BOARD_TICK_PRIORITY (*(volatile uint8_t*)0xE000ED23u)  // not on Cortex-M0+

enum {
    board_systick_max       = 0xFFFFFF,  // it is a 24-bit timer
    board_systick_count     = 5,         // enabled, on the processor's clock
    board_systick_interrupt = 7          // the same, and an interrupt on reaching 0
};

// Lets the timer count down from its largest value, over and over.
void board_count_start(void);

// Instructions between two readings of the timer, at most 650,000.
uint32_t board_instructions(uint32_t first_reading, uint32_t second_reading);

// Has board_tick() called once, after `instructions` more instructions and a half.
void board_tick_after(uint32_t instructions);
void board_tick_stop(void);

#endif  // EGGBOX_TESTS_EMBED_BOARD_H

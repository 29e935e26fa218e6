// SPDX-License-Identifier: MIT
// Start-up, semihosting and timer of the embed tests, for any Cortex-M.
#include "board.h"

// From board.ld.
extern uint32_t       board_stack_top[];
extern uint32_t       board_data_start[], board_data_end[], board_bss_start[], board_bss_end[];
extern const uint32_t board_data_source[];

void board_reset(void);

enum {
    semihosting_write0        = 0x04,
    semihosting_get_cmdline   = 0x15,
    semihosting_exit_extended = 0x20,
    stopped_by_exit           = 0x20026,  // ADP_Stopped_ApplicationExit
    exit_good                 = 0,
    exit_failed               = 3,
    exit_fault                = 99
};

static unsigned failures;

static uint32_t semihosting(uint32_t operation, void* argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register void*    r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(uint32_t code)
{
    uint32_t block[2] = {stopped_by_exit, code};
    (void)semihosting(semihosting_exit_extended, block);
    for (;;) {
    }
}

static void fault(void)
{
    board_print("fault\n");
    leave(exit_fault);
}

void board_reset(void)
{
    const uint32_t* source = board_data_source;
    for (volatile uint32_t* word = board_data_start; word < board_data_end;) {
        *word++ = *source++;
    }
    for (volatile uint32_t* word = board_bss_start; word < board_bss_end;) {
        *word++ = 0;
    }
    board_main();
    board_end();
}

void board_end(void)
{
    board_print(failures == 0 ? "all true\n" : "FAILED\n");
    leave(failures == 0 ? exit_good : exit_failed);
}

__attribute__((weak)) void board_supervisor_call(void)
{
    fault();
}

__attribute__((weak)) void board_pending_switch(void)
{
    fault();
}

__attribute__((weak)) void board_tick(void)
{
    fault();
}

typedef void (*handler)(void);

// The initial stack pointer stands before the handlers.
typedef struct vector_table {
    uint32_t* stack;
    handler   handlers[15];
} vector_table;

__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    board_stack_top,
    {board_reset,
     fault,
     fault,
     fault,
     fault,
     fault,
     fault,
     fault,
     fault,
     fault,
     board_supervisor_call,
     fault,
     fault,
     board_pending_switch,
     board_tick}
};

// ---- printing ---------------------------------------------------------------------------------

void board_print(const char* text)
{
    (void)semihosting(semihosting_write0, (void*)(uintptr_t)text);
}

static void print_spaces(unsigned count)
{
    while (count-- > 0) {
        board_print(" ");
    }
}

void board_print_number(uint32_t number, unsigned width)
{
    char     digits[11];
    unsigned at = sizeof digits - 1;
    digits[at]  = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    const unsigned length = (unsigned)sizeof digits - 1 - at;
    print_spaces(length < width ? width - length : 0);
    board_print(digits + at);
}

void board_print_text(const char* text, unsigned width)
{
    unsigned length = 0;
    while (text[length] != 0) {
        length++;
    }
    board_print(text);
    print_spaces(length < width ? width - length : 0);
}

bool board_argument_is(const char* text)
{
    static char line[128];
    uint32_t    block[2] = {(uint32_t)(uintptr_t)line, sizeof line};
    if (semihosting(semihosting_get_cmdline, block) != 0) {
        return false;
    }
    unsigned at = 0;
    while (line[at] != 0 && line[at] == text[at]) {
        at++;
    }
    return line[at] == text[at];
}

void board_check(bool truth, const char* what, const char* file, unsigned line)
{
    if (truth) {
        return;
    }
    failures++;
    board_print(file);
    board_print(":");
    board_print_number(line, 0);
    board_print(": not true: ");
    board_print(what);
    board_print("\n");
}

// ---- SysTick ----------------------------------------------------------------------------------

void board_count_start(void)
{
    BOARD_SYSTICK->control = 0;
    BOARD_SYSTICK->reload  = board_systick_max;
    BOARD_SYSTICK->current = 0;  // any write clears it
    BOARD_SYSTICK->control = board_systick_count;
}

uint32_t board_instructions(uint32_t first_reading, uint32_t second_reading)
{
    const uint64_t ticks = (first_reading - second_reading) & board_systick_max;
    return (uint32_t)((ticks * 1000 + EMBED_TICKS_PER_1000 / 2) / EMBED_TICKS_PER_1000);
}

void board_tick_after(uint32_t instructions)
{
    const uint64_t ticks = (uint64_t)instructions * EMBED_TICKS_PER_1000 + EMBED_TICKS_PER_1000 / 2;
    BOARD_SYSTICK->control = 0;
    BOARD_SYSTICK->reload  = (uint32_t)(ticks / 1000);
    BOARD_SYSTICK->current = 0;
    BOARD_SYSTICK->control = board_systick_interrupt;
}

void board_tick_stop(void)
{
    enum { clear_pending = 1 << 25 };  // it may have reached 0 once more on the way here
    BOARD_SYSTICK->control = 0;
    BOARD_ICSR             = clear_pending;
}

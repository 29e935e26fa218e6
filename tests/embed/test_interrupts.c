// SPDX-License-Identifier: MIT
// An interrupt at every instruction of allocs and frees, whose handler allocs and frees from the
// same pool.
//
// Goal:   a pool shared with interrupts stays whole if every call stands in a critical section, as
//         the header demands.
// Method: the same calls again and again, with the timer set to fire one instruction later each
//         time, until it fires after them. The argument `unlocked` leaves the critical section out:
//         then the sweep must find damage, or it would prove nothing.
#include "board.h"
#include "eggbox/fixed.h"

enum { block_bytes = 16, block_count = 6, points_max = 5000 };

static egb_fixed     pool;
static uint32_t      region[EGB_FIXED_BYTES(block_bytes, block_count) / 4];
static uint32_t      live_bits[EGB_FIXED_LIVE_BYTES(block_count) / 4];
static bool          is_locked;
static volatile bool is_over;  // the calls under test have returned
static unsigned      misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

// ---- critical section -------------------------------------------------------------------------

static uint32_t lock(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask" : "=r"(before)::"memory");
    if (is_locked) {
        __asm__ volatile("cpsid i" ::: "memory");
    }
    return before;
}

static void unlock(uint32_t before)
{
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}

static void* take(void)
{
    const uint32_t before = lock();
    void* const    block  = egb_fixed_alloc(&pool);
    unlock(before);
    return block;
}

static void give(void* block)
{
    const uint32_t before = lock();
    egb_fixed_free(&pool, block);
    unlock(before);
}

// ---- the interrupt ----------------------------------------------------------------------------

typedef struct interrupt {
    unsigned count;
    uint32_t address;  // the address of the interrupted instruction
    bool     was_late;
    void*    old_block;  // held from before, freed in the handler
    void*    new_block;  // allocated in the handler, and kept
} interrupt;

static interrupt theirs;

// The registers that the processor pushes on the stack before a handler runs.
typedef struct exception_frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
} exception_frame;

// Leaves the free list other than it was: the block that was its newest is kept.
__attribute__((used)) static void on_tick(const exception_frame* frame)
{
    board_tick_stop();
    theirs.count++;
    theirs.address  = frame->pc;
    theirs.was_late = is_over;
    give(theirs.old_block);
    void* const a    = take();
    theirs.new_block = take();
    give(a);
}

// Only here, before the compiler's prologue, does the stack pointer still point at the frame.
__attribute__((naked)) void board_tick(void)
{
    __asm__("mov r0, sp\n ldr r1, =on_tick\n bx r1\n .ltorg");
}

// ---- the calls that are interrupted -----------------------------------------------------------

typedef struct scene {
    const char* name;
    bool        has_live_bits;
    bool        is_recycled;  // every block was in use before, so no call takes a fresh one
} scene;

static const scene scenes[] = {
    {"default check, recycled", false, true},
    {"default check, fresh", false, false},
    {"live bits, recycled", true, true},
    {"live bits, fresh", true, false},
};

static void* mine;

// Leaves one block in `mine`.
__attribute__((noinline)) static void interrupted_calls(void)
{
    void* const a = take();
    mine          = take();
    give(a);
}

static void prepare(const scene* now)
{
    const egb_status status =
        now->has_live_bits
            ? egb_fixed_init_checked(
                  &pool, region, sizeof region, block_bytes, live_bits, sizeof live_bits
              )
            : egb_fixed_init(&pool, region, sizeof region, block_bytes);
    CHECK(status == EGB_OK);
    void* blocks[block_count];
    for (unsigned i = 0; i < block_count && now->is_recycled; i++) {
        blocks[i] = egb_fixed_alloc(&pool);
    }
    for (unsigned i = 0; i < block_count && now->is_recycled; i++) {
        egb_fixed_free(&pool, blocks[i]);
    }
    theirs.count     = 0;
    theirs.address   = 0;
    theirs.was_late  = false;
    theirs.old_block = egb_fixed_alloc(&pool);
    theirs.new_block = NULL;
    misuses          = 0;
    is_over          = false;
}

// `mine` and the handler's new block are out, all others can be had, and none twice.
static bool is_sound(void)
{
    bool sound = misuses == 0 && egb_fixed_whole(&pool) && egb_fixed_in_use(&pool) == 2 &&
                 egb_fixed_is_live(&pool, mine) && egb_fixed_is_live(&pool, theirs.new_block) &&
                 mine != theirs.new_block;
    void* blocks[block_count];
    blocks[0] = mine;
    blocks[1] = theirs.new_block;
    for (unsigned i = 2; i < block_count; i++) {
        blocks[i] = egb_fixed_alloc(&pool);
        sound     = sound && blocks[i] != NULL;
        for (unsigned k = 0; k < i; k++) {
            sound = sound && blocks[i] != blocks[k];
        }
    }
    return sound && egb_fixed_alloc(&pool) == NULL && misuses == 0;
}

// How many instructions the calls take when nothing interrupts them.
static uint32_t length_of(const scene* now)
{
    prepare(now);
    board_count_start();
    const uint32_t before = BOARD_SYSTICK->current;
    interrupted_calls();
    const uint32_t after = BOARD_SYSTICK->current;
    board_tick_stop();
    return board_instructions(before, after);
}

static void wait_for_interrupt(void)
{
    for (volatile unsigned i = 0; i < points_max && theirs.count == 0; i++) {
    }
}

// Returns the number of points at which the pool was damaged.
static unsigned sweep(const scene* now)
{
    const uint32_t length   = length_of(now);
    uint32_t       previous = 0;
    unsigned       points = 0, moves = 0, damaged = 0;
    for (;; points++) {
        prepare(now);
        board_tick_after(points);
        interrupted_calls();
        is_over = true;
        wait_for_interrupt();
        board_tick_stop();
        if (theirs.was_late || theirs.count != 1) {
            break;
        }
        damaged += !is_sound();
        moves += theirs.address != previous;
        previous = theirs.address;
    }
    // Every instruction was interrupted: there were as many points, and each elsewhere than the one
    // before. Under the lock interrupts wait, so that there they may come at the same place.
    CHECK(theirs.count == 1 && points >= length && points < points_max);
    CHECK(is_locked ? moves > 1 : moves == points);
    board_print_text(now->name, 26);
    board_print_number(length, 12);
    board_print_number(points, 8);
    board_print_number(moves, 8);
    board_print_number(damaged, 9);
    board_print("\n");
    return damaged;
}

void board_main(void)
{
    is_locked = !board_argument_is("unlocked");
    board_print(is_locked ? "calls in a critical section\n" : "calls without a lock\n");
    board_print("pool                      instructions  points  places  damaged\n");
    unsigned damaged = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        damaged += sweep(&scenes[i]);
    }
    CHECK(is_locked ? damaged == 0 : damaged > 0);
}

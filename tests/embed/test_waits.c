// SPDX-License-Identifier: MIT
// A main loop that waits for a block, on ports of a Cortex-M without a system. The timer's
// interrupt counts milliseconds, and at one of them frees a block or cancels.
//
// Goal:   no wait sleeps for ever, and each has the one answer that is true afterwards, wherever
//         the interrupt falls: before the wait, on the way to the sleep, in it, or after it.
// Method: the interrupt's period grows by one instruction from run to run, so that its first three
//         interrupts come at each instruction of the call.
#include "board.h"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/cortex_m.h"

enum { block_bytes = 16, period_min = 40, period_count = 400 };

static egb_fixed         pool;
static egb_fixed_shared  shared;
static uint32_t          region[block_bytes / 4];
static void*             held;
static volatile uint32_t ticks;
static uint32_t          act_at;  // the tick that does something
static void (*act)(void);
static unsigned misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

static uint32_t clock_ms(void)
{
    return ticks;
}

void board_tick(void)
{
    if (++ticks == act_at) {
        act();
    }
}

static void give(void)
{
    egb_fixed_shared_free(&shared, held);
}

static void cancel(void)
{
    (void)egb_fixed_shared_cancel(&shared);
}

// ---- one wait -----------------------------------------------------------------------------------

typedef struct scene {
    const char* name;
    void (*act)(void);
    uint32_t   act_at;
    uint32_t   timeout_ms;
    egb_status usual;    // answers that this scene can have
    egb_status unusual;  // the same where it can have only one
} scene;

static const scene scenes[] = {
    {"freed at the first tick", give, 1, EGB_FOREVER, EGB_OK, EGB_OK},
    {"freed at the second tick", give, 2, EGB_FOREVER, EGB_OK, EGB_OK},
    {"freed when time is over", give, 3, 2, EGB_OK, EGB_TIMED_OUT},
    {"never freed", give, 1000, 2, EGB_TIMED_OUT, EGB_TIMED_OUT},
    {"cancelled when it waits", cancel, 2, EGB_FOREVER, EGB_CANCELLED, EGB_CANCELLED},
    {"cancelled when time is over", cancel, 3, 2, EGB_CANCELLED, EGB_TIMED_OUT},
};

static egb_status wait_once(const scene* now, const egb_port* port, uint32_t period, void** got)
{
    CHECK(egb_fixed_init(&pool, region, sizeof region, block_bytes) == EGB_OK);
    CHECK(egb_fixed_shared_init(&shared, &pool, port, 0) == EGB_OK);
    held   = egb_fixed_shared_alloc(&shared);
    ticks  = 0;
    act    = now->act;
    act_at = now->act_at;
    board_tick_after(period);
    const egb_status answer = egb_fixed_shared_alloc_for(&shared, got, now->timeout_ms);
    board_tick_stop();
    return answer;
}

// True if the answer fits the state of the pool.
static bool is_true(const scene* now, egb_status answer, const void* got)
{
    const bool   is_freed  = now->act == give && ticks >= now->act_at;
    const size_t in_use    = is_freed && answer != EGB_OK ? 0 : 1;
    const bool   is_block  = answer == EGB_OK ? got == held && is_freed : got == NULL;
    const bool   is_answer = answer == now->usual || answer == now->unusual;
    return is_block && is_answer && egb_fixed_shared_waiting(&shared) == 0 &&
           egb_fixed_shared_in_use(&shared) == in_use && egb_fixed_shared_whole(&shared);
}

static void run(const char* port_name, const egb_port* port)
{
    for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        unsigned usual = 0, wrong = 0;
        for (uint32_t period = period_min; period < period_min + period_count; period++) {
            void*            got    = NULL;
            const egb_status answer = wait_once(&scenes[i], port, period, &got);
            usual += answer == scenes[i].usual;
            wrong += !is_true(&scenes[i], answer, got);
        }
        board_print_text(port_name, 10);
        board_print_text(scenes[i].name, 30);
        board_print_number(usual, 6);
        board_print_number(period_count - usual, 6);
        board_print_number(wrong, 6);
        board_print("\n");
        CHECK(wrong == 0 && misuses == 0);
        CHECK(scenes[i].usual != scenes[i].unusual || usual == period_count);
    }
}

void board_main(void)
{
    static const egb_cortex_m_port by_primask = EGB_PORT_PRIMASK_WAITING(clock_ms);
    board_print("port      scene                          usual other wrong\n");
    run("PRIMASK", &by_primask.port);
#if __ARM_ARCH >= 7
    enum { tick_priority = 0x80 };
    static const egb_cortex_m_port by_basepri = EGB_PORT_BASEPRI_WAITING(tick_priority, clock_ms);
    BOARD_TICK_PRIORITY                       = tick_priority;
    run("BASEPRI", &by_basepri.port);
#endif
    void* got;
    CHECK(egb_fixed_init(&pool, region, sizeof region, block_bytes) == EGB_OK);
    CHECK(egb_fixed_shared_init(&shared, &pool, &egb_port_primask, 0) == EGB_OK);
    CHECK(egb_fixed_shared_alloc_for(&shared, &got, EGB_FOREVER) == EGB_OK);
    CHECK(egb_fixed_shared_alloc_for(&shared, &got, EGB_FOREVER) == EGB_UNSUPPORTED);
    CHECK(egb_fixed_shared_alloc_for(&shared, &got, 0) == EGB_EMPTY);
}

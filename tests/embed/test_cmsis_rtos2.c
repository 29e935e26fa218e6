// SPDX-License-Identifier: MIT
// The port for CMSIS-RTOS2 on a kernel that this test has: one thread, flags, and a clock that a
// sleep moves. While the thread sleeps, `meanwhile` acts for the others.
#include "board.h"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/cmsis_rtos2.h"

enum { ticks_per_second = 100, block_bytes = 16 };

static egb_fixed        pool;
static egb_fixed_shared shared;
static uint32_t         region[block_bytes / 4];
static void*            held;
static uint32_t         flags, now_ticks, sleeps, last_timeout;
static void (*meanwhile)(void);
static int thread;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    CHECK(false);
}

static bool is_masked(void)
{
    uint32_t primask;
    __asm__ volatile("mrs %0, primask" : "=r"(primask));
    return primask != 0;
}

uint32_t osKernelGetTickCount(void)
{
    return now_ticks;
}

uint32_t osKernelGetTickFreq(void)
{
    return ticks_per_second;
}

osThreadId_t osThreadGetId(void)
{
    return &thread;
}

uint32_t osThreadFlagsSet(osThreadId_t thread_id, uint32_t wanted)
{
    CHECK(thread_id == &thread && is_masked());
    return flags |= wanted;
}

uint32_t osThreadFlagsWait(uint32_t wanted, uint32_t options, uint32_t timeout)
{
    CHECK(!is_masked() && options == osFlagsWaitAny);
    last_timeout = timeout;
    sleeps++;
    if ((flags & wanted) == 0) {
        meanwhile();
        now_ticks += (flags & wanted) != 0 ? 1 : timeout;
    }
    const uint32_t found = flags & wanted;
    flags &= ~wanted;
    return found;
}

static void nothing(void) {}

static void give(void)
{
    egb_fixed_shared_free(&shared, held);
}

static void cancel(void)
{
    CHECK(egb_fixed_shared_cancel(&shared) == 1);
}

static egb_status wait(void (*others)(void), uint32_t timeout_ms)
{
    void* block = NULL;
    CHECK(egb_fixed_init(&pool, region, sizeof region, block_bytes) == EGB_OK);
    CHECK(egb_fixed_shared_init(&shared, &pool, &egb_port_cmsis_rtos2, 0) == EGB_OK);
    held                    = egb_fixed_shared_alloc(&shared);
    meanwhile               = others;
    sleeps                  = 0;
    const egb_status answer = egb_fixed_shared_alloc_for(&shared, &block, timeout_ms);
    CHECK(block == (answer == EGB_OK ? held : NULL));
    CHECK(!is_masked() && egb_fixed_shared_whole(&shared));
    CHECK(egb_fixed_shared_waiting(&shared) == 0);
    return answer;
}

void board_main(void)
{
    CHECK(wait(give, EGB_FOREVER) == EGB_OK && sleeps == 1 && last_timeout == osWaitForever);
    CHECK(wait(nothing, 20) == EGB_TIMED_OUT && last_timeout == 3);  // the first may be nearly over
    CHECK(wait(nothing, EGB_FOREVER - 1) == EGB_TIMED_OUT && last_timeout != osWaitForever);
    CHECK(wait(cancel, 20) == EGB_CANCELLED);
    flags = EGB_CMSIS_RTOS2_FLAG;  // left behind by an earlier wait
    CHECK(wait(give, 20) == EGB_OK && sleeps == 2 && flags == 0);
    flags = EGB_CMSIS_RTOS2_FLAG;
    CHECK(wait(nothing, 20) == EGB_TIMED_OUT && sleeps == 2);
}

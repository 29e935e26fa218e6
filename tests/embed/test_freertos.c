// SPDX-License-Identifier: MIT
// The port for FreeRTOS under its kernel: the timer's interrupt comes at each instruction of waits
// and frees. It frees, cancels, or counts a tick of the kernel by which the time of a task is over.
//
// Goal:   no wake-up is lost, no block is lost or has two owners, and the answer of a wait is true.
// Method: three tasks. The driver prepares a scene; a task of higher priority waits where others
//         free; one of lower priority runs while the driver sleeps. The argument `unlocked` leaves
//         the critical sections out: then there must be damage, or all this would prove nothing.
#include "board.h"

#include "eggbox/board_heap.h"

static egb_board_heap kernel_heap;

#define EGB_BOARD_HEAP kernel_heap
#include "eggbox/port/freertos_malloc.h"

enum {
    block_bytes   = 16,
    block_count   = 2,
    points_max    = 3000,
    asleep_points = 20,
    stack_words   = 256
};

enum { idle_priority, low_priority, driver_priority, high_priority };

static const egb_port*  port;
static bool             is_locked;
static egb_fixed        pool;
static egb_fixed_shared shared;
static uint32_t         region[EGB_FIXED_BYTES(block_bytes, block_count) / 4];
static unsigned         misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

// ---- tasks ------------------------------------------------------------------------------------

typedef struct worker {
    TaskHandle_t task;
    StaticTask_t control;
    StackType_t  stack[stack_words];
    void (*job)(struct worker* self);
    volatile bool is_done;
    egb_status    answer;
    void*         block;
} worker;

static worker driver, high, low;

static void work(void* argument)
{
    worker* const self = argument;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        self->job(self);
        self->is_done = true;
    }
}

static void start(worker* self, TaskFunction_t code, UBaseType_t priority)
{
    self->task =
        xTaskCreateStatic(code, "worker", stack_words, self, priority, self->stack, &self->control);
}

static void begin(worker* self, void (*job)(worker*))
{
    self->job     = job;
    self->is_done = false;
    self->answer  = EGB_BUSY;
    self->block   = NULL;
    xTaskNotifyGive(self->task);
}

// Until it sleeps.
static void let_low_run(void)
{
    vTaskPrioritySet(driver.task, idle_priority);
    vTaskPrioritySet(driver.task, driver_priority);
}

static void wait_for_ever(worker* self)
{
    self->answer = egb_fixed_shared_alloc_for(&shared, &self->block, EGB_FOREVER);
}

static void wait_for_a_tick(worker* self)
{
    self->answer = egb_fixed_shared_alloc_for(&shared, &self->block, 1);
}

// ---- the interrupt ----------------------------------------------------------------------------

void board_kernel_tick(void);

static void (*on_tick)(void);
static volatile unsigned ticks;
static volatile bool     is_over;  // the interrupted call has returned
static bool              was_late, was_asleep;
static void*             held[block_count];

// The timer is ours.
void vPortSetupTimerInterrupt(void);
void vPortSetupTimerInterrupt(void) {}

void board_tick(void)
{
    board_tick_stop();
    ticks++;
    was_late   = is_over;
    was_asleep = xTaskGetCurrentTaskHandle() == xTaskGetIdleTaskHandle();
    on_tick();
}

static void free_first(void)
{
    egb_fixed_shared_free(&shared, held[0]);
}

static void free_second(void)
{
    egb_fixed_shared_free(&shared, held[1]);
}

// Tries again later if nobody waits yet.
static void cancel(void)
{
    if (egb_fixed_shared_cancel(&shared) == 0) {
        board_tick_after(block_bytes);
    }
}

// The port lets a wait of one tick last two, because the first may be nearly over.
static void count_ticks(void)
{
    board_kernel_tick();
    board_kernel_tick();
    board_kernel_tick();
}

// ---- scenes -----------------------------------------------------------------------------------

static void prepare(size_t count)
{
    CHECK(egb_fixed_init(&pool, region, count * block_bytes, block_bytes) == EGB_OK);
    CHECK(egb_fixed_shared_init(&shared, &pool, port, 0) == EGB_OK);
    for (size_t i = 0; i < count; i++) {
        held[i] = egb_fixed_shared_alloc(&shared);
    }
    ticks      = 0;
    is_over    = false;
    was_asleep = false;
}

static bool is_whole(size_t in_use)
{
    return misuses == 0 && egb_fixed_shared_whole(&shared) &&
           egb_fixed_shared_waiting(&shared) == 0 && egb_fixed_shared_in_use(&shared) == in_use;
}

static void report(const char* name, unsigned points, unsigned damaged)
{
    board_print_text(name, 44);
    board_print_number(points, 6);
    board_print_number(damaged, 9);
    board_print("\n");
    CHECK(points > 50 && points < points_max && (damaged == 0) == is_locked);
}

// The driver's wait is ended by the interrupt, at each instruction on its way to the sleep.
static void sweep_wait(const char* name, void (*act)(void), egb_status answer)
{
    unsigned points = 0, damaged = 0, asleep = 0;
    on_tick = act;
    for (; asleep < asleep_points && points < points_max; points++) {
        prepare(1);
        board_tick_after(points);
        wait_for_ever(&driver);
        const void* const block = answer == EGB_OK ? held[0] : NULL;
        damaged += driver.answer != answer || driver.block != block || !is_whole(1);
        asleep += was_asleep;
    }
    report(name, points, damaged);
}

// The driver frees one block while a more urgent task waits; the interrupt frees the other one.
static void sweep_free(const char* name, void (*act)(void), size_t in_use)
{
    unsigned points = 0, damaged = 0;
    on_tick = act;
    for (was_late = false; !was_late && points < points_max; points++) {
        prepare(2);
        begin(&high, wait_for_ever);
        CHECK(egb_fixed_shared_waiting(&shared) == 1);
        board_tick_after(points);
        free_first();
        is_over = true;
        while (ticks == 0) {
        }
        const bool is_first = high.block == held[0] || high.block == held[1];
        damaged += !high.is_done || high.answer != EGB_OK || !is_first || !is_whole(in_use);
    }
    report(name, points, damaged);
}

// The same where nobody waits, which needs nothing of the kernel but its critical sections.
static void sweep_free_alone(void)
{
    unsigned points = 0, damaged = 0;
    on_tick = free_second;
    for (was_late = false; !was_late && points < points_max; points++) {
        prepare(2);
        board_tick_after(points);
        free_first();
        is_over = true;
        while (ticks == 0) {
        }
        damaged += !is_whole(0);
    }
    report("frees too, and nobody waits", points, damaged);
}

static uint32_t fires_after;  // the interrupt comes after so many instructions

static void free_in_low(worker* self)
{
    (void)self;
    board_tick_after(fires_after);
    free_first();
    is_over = true;
    while (ticks == 0) {
    }
}

// The driver's time is over while a task of lower priority frees the block that it waits for.
static void sweep_timeout(void)
{
    unsigned points = 0, damaged = 0, in_time = 0;
    on_tick = count_ticks;
    for (was_late = false; !was_late && points < points_max; points++) {
        prepare(1);
        fires_after = points;
        begin(&low, free_in_low);
        wait_for_a_tick(&driver);
        const bool has_block = driver.answer == EGB_OK;
        let_low_run();
        in_time += has_block;
        damaged += driver.block != (has_block ? held[0] : NULL) ||
                   (!has_block && driver.answer != EGB_TIMED_OUT) || !is_whole(has_block);
    }
    report("time is over at each instruction of a free", points, damaged);
    CHECK(in_time > 0 && in_time < points);
}

// The more urgent task is served first, though it came last.
static void check_priorities(void)
{
    prepare(2);
    begin(&low, wait_for_ever);
    let_low_run();
    CHECK(egb_fixed_shared_waiting(&shared) == 1);
    begin(&high, wait_for_ever);
    CHECK(egb_fixed_shared_waiting(&shared) == 2);
    free_first();
    CHECK(high.is_done && high.answer == EGB_OK && high.block == held[0]);
    CHECK(egb_fixed_shared_waiting(&shared) == 1);
    free_second();
    let_low_run();
    CHECK(low.is_done && low.answer == EGB_OK && low.block == held[1] && is_whole(2));
}

static int hook_calls;

void vApplicationMallocFailedHook(void)
{
    hook_calls++;
}

// The kernel's own objects are in the heap for boards.
static void check_heap_of_kernel(void)
{
    static uint64_t        memory[3 * 128 / 8];
    static egb_board_class classes[] = {{.block_bytes = 128, .count = 3}};
    CHECK(egb_board_init(&kernel_heap, memory, sizeof memory, classes, 1, port, 0) == EGB_OK);
    const SemaphoreHandle_t made = xSemaphoreCreateBinary();
    CHECK(egb_board_usable(&kernel_heap, made) == 128);
    CHECK(xPortGetFreeHeapSize() == 256 && xPortGetMinimumEverFreeHeapSize() == 256);
    vSemaphoreDelete(made);
    CHECK(xPortGetFreeHeapSize() == 384 && xPortGetMinimumEverFreeHeapSize() == 256);
    CHECK(pvPortMalloc(129) == NULL && hook_calls == 1);
    CHECK(pvPortCalloc(3, 43) == NULL && hook_calls == 2);
    void* const zeros = pvPortCalloc(4, 4);
    CHECK(zeros != NULL && *(uint32_t*)zeros == 0);
    vPortFree(zeros);
    CHECK(egb_board_whole(&kernel_heap));
}

static void drive(void* argument)
{
    (void)argument;
    board_print("FreeRTOS " tskKERNEL_VERSION_NUMBER ", the interrupt           points  damaged\n");
    sweep_free_alone();
    if (!is_locked) {
        board_end();
    }
    check_heap_of_kernel();
    check_priorities();
    sweep_wait("frees at each instruction of a wait", free_first, EGB_OK);
    sweep_wait("cancels at each instruction of a wait", cancel, EGB_CANCELLED);
    sweep_free("frees too at each instruction of a free", free_second, 1);
    sweep_free("counts ticks at each instruction of a free", count_ticks, 2);
    sweep_timeout();
    board_end();
}

static uintptr_t enter_nothing(const egb_port* self)
{
    (void)self;
    return 0;
}

static void leave_nothing(const egb_port* self, uintptr_t before)
{
    (void)self;
    (void)before;
}

void board_main(void)
{
    static egb_port unlocked;
    unlocked       = egb_port_freertos;
    unlocked.enter = enter_nothing;
    unlocked.leave = leave_nothing;
    is_locked      = !board_argument_is("unlocked");
    port           = is_locked ? &egb_port_freertos : &unlocked;
    start(&driver, drive, driver_priority);
    start(&high, work, high_priority);
    start(&low, work, low_priority);
    vTaskStartScheduler();
}

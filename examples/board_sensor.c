// SPDX-License-Identifier: MIT
// A sensor, a logger and an alarm, as on a board with an RTOS: the sensor's interrupt takes blocks
// and never waits; the logger waits for a block; the alarm has a block in reserve. On a board,
// egb_port_freertos or another port stands in place of the one for POSIX, and the thread that plays
// the interrupt is one.
#define _POSIX_C_SOURCE 200809L

#include "eggbox/board_heap.h"
#include "eggbox/port/posix.h"

#include <pthread.h>
#include <stdio.h>

enum { sample_count = 4, reserve = 1 };

struct sample {
    unsigned time_ms;
    int      millidegrees;
};

EGB_FIXED_DEFINE(sample_blocks, struct sample, sample_count);

static egb_posix_port   port;
static egb_fixed_shared samples;

// The interrupt handler: it drops each sample that it cannot store.
static unsigned drop_count(unsigned wanted, struct sample** stored)
{
    unsigned dropped = 0;
    for (unsigned i = 0; i < wanted; i++) {
        stored[i] = egb_fixed_shared_alloc(&samples);
        dropped += stored[i] == NULL;
    }
    return dropped;
}

// The logger: waits as long as it takes, or until the board goes to sleep.
static void* log_one(void* answer)
{
    void* block;
    *(egb_status*)answer = egb_fixed_shared_alloc_for(&samples, &block, EGB_FOREVER);
    egb_fixed_shared_free(&samples, block);
    return block;
}

static egb_status wait_in_other_thread(void (*meanwhile)(void* argument), void* argument)
{
    egb_status answer = EGB_INVALID;
    pthread_t  logger;
    if (pthread_create(&logger, NULL, log_one, &answer) != 0) {
        return EGB_NO_MEMORY;
    }
    while (egb_fixed_shared_waiting(&samples) == 0) {
        (void)sched_yield();
    }
    meanwhile(argument);
    (void)pthread_join(logger, NULL);
    return answer;
}

static void give_back(void* block)
{
    egb_fixed_shared_free(&samples, block);
}

static void go_to_sleep(void* ignored)
{
    (void)ignored;
    (void)egb_fixed_shared_cancel(&samples);
}

// Texts of any length, on static memory too.
static void log_text(void)
{
    static egb_board_class classes[] = {
        {.block_bytes = 32, .count = 4}, {.block_bytes = 128, .count = 2}
    };
    static uint64_t       memory[(32 * 4 + 128 * 2) / sizeof(uint64_t)];
    static egb_board_heap heap;
    if (egb_board_init(&heap, memory, sizeof memory, classes, 2, &port.port, 0) == EGB_OK) {
        char* const text = egb_board_alloc(&heap, 48);
        printf("a text of 48 bytes has %zu\n", egb_board_usable(&heap, text));
        egb_board_free(&heap, text);
    }
}

int main(void)
{
    struct sample* stored[sample_count];
    if (egb_posix_port_init(&port) != EGB_OK ||
        egb_fixed_shared_init(&samples, &sample_blocks, &port.port, reserve) != EGB_OK) {
        return 1;
    }
    printf("dropped %u of %d\n", drop_count(sample_count, stored), (int)sample_count);
    struct sample* const alarm = egb_fixed_shared_alloc_urgent(&samples);
    printf("the alarm has a block: %s\n", alarm != NULL ? "yes" : "no");
    egb_fixed_shared_free(&samples, alarm);
    const egb_status freed = wait_in_other_thread(give_back, stored[0]);
    printf("the logger waits for a block: %s\n", egb_status_text(freed));
    stored[0]              = egb_fixed_shared_alloc(&samples);
    const egb_status slept = wait_in_other_thread(go_to_sleep, NULL);
    printf("the board goes to sleep: %s\n", egb_status_text(slept));
    log_text();
    return 0;
}

// SPDX-License-Identifier: MIT
// See FreeRTOS.h.
#ifndef EGGBOX_TESTS_PORTS_SEMPHR_H
#define EGGBOX_TESTS_PORTS_SEMPHR_H

#include "FreeRTOS.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct StaticSemaphore_t {
    unsigned count;
} StaticSemaphore_t;

typedef StaticSemaphore_t* SemaphoreHandle_t;

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t* storage);
BaseType_t        xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks);
BaseType_t        xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t* is_woken);
void              vSemaphoreDelete(SemaphoreHandle_t semaphore);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_SEMPHR_H

// SPDX-License-Identifier: MIT
// The part of ESP-IDF's FreeRTOS that the port uses, declared by us from its documentation: the
// sources are in no registry that the tests can use. test_declared.cpp has a kernel of it. FreeRTOS
// itself runs in tests/embed/test_freertos.c.
#ifndef EGGBOX_TESTS_PORTS_FREERTOS_H
#define EGGBOX_TESTS_PORTS_FREERTOS_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef int          BaseType_t;
typedef unsigned int UBaseType_t;
typedef uint32_t     TickType_t;

typedef struct portMUX_TYPE {
    uint32_t count;
} portMUX_TYPE;

#define pdFALSE            ((BaseType_t)0)
#define pdTRUE             ((BaseType_t)1)
#define portMAX_DELAY      ((TickType_t)0xFFFFFFFF)
#define configTICK_RATE_HZ 100

// clang-format off
#define portMUX_INITIALIZER_UNLOCKED {0}
// clang-format on
#define portENTER_CRITICAL_SAFE(mux) vPortEnterCriticalSafe(mux)
#define portEXIT_CRITICAL_SAFE(mux)  vPortExitCriticalSafe(mux)
#define portYIELD_FROM_ISR(is_due)   vPortYieldFromISR(is_due)

BaseType_t xPortInIsrContext(void);
void       vPortEnterCriticalSafe(portMUX_TYPE* mux);
void       vPortExitCriticalSafe(portMUX_TYPE* mux);
void       vPortYieldFromISR(BaseType_t is_due);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_FREERTOS_H

// SPDX-License-Identifier: MIT
// See FreeRTOS.h.
#ifndef EGGBOX_TESTS_PORTS_TASK_H
#define EGGBOX_TESTS_PORTS_TASK_H

#include "FreeRTOS.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct task* TaskHandle_t;

#define taskYIELD() vPortYield()

void        vPortYield(void);
UBaseType_t uxTaskPriorityGet(TaskHandle_t task);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_TASK_H

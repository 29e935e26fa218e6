// SPDX-License-Identifier: MIT
// A port for FreeRTOS on one core, and for ESP-IDF's FreeRTOS on one core or two: critical sections
// of the kernel, and a binary semaphore on the stack of each task that waits.
//
// Runs with FreeRTOS in the tests of eggbox. The lines for ESP-IDF are compiled against
// declarations of our own, not against ESP-IDF.
//
// FreeRTOSConfig.h has configSUPPORT_STATIC_ALLOCATION and INCLUDE_uxTaskPriorityGet as 1.
// Interrupts that use a pool are no more urgent than configMAX_SYSCALL_INTERRUPT_PRIORITY.
#ifndef EGGBOX_PORT_FREERTOS_H
#define EGGBOX_PORT_FREERTOS_H

#include "../port.h"

#if defined(ESP_PLATFORM)
  #include <freertos/FreeRTOS.h>
  #include <freertos/semphr.h>
  #include <freertos/task.h>
#else
  #include <FreeRTOS.h>
  #include <semphr.h>
  #include <task.h>
#endif

/// Whether this is an interrupt. Only a port of FreeRTOS can tell; those for Cortex-M and ESP-IDF
/// do. Define it before this header for another processor whose interrupts use a pool.
#if !defined(EGB_FREERTOS_IN_INTERRUPT)
  #if defined(ESP_PLATFORM)
    #define EGB_FREERTOS_IN_INTERRUPT() (xPortInIsrContext() != pdFALSE)
  #elif defined(__arm__)
    #define EGB_FREERTOS_IN_INTERRUPT() (xPortIsInsideInterrupt() != pdFALSE)
  #else
    #define EGB_FREERTOS_IN_INTERRUPT() false
  #endif
#endif

EGB_C_BEGIN_

#if defined(ESP_PLATFORM)
// The other core does not stop: a critical section is a lock. Each source file has one, and a port
// with it; a pool keeps the port that it was made with.
static portMUX_TYPE egb_freertos_lock_ = portMUX_INITIALIZER_UNLOCKED;

static inline uintptr_t egb_freertos_enter_(const egb_port* port)
{
    (void)port;
    portENTER_CRITICAL_SAFE(&egb_freertos_lock_);
    return 0;
}

static inline void egb_freertos_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    (void)before;
    portEXIT_CRITICAL_SAFE(&egb_freertos_lock_);
}
#else
static inline uintptr_t egb_freertos_enter_(const egb_port* port)
{
    (void)port;
    if (EGB_FREERTOS_IN_INTERRUPT()) {
        return (uintptr_t)taskENTER_CRITICAL_FROM_ISR();
    }
    taskENTER_CRITICAL();
    return 0;
}

static inline void egb_freertos_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    (void)before;  // some kernels have nothing to restore in an interrupt
    if (EGB_FREERTOS_IN_INTERRUPT()) {
        taskEXIT_CRITICAL_FROM_ISR((UBaseType_t)before);
    } else {
        taskEXIT_CRITICAL();
    }
}
#endif

// A tick more, because the first one may be nearly over.
static inline TickType_t egb_freertos_ticks_(uint32_t timeout_ms)
{
    const uint64_t ticks = ((uint64_t)timeout_ms * configTICK_RATE_HZ + 999u) / 1000u + 1u;
    return ticks < portMAX_DELAY ? (TickType_t)ticks : portMAX_DELAY - 1u;
}

// Ticks of 16 bits may not be enough for the whole time: then it is slept in parts.
static inline void egb_freertos_sleep_(SemaphoreHandle_t event, uint32_t timeout_ms)
{
    const uint64_t most    = ((uint64_t)portMAX_DELAY - 2u) * 1000u / configTICK_RATE_HZ;
    const uint32_t longest = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    uint32_t       left    = timeout_ms;
    uint32_t       part;
    do {
        part = left < longest ? left : longest;
        left = timeout_ms == EGB_FOREVER ? EGB_FOREVER : left - part;
    } while (xSemaphoreTake(event, egb_freertos_ticks_(part)) == pdFALSE && left > 0);
}

static inline uintptr_t
egb_freertos_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    StaticSemaphore_t       storage;
    const SemaphoreHandle_t event = xSemaphoreCreateBinaryStatic(&storage);
    waiter->event                 = event;
    egb_freertos_leave_(port, before);
    egb_freertos_sleep_(event, timeout_ms);
    before = egb_freertos_enter_(port);
    vSemaphoreDelete(event);
    return before;
}

// The call for interrupts changes no task at once, in a task neither.
static inline void egb_freertos_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    (void)xSemaphoreGiveFromISR((SemaphoreHandle_t)waiter->event, NULL);
}

static inline void egb_freertos_reschedule_(const egb_port* port)
{
    (void)port;
    if (EGB_FREERTOS_IN_INTERRUPT()) {
        portYIELD_FROM_ISR(pdTRUE);
    } else {
        taskYIELD();
    }
}

static inline uint32_t egb_freertos_priority_(const egb_port* port)
{
    (void)port;
    return (uint32_t)uxTaskPriorityGet(NULL);
}

/// Pools for tasks and interrupts. Tasks that wait are served by their priorities.
static const egb_port egb_port_freertos = {
    egb_freertos_enter_,
    egb_freertos_leave_,
    egb_freertos_wait_,
    egb_freertos_wake_,
    egb_freertos_reschedule_,
    egb_freertos_priority_
};

EGB_C_END_

#endif  // EGGBOX_PORT_FREERTOS_H

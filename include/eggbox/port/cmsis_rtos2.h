// SPDX-License-Identifier: MIT
// A port for systems with the interface CMSIS-RTOS2 on a Cortex-M of one core: PRIMASK, and a flag
// of each thread that waits. Threads that wait are served in the order of their arrival: with
// interrupts masked, CMSIS-RTOS2 does not tell a priority.
//
// Compiled in the tests of eggbox against declarations of our own, not against a system.
#ifndef EGGBOX_PORT_CMSIS_RTOS2_H
#define EGGBOX_PORT_CMSIS_RTOS2_H

#include "cortex_m.h"

#include <cmsis_os2.h>

/// The thread flag that a port of this kind uses. Define it before this header if the program has
/// another use for this one.
#if !defined(EGB_CMSIS_RTOS2_FLAG)
  #define EGB_CMSIS_RTOS2_FLAG (UINT32_C(1) << 30)
#endif

EGB_C_BEGIN_

// A tick more, because the first one may be nearly over.
static inline uint32_t egb_cmsis_rtos2_ticks_(uint32_t timeout_ms)
{
    if (timeout_ms == EGB_FOREVER) {
        return osWaitForever;
    }
    const uint64_t ticks = ((uint64_t)timeout_ms * osKernelGetTickFreq() + 999u) / 1000u + 1u;
    return ticks < osWaitForever ? (uint32_t)ticks : osWaitForever - 1u;
}

// A flag that an earlier wait has left behind ends only one round of the loop.
static inline uintptr_t egb_cmsis_rtos2_wait_(
    const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before
)
{
    waiter->event = (void*)osThreadGetId();
    egb_primask_leave_(port, before);
    const uint32_t ticks = egb_cmsis_rtos2_ticks_(timeout_ms);
    const uint32_t start = osKernelGetTickCount();
    before               = egb_primask_enter_(port);
    uint32_t passed      = 0;
    while (waiter->answer == EGB_BUSY && (ticks == osWaitForever || passed < ticks)) {
        egb_primask_leave_(port, before);
        (void)osThreadFlagsWait(
            EGB_CMSIS_RTOS2_FLAG,
            osFlagsWaitAny,
            ticks == osWaitForever ? osWaitForever : ticks - passed
        );
        passed = osKernelGetTickCount() - start;
        before = egb_primask_enter_(port);
    }
    return before;
}

// With interrupts masked the system takes this for a call of an interrupt, and changes no thread
// before they are not.
static inline void egb_cmsis_rtos2_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    (void)osThreadFlagsSet((osThreadId_t)waiter->event, EGB_CMSIS_RTOS2_FLAG);
}

/// Pools for threads and interrupts.
static const egb_port egb_port_cmsis_rtos2 = {
    egb_primask_enter_, egb_primask_leave_, egb_cmsis_rtos2_wait_, egb_cmsis_rtos2_wake_, NULL, NULL
};

EGB_C_END_

#endif  // EGGBOX_PORT_CMSIS_RTOS2_H

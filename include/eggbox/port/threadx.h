// SPDX-License-Identifier: MIT
// A port for ThreadX on one core: interrupts are disabled, and each thread that waits has a
// semaphore on its stack.
//
// ThreadX changes threads within its calls, with interrupts disabled too, unless its preemption is
// held back as its own components do it. That needs two names of tx_thread.h.
//
// Compiled in the tests of eggbox against declarations of our own, not against ThreadX.
#ifndef EGGBOX_PORT_THREADX_H
#define EGGBOX_PORT_THREADX_H

#include "../port.h"

#include <tx_api.h>
#include <tx_thread.h>

EGB_C_BEGIN_

static inline uintptr_t egb_threadx_enter_(const egb_port* port)
{
    (void)port;
    return (uintptr_t)tx_interrupt_control(TX_INT_DISABLE);
}

static inline void egb_threadx_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    (void)tx_interrupt_control((UINT)before);
}

// A tick more, because the first one may be nearly over.
static inline ULONG egb_threadx_ticks_(uint32_t timeout_ms)
{
    if (timeout_ms == EGB_FOREVER) {
        return TX_WAIT_FOREVER;
    }
    const uint64_t ticks = ((uint64_t)timeout_ms * TX_TIMER_TICKS_PER_SECOND + 999u) / 1000u + 1u;
    return ticks < TX_WAIT_FOREVER ? (ULONG)ticks : TX_WAIT_FOREVER - 1u;
}

// tx_thread_wait_abort() ends a sleep early, which ends no wait of ours.
static inline void egb_threadx_sleep_(TX_SEMAPHORE* event, ULONG ticks)
{
    const ULONG start  = tx_time_get();
    ULONG       passed = 0;
    while (tx_semaphore_get(event, ticks == TX_WAIT_FOREVER ? ticks : ticks - passed) ==
           TX_WAIT_ABORTED) {
        passed = tx_time_get() - start;
        if (ticks != TX_WAIT_FOREVER && passed >= ticks) {
            return;
        }
    }
}

static inline uintptr_t
egb_threadx_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    static CHAR  name[] = "eggbox";
    TX_SEMAPHORE event;
    if (tx_semaphore_create(&event, name, 0) != TX_SUCCESS) {
        return before;  // called where no thread can wait: time is over at once
    }
    waiter->event = &event;
    egb_threadx_leave_(port, before);
    egb_threadx_sleep_(&event, egb_threadx_ticks_(timeout_ms));
    before = egb_threadx_enter_(port);
    _tx_thread_preempt_disable++;
    (void)tx_semaphore_delete(&event);
    _tx_thread_preempt_disable--;
    return before;
}

static inline void egb_threadx_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    _tx_thread_preempt_disable++;
    (void)tx_semaphore_put((TX_SEMAPHORE*)waiter->event);
    _tx_thread_preempt_disable--;
}

// Does nothing in an interrupt: its end looks for a thread that is ready.
static inline void egb_threadx_reschedule_(const egb_port* port)
{
    (void)port;
    _tx_thread_system_preempt_check();
}

// In ThreadX the smaller number is the more urgent priority.
static inline uint32_t egb_threadx_priority_(const egb_port* port)
{
    (void)port;
    return UINT32_MAX - (uint32_t)tx_thread_identify()->tx_thread_priority;
}

/// Pools for threads and interrupts. Threads that wait are served by their priorities.
static const egb_port egb_port_threadx = {
    egb_threadx_enter_,
    egb_threadx_leave_,
    egb_threadx_wait_,
    egb_threadx_wake_,
    egb_threadx_reschedule_,
    egb_threadx_priority_
};

EGB_C_END_

#endif  // EGGBOX_PORT_THREADX_H

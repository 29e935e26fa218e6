// SPDX-License-Identifier: MIT
// A port for Zephyr: irq_lock(), which on several cores is a lock of all of them, and a semaphore
// on the stack of each thread that waits. Threads in user mode cannot use it, and programs with
// CONFIG_TRACING_OBJECT_TRACKING cannot wait: that list would keep the semaphore.
//
// Compiled in the tests of eggbox against declarations of our own, not against Zephyr.
#ifndef EGGBOX_PORT_ZEPHYR_H
#define EGGBOX_PORT_ZEPHYR_H

#include "../port.h"

#include <zephyr/kernel.h>

EGB_C_BEGIN_

static inline uintptr_t egb_zephyr_enter_(const egb_port* port)
{
    (void)port;
    return irq_lock();
}

static inline void egb_zephyr_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    irq_unlock((unsigned int)before);
}

static inline uintptr_t
egb_zephyr_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    struct k_sem event;
    (void)k_sem_init(&event, 0, 1);
    waiter->event = &event;
    egb_zephyr_leave_(port, before);
    (void)k_sem_take(&event, timeout_ms == EGB_FOREVER ? K_FOREVER : K_MSEC(timeout_ms));
    before = egb_zephyr_enter_(port);
#if defined(CONFIG_OBJ_CORE_SEM)
    k_obj_core_unlink(K_OBJ_CORE(&event));  // or it stays in a list of the kernel's
#endif
    return before;
}

// While interrupts are locked, the kernel changes no thread.
static inline void egb_zephyr_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    k_sem_give((struct k_sem*)waiter->event);
}

// irq_unlock() does not look for a thread that is ready; k_sched_unlock() does.
static inline void egb_zephyr_reschedule_(const egb_port* port)
{
    (void)port;
    if (!k_is_in_isr()) {
        k_sched_lock();
        k_sched_unlock();
    }
}

// In Zephyr the smaller number is the more urgent priority, and some are negative.
static inline uint32_t egb_zephyr_priority_(const egb_port* port)
{
    (void)port;
    return UINT32_C(0x80000000) - (uint32_t)k_thread_priority_get(k_current_get());
}

/// Pools for threads of the kernel and interrupts. Threads that wait are served by priority.
static const egb_port egb_port_zephyr = {
    egb_zephyr_enter_,
    egb_zephyr_leave_,
    egb_zephyr_wait_,
    egb_zephyr_wake_,
    egb_zephyr_reschedule_,
    egb_zephyr_priority_
};

EGB_C_END_

#endif  // EGGBOX_PORT_ZEPHYR_H

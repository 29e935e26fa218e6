// SPDX-License-Identifier: MIT
// Ports for a Cortex-M without a system: critical sections by PRIMASK or BASEPRI, and a main loop
// that waits until an interrupt frees a block.
//
// These are for one core. For two cores see spin.h.
#ifndef EGGBOX_PORT_CORTEX_M_H
#define EGGBOX_PORT_CORTEX_M_H

#include "../port.h"

#if !defined(__GNUC__) || !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
  #error "eggbox/port/cortex_m.h is for Cortex-M, and for gcc, clang or armclang"
#endif

EGB_C_BEGIN_

/// A port with a clock or a priority.
typedef struct egb_cortex_m_port {
    egb_port port;
    uint32_t (*clock_ms)(void);  // milliseconds since some moment, counted by an interrupt
    uint32_t basepri;            // keeps out this priority and all less urgent ones
} egb_cortex_m_port;

/// The value of an egb_cortex_m_port that can wait, by PRIMASK: it keeps all interrupts out except
/// NMI and HardFault. `clock_ms` is a function, called in critical sections.
///
/// While the main loop waits, the core sleeps until an interrupt (WFI). The interrupt that counts
/// milliseconds must therefore go on.
#define EGB_PORT_PRIMASK_WAITING(clock_ms)                                                        \
    {{egb_primask_enter_, egb_primask_leave_, egb_primask_wait_, egb_cortex_m_wake_, NULL, NULL}, \
     (clock_ms),                                                                                  \
     0}

/// The value of an egb_cortex_m_port by BASEPRI, which cannot wait: interrupts more urgent than
/// `priority` go on, and must not use the pool. `priority` is as the core has it, in the upper bits
/// of a byte: priority 5 of a core with 4 priority bits is 0x50. Not on Cortex-M0, M0+, M1 and M23.
#define EGB_PORT_BASEPRI(priority)                                                       \
    {{egb_basepri_enter_, egb_basepri_leave_, NULL, NULL, NULL, NULL}, NULL, (priority)}

/// The same, and the main loop can wait, as with EGB_PORT_PRIMASK_WAITING().
#define EGB_PORT_BASEPRI_WAITING(priority, clock_ms)                                              \
    {{egb_basepri_enter_, egb_basepri_leave_, egb_basepri_wait_, egb_cortex_m_wake_, NULL, NULL}, \
     (clock_ms),                                                                                  \
     (priority)}

// ---- private from here on -----------------------------------------------------------------------

static inline uintptr_t egb_primask_enter_(const egb_port* port)
{
    uint32_t before;
    (void)port;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
    return before;
}

static inline void egb_primask_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}

static inline bool
egb_cortex_m_has_time_(const egb_cortex_m_port* port, uint32_t start_ms, uint32_t timeout_ms)
{
    return timeout_ms == EGB_FOREVER || port->clock_ms() - start_ms < timeout_ms;
}

// WFI ends when an interrupt is pending, masked by PRIMASK or not: none can be missed between the
// question and the sleep. The barrier lets it run before the mask is set again.
static inline uintptr_t
egb_primask_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    const egb_cortex_m_port* const self     = (const egb_cortex_m_port*)(const void*)port;
    const uint32_t                 start_ms = self->clock_ms();
    while (waiter->answer == EGB_BUSY && egb_cortex_m_has_time_(self, start_ms, timeout_ms)) {
        __asm__ volatile("wfi" ::: "memory");
        egb_primask_leave_(port, before);
        __asm__ volatile("isb" ::: "memory");
        before = egb_primask_enter_(port);
    }
    return before;
}

// The interrupt that answered has ended the sleep already.
static inline void egb_cortex_m_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    (void)waiter;
}

#if __ARM_ARCH >= 7 || defined(__ARM_ARCH_8M_MAIN__)

// `basepri_max` only ever raises, and sections therefore nest. The barriers make sure that the mask
// holds for the next instruction.
static inline uintptr_t egb_basepri_enter_(const egb_port* port)
{
    const uint32_t basepri = ((const egb_cortex_m_port*)(const void*)port)->basepri;
    uint32_t       before;
    __asm__ volatile("mrs %0, basepri\n msr basepri_max, %1\n isb\n dsb"
                     : "=&r"(before)
                     : "r"(basepri)
                     : "memory");
    return before;
}

static inline void egb_basepri_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    __asm__ volatile("msr basepri, %0" ::"r"(before) : "memory");
}

// WFI does not end for an interrupt that BASEPRI masks. PRIMASK therefore takes over for the sleep.
static inline uintptr_t
egb_basepri_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    const egb_cortex_m_port* const self     = (const egb_cortex_m_port*)(const void*)port;
    const uint32_t                 start_ms = self->clock_ms();
    while (waiter->answer == EGB_BUSY && egb_cortex_m_has_time_(self, start_ms, timeout_ms)) {
        __asm__ volatile("cpsid i" ::: "memory");
        egb_basepri_leave_(port, before);
        __asm__ volatile("wfi\n cpsie i\n isb" ::: "memory");
        before = egb_basepri_enter_(port);
    }
    return before;
}

#endif

/// Critical sections by PRIMASK; nothing can wait.
static const egb_port egb_port_primask = {
    egb_primask_enter_, egb_primask_leave_, NULL, NULL, NULL, NULL
};

EGB_C_END_

#endif  // EGGBOX_PORT_CORTEX_M_H

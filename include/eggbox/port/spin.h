// SPDX-License-Identifier: MIT
// A port for several cores that share memory: another port keeps interrupts of this core out, and a
// spin lock keeps the other cores out.
//
// The lock is a word that is exchanged by the compiler's atomic operations: LDREX and STREX on
// Cortex-M3 and later. Cortex-M0+ has none; a program for the RP2040 writes the same four functions
// with the chip's own spin locks.
#ifndef EGGBOX_PORT_SPIN_H
#define EGGBOX_PORT_SPIN_H

#include "../port.h"

#if !defined(__GNUC__)
  #error "eggbox/port/spin.h needs the atomic operations of gcc or clang"
#endif

EGB_C_BEGIN_

/// One lock: one object for all pools that may wait for each other, or one for each pool.
typedef struct egb_spin_port {
    egb_port        port;
    const egb_port* mask;    // keeps this core's interrupts out
    uint32_t (*core)(void);  // the number of this core
    uint32_t owner;          // the core that holds the lock, plus 1; 0: free
    uint32_t depth;          // sections that the owner is in
} egb_spin_port;

/// The value of an egb_spin_port. `mask` is the address of another port, such as egb_port_primask.
/// `core` is a function that returns the number of the core that calls it. Nothing can wait here: a
/// thread that slept on one core would have to be woken by the other.
#define EGB_PORT_SPIN(mask, core)                                                      \
    {{egb_spin_enter_, egb_spin_leave_, NULL, NULL, NULL, NULL}, (mask), (core), 0, 0}

// ---- private from here on -----------------------------------------------------------------------

static inline egb_spin_port* egb_spin_self_(const egb_port* port)
{
    return (egb_spin_port*)(uintptr_t)port;
}

static inline uintptr_t egb_spin_enter_(const egb_port* port)
{
    egb_spin_port* const self   = egb_spin_self_(port);
    const uintptr_t      before = self->mask->enter(self->mask);
    const uint32_t       me     = self->core() + 1;
    if (__atomic_load_n(&self->owner, __ATOMIC_RELAXED) != me) {
        uint32_t nobody = 0;
        while (!__atomic_compare_exchange_n(
            &self->owner, &nobody, me, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED
        )) {
            nobody = 0;
        }
    }
    self->depth++;
    return before;
}

static inline void egb_spin_leave_(const egb_port* port, uintptr_t before)
{
    egb_spin_port* const self = egb_spin_self_(port);
    if (--self->depth == 0) {
        __atomic_store_n(&self->owner, 0, __ATOMIC_RELEASE);
    }
    self->mask->leave(self->mask, before);
}

EGB_C_END_

#endif  // EGGBOX_PORT_SPIN_H

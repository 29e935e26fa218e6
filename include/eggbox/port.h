// SPDX-License-Identifier: MIT
// Layer core: the port, by which the core asks the system that it runs on for critical sections,
// and for threads that wait. Ports that are ready for use lie in include/eggbox/port/.
//
// A port is a constant table of functions. One program can use several ports: for example, pools
// that only threads use, beside pools that interrupts use too.
#ifndef EGGBOX_PORT_H
#define EGGBOX_PORT_H

#include "base.h"

EGB_C_BEGIN_

/// A timeout without an end, in milliseconds.
#define EGB_FOREVER UINT32_MAX

/// A thread that waits for a block. It lies on that thread's stack.
typedef struct egb_waiter {
    void*      event;   // the port's: by this `wake` knows whom to wake
    egb_status answer;  // EGB_BUSY while the thread has to wait; changes in critical sections only
    // Private from here on.
    bool               is_urgent;
    uint32_t           priority;
    void*              block;
    struct egb_waiter* next;
} egb_waiter;

/// The functions of a port. Each gets the port itself, which may be the first member of a larger
/// structure with data of the port's own.
typedef struct egb_port {
    /// Begins a critical section: until its end no other thread or interrupt that uses the same
    /// port runs in one. Returns what `leave` needs to restore.
    ///
    /// Sections nest: whoever is in one may begin another. If interrupts use the port, `enter`
    /// and `leave` are called in interrupts, and keep other such interrupts out.
    uintptr_t (*enter)(const struct egb_port* port);

    /// Ends the critical section that returned `before`.
    void (*leave)(const struct egb_port* port, uintptr_t before);

    /// Sleeps until `waiter->answer` is no longer EGB_BUSY, or `timeout_ms` milliseconds are over;
    /// EGB_FOREVER: no limit. Called by a thread in a critical section, the outermost. Leaves the
    /// section while the thread sleeps; enters anew, and returns what `leave` needs.
    ///
    /// Before it leaves the section it sets `waiter->event`. NULL: nothing can wait here.
    uintptr_t (*wait)(
        const struct egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before
    );

    /// Wakes the thread of `waiter`, whose answer is there now. Called in a critical section, by a
    /// thread or an interrupt. No other thread may run before the end of the section: `waiter` ends
    /// with its wait. NULL if `wait` is.
    void (*wake)(const struct egb_port* port, egb_waiter* waiter);

    /// Called after the end of a section in which `wake` was called, if threads do not change
    /// places by themselves. NULL: they do.
    void (*reschedule)(const struct egb_port* port);

    /// The priority of this thread: a larger number is served first, and equal ones in the order of
    /// their arrival. NULL: the order of arrival alone.
    uint32_t (*priority)(const struct egb_port* port);
} egb_port;

EGB_C_END_

#endif  // EGGBOX_PORT_H

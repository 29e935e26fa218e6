// SPDX-License-Identifier: MIT
// A port for threads of POSIX: a mutex, with priority inheritance where the system has it, and a
// condition variable for each thread that waits. Not for signal handlers.
//
// In C without extensions of the compiler, define _POSIX_C_SOURCE to 200809L before any header.
#ifndef EGGBOX_PORT_POSIX_H
#define EGGBOX_PORT_POSIX_H

#include "../port.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

EGB_C_BEGIN_

/// One mutex: one object for all pools, or one for each pool.
typedef struct egb_posix_port {
    egb_port        port;
    pthread_mutex_t mutex;
} egb_posix_port;

static inline uintptr_t egb_posix_enter_(const egb_port* port);
static inline void      egb_posix_leave_(const egb_port* port, uintptr_t before);
static inline uintptr_t egb_posix_wait_(const egb_port*, egb_waiter*, uint32_t, uintptr_t);
static inline void      egb_posix_wake_(const egb_port* port, egb_waiter* waiter);
static inline uint32_t  egb_posix_priority_(const egb_port* port);

/// Makes the port. The threads that wait are served by their priority under SCHED_FIFO and
/// SCHED_RR; others have the priority 0.
///
/// Returns  EGB_OK; EGB_NO_MEMORY if the system cannot make the mutex.
EGB_NODISCARD static inline egb_status egb_posix_port_init(egb_posix_port* self)
{
    const egb_port port = {
        egb_posix_enter_,
        egb_posix_leave_,
        egb_posix_wait_,
        egb_posix_wake_,
        NULL,
        egb_posix_priority_
    };
    pthread_mutexattr_t how;
    if (pthread_mutexattr_init(&how) != 0) {
        return EGB_NO_MEMORY;
    }
    int error = pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
#if defined(_POSIX_THREAD_PRIO_INHERIT) && _POSIX_THREAD_PRIO_INHERIT > 0
    if (error == 0) {
        error = pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    }
#endif
    if (error == 0) {
        error = pthread_mutex_init(&self->mutex, &how);
    }
    (void)pthread_mutexattr_destroy(&how);
    if (error != 0) {
        return EGB_NO_MEMORY;
    }
    self->port = port;
    return EGB_OK;
}

/// Ends the port. No thread uses a pool of this port any more.
static inline void egb_posix_port_destroy(egb_posix_port* self)
{
    (void)pthread_mutex_destroy(&self->mutex);
}

// ---- private from here on -----------------------------------------------------------------------

static inline pthread_mutex_t* egb_posix_mutex_(const egb_port* port)
{
    return &((egb_posix_port*)(uintptr_t)port)->mutex;
}

static inline uintptr_t egb_posix_enter_(const egb_port* port)
{
    (void)pthread_mutex_lock(egb_posix_mutex_(port));
    return 0;
}

static inline void egb_posix_leave_(const egb_port* port, uintptr_t before)
{
    (void)before;
    (void)pthread_mutex_unlock(egb_posix_mutex_(port));
}

// Condition variables of macOS know only the clock of the day.
#if defined(__APPLE__)
  #define EGB_POSIX_CLOCK_ CLOCK_REALTIME
#else
  #define EGB_POSIX_CLOCK_ CLOCK_MONOTONIC
#endif

static inline struct timespec egb_posix_after_(uint32_t milliseconds)
{
    struct timespec when;
    (void)clock_gettime(EGB_POSIX_CLOCK_, &when);
    when.tv_sec += (time_t)(milliseconds / 1000);
    when.tv_nsec += (long)(milliseconds % 1000) * 1000000L;
    if (when.tv_nsec >= 1000000000L) {
        when.tv_nsec -= 1000000000L;
        when.tv_sec++;
    }
    return when;
}

static inline int egb_posix_event_init_(pthread_cond_t* event)
{
    pthread_condattr_t how;
    int                error = pthread_condattr_init(&how);
    if (error == 0) {
#if !defined(__APPLE__)
        (void)pthread_condattr_setclock(&how, EGB_POSIX_CLOCK_);
#endif
        error = pthread_cond_init(event, &how);
        (void)pthread_condattr_destroy(&how);
    }
    return error;
}

// A system that has no room for a condition variable lets no thread wait: time is over at once.
// pthread_cancel() acts after the wait: a thread that ended in it would keep the mutex, and the
// line would lead to its stack.
static inline uintptr_t
egb_posix_wait_(const egb_port* port, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
{
    pthread_mutex_t* const mutex = egb_posix_mutex_(port);
    pthread_cond_t         event;
    int                    cancels = PTHREAD_CANCEL_ENABLE;
    if (egb_posix_event_init_(&event) != 0) {
        return before;
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
    waiter->event              = &event;
    const struct timespec when = egb_posix_after_(timeout_ms);
    int                   over = 0;
    while (waiter->answer == EGB_BUSY && over == 0) {
        over = timeout_ms == EGB_FOREVER ? pthread_cond_wait(&event, mutex)
                                         : pthread_cond_timedwait(&event, mutex, &when);
    }
    (void)pthread_setcancelstate(cancels, NULL);
    (void)pthread_cond_destroy(&event);
    return before;
}

static inline void egb_posix_wake_(const egb_port* port, egb_waiter* waiter)
{
    (void)port;
    (void)pthread_cond_signal((pthread_cond_t*)waiter->event);
}

static inline uint32_t egb_posix_priority_(const egb_port* port)
{
    int                policy = 0;
    struct sched_param priority;
    (void)port;
    if (pthread_getschedparam(pthread_self(), &policy, &priority) != 0 ||
        (policy != SCHED_FIFO && policy != SCHED_RR)) {
        return 0;
    }
    return (uint32_t)priority.sched_priority;
}

EGB_C_END_

#endif  // EGGBOX_PORT_POSIX_H

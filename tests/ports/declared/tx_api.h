// SPDX-License-Identifier: MIT
// The part of ThreadX that the port for it uses, declared by us from its documentation: the
// sources are in no registry that the tests can use. test_declared.cpp has a kernel of it.
#ifndef EGGBOX_TESTS_PORTS_TX_API_H
#define EGGBOX_TESTS_PORTS_TX_API_H

#if defined(__cplusplus)
extern "C" {
#endif

typedef char          CHAR;
typedef unsigned int  UINT;
typedef unsigned long ULONG;

typedef struct TX_SEMAPHORE_STRUCT {
    ULONG tx_semaphore_count;
} TX_SEMAPHORE;

typedef struct TX_THREAD_STRUCT {
    UINT tx_thread_priority;
} TX_THREAD;

#define TX_SUCCESS                ((UINT)0)
#define TX_WAIT_ABORTED           ((UINT)0x1A)
#define TX_INT_DISABLE            1u
#define TX_WAIT_FOREVER           ((ULONG)0xFFFFFFFFUL)
#define TX_TIMER_TICKS_PER_SECOND ((ULONG)100)

UINT       tx_interrupt_control(UINT new_posture);
UINT       tx_semaphore_create(TX_SEMAPHORE* semaphore, CHAR* name, ULONG initial_count);
UINT       tx_semaphore_delete(TX_SEMAPHORE* semaphore);
UINT       tx_semaphore_get(TX_SEMAPHORE* semaphore, ULONG wait_option);
UINT       tx_semaphore_put(TX_SEMAPHORE* semaphore);
TX_THREAD* tx_thread_identify(void);
ULONG      tx_time_get(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_TX_API_H

// SPDX-License-Identifier: MIT
// The two names that the components of ThreadX use to hold its preemption back: see tx_api.h.
#ifndef EGGBOX_TESTS_PORTS_TX_THREAD_H
#define EGGBOX_TESTS_PORTS_TX_THREAD_H

#if defined(__cplusplus)
extern "C" {
#endif

extern volatile UINT _tx_thread_preempt_disable;
void                 _tx_thread_system_preempt_check(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_TX_THREAD_H

// SPDX-License-Identifier: MIT
// The part of CMSIS-RTOS2 that the port for it uses, declared by us from its documentation: no
// system with it is in a registry that the tests can use. test_cmsis_rtos2.c has a kernel of it.
#ifndef EGGBOX_TESTS_PORTS_CMSIS_OS2_H
#define EGGBOX_TESTS_PORTS_CMSIS_OS2_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef void* osThreadId_t;

#define osWaitForever  0xFFFFFFFFu
#define osFlagsWaitAny 0x00000000u

uint32_t     osKernelGetTickCount(void);
uint32_t     osKernelGetTickFreq(void);
osThreadId_t osThreadGetId(void);
uint32_t     osThreadFlagsSet(osThreadId_t thread_id, uint32_t flags);
uint32_t     osThreadFlagsWait(uint32_t flags, uint32_t options, uint32_t timeout);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_CMSIS_OS2_H

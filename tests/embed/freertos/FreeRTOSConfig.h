// SPDX-License-Identifier: MIT
// FreeRTOS as test_freertos.c needs it. The timer is the test's: it may fire at any instruction.
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdint.h>

void board_check(_Bool truth, const char* what, const char* file, unsigned line);

#define configUSE_PREEMPTION                    1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 0
#define configUSE_IDLE_HOOK                     0
#define configUSE_TICK_HOOK                     0
#define configUSE_MALLOC_FAILED_HOOK            1
#define configCPU_CLOCK_HZ                      16000000
#define configTICK_RATE_HZ                      1000
#define configTICK_TYPE_WIDTH_IN_BITS           TICK_TYPE_WIDTH_32_BITS
#define configMAX_PRIORITIES                    5
#define configMINIMAL_STACK_SIZE                128
#define configMAX_TASK_NAME_LEN                 8
#define configUSE_TIMERS                        0
#define configSUPPORT_STATIC_ALLOCATION         1
#define configSUPPORT_DYNAMIC_ALLOCATION        1
#define configKERNEL_PROVIDED_STATIC_MEMORY     1
#define configCHECK_HANDLER_INSTALLATION        0
#define configENABLE_MPU                        0
#define configKERNEL_INTERRUPT_PRIORITY         0xFF
#define configMAX_SYSCALL_INTERRUPT_PRIORITY    0x40
#define configASSERT(truth)                     board_check((truth), #truth, __FILE__, __LINE__)

#define INCLUDE_uxTaskPriorityGet      1
#define INCLUDE_vTaskSuspend           1
#define INCLUDE_xTaskGetIdleTaskHandle 1
#define INCLUDE_vTaskPrioritySet       1
#define INCLUDE_vTaskDelay             1
#define INCLUDE_vTaskDelete            1
#define INCLUDE_xTaskGetSchedulerState 1

// The names of the handlers in the ports for Cortex-M3, and for Cortex-M0.
#define vPortSVCHandler     board_supervisor_call
#define xPortPendSVHandler  board_pending_switch
#define xPortSysTickHandler board_kernel_tick
#define SVC_Handler         board_supervisor_call
#define PendSV_Handler      board_pending_switch
#define SysTick_Handler     board_kernel_tick

#endif  // FREERTOS_CONFIG_H

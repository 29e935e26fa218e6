// SPDX-License-Identifier: MIT
// The heap of FreeRTOS on a board heap, in place of the kernel's heap_1.c to heap_5.c. Include this
// in exactly one C file, after a macro that names the heap:
//
//     static egb_board_heap heap;
//     #define EGB_BOARD_HEAP heap
//     #include <eggbox/port/freertos_malloc.h>
//
// Call egb_board_init() with egb_port_freertos before the first task is made. There is no
// vPortGetHeapStats(): the numbers of each class are in board_heap.h.
#ifndef EGGBOX_PORT_FREERTOS_MALLOC_H
#define EGGBOX_PORT_FREERTOS_MALLOC_H

#if !defined(EGB_BOARD_HEAP)
  #error "define EGB_BOARD_HEAP as the name of an egb_board_heap"
#endif

#include "../board_heap.h"
#include "freertos.h"

static void* egb_board_or_hook_(void* block)
{
#if configUSE_MALLOC_FAILED_HOOK == 1
    if (block == NULL) {
        vApplicationMallocFailedHook();
    }
#endif
    return block;
}

void* pvPortMalloc(size_t bytes)
{
    return egb_board_or_hook_(egb_board_alloc(&EGB_BOARD_HEAP, bytes));
}

void* pvPortCalloc(size_t count, size_t bytes)
{
    return egb_board_or_hook_(egb_board_calloc(&EGB_BOARD_HEAP, count, bytes));
}

void vPortFree(void* block)
{
    egb_board_free(&EGB_BOARD_HEAP, block);
}

// Nothing to do: egb_board_init() has done it.
void vPortInitialiseBlocks(void) {}

size_t xPortGetFreeHeapSize(void)
{
    return egb_board_available(&EGB_BOARD_HEAP);
}

// As if all classes had had their peaks at one time: never more than there was.
size_t xPortGetMinimumEverFreeHeapSize(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < EGB_BOARD_HEAP.class_count; i++) {
        const egb_board_class* const at = &EGB_BOARD_HEAP.classes[i];
        bytes += (at->count - egb_board_class_peak(&EGB_BOARD_HEAP, i)) * at->block_bytes;
    }
    return bytes;
}

#endif  // EGGBOX_PORT_FREERTOS_MALLOC_H

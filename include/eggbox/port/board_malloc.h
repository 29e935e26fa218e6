// SPDX-License-Identifier: MIT
// malloc of a board's C library, on a board heap. Include this in exactly one C file, after a macro
// that names the heap:
//
//     static egb_board_heap heap;
//     #define EGB_BOARD_HEAP heap
//     #include <eggbox/port/board_malloc.h>
//
// It defines malloc, calloc, realloc, free, memalign and aligned_alloc, and for newlib also
// _malloc_r and its kind, which newlib's own functions call. Call egb_board_init() before anything
// allocates: in the reset handler, before constructors and before main.
#ifndef EGGBOX_PORT_BOARD_MALLOC_H
#define EGGBOX_PORT_BOARD_MALLOC_H

#if !defined(EGB_BOARD_HEAP)
  #error "define EGB_BOARD_HEAP as the name of an egb_board_heap"
#endif

#include "../board_heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static void* egb_board_or_error_(void* block)
{
    if (block == NULL) {
        errno = ENOMEM;
    }
    return block;
}

void* malloc(size_t bytes)
{
    return egb_board_or_error_(egb_board_alloc(&EGB_BOARD_HEAP, bytes));
}

void* calloc(size_t count, size_t bytes)
{
    return egb_board_or_error_(egb_board_calloc(&EGB_BOARD_HEAP, count, bytes));
}

void* realloc(void* block, size_t bytes)
{
    return egb_board_or_error_(egb_board_realloc(&EGB_BOARD_HEAP, block, bytes));
}

void free(void* block)
{
    egb_board_free(&EGB_BOARD_HEAP, block);
}

void* memalign(size_t align, size_t bytes)
{
    return egb_board_or_error_(egb_board_aligned_alloc(&EGB_BOARD_HEAP, align, bytes));
}

void* aligned_alloc(size_t align, size_t bytes)
{
    return memalign(align, bytes);
}

size_t malloc_usable_size(void* block)
{
    return egb_board_usable(&EGB_BOARD_HEAP, block);
}

#if defined(__NEWLIB__)

// The first argument has the thread's errno, which `errno` finds as well.
void* _malloc_r(struct _reent* reent, size_t bytes)
{
    (void)reent;
    return malloc(bytes);
}

void* _calloc_r(struct _reent* reent, size_t count, size_t bytes)
{
    (void)reent;
    return calloc(count, bytes);
}

void* _realloc_r(struct _reent* reent, void* block, size_t bytes)
{
    (void)reent;
    return realloc(block, bytes);
}

void _free_r(struct _reent* reent, void* block)
{
    (void)reent;
    free(block);
}

void* _memalign_r(struct _reent* reent, size_t align, size_t bytes)
{
    (void)reent;
    return memalign(align, bytes);
}

size_t _malloc_usable_size_r(struct _reent* reent, void* block)
{
    (void)reent;
    return malloc_usable_size(block);
}

#endif

#endif  // EGGBOX_PORT_BOARD_MALLOC_H

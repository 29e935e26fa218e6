/* SPDX-License-Identifier: MIT */
/* The module that a program has around x_allocator. */
#ifndef MY_ALLOCATOR_H
#define MY_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void* MYALLOC_Alloc(size_t size);
void  MYALLOC_Free(void* ptr);
void* MYALLOC_Realloc(void* ptr, size_t new_size);
void* MYALLOC_Calloc(size_t num, size_t size);

#ifdef __cplusplus
}
#endif

#endif

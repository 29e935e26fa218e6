/* SPDX-License-Identifier: MIT */
#include "my_allocator.h"
#include "x_allocator.h"

#define BLOCK_32_SIZE   32 + XALLOC_BLOCK_META_DATA_SIZE
#define BLOCK_128_SIZE  128 + XALLOC_BLOCK_META_DATA_SIZE
#define BLOCK_4096_SIZE 4096 + XALLOC_BLOCK_META_DATA_SIZE

ALLOC_DEFINE(myDataAllocator32, BLOCK_32_SIZE, 10)
ALLOC_DEFINE(myDataAllocator128, BLOCK_128_SIZE, 5)
ALLOC_DEFINE(myDataAllocator4096, BLOCK_4096_SIZE, 1000)

static ALLOC_Allocator* allocators[] = {
    &myDataAllocator32Obj, &myDataAllocator128Obj, &myDataAllocator4096Obj
};

#define MAX_ALLOCATORS (sizeof(allocators) / sizeof(allocators[0]))

static XAllocData self = {allocators, MAX_ALLOCATORS};

void* MYALLOC_Alloc(size_t size)
{
    return XALLOC_Alloc(&self, size);
}

void MYALLOC_Free(void* ptr)
{
    XALLOC_Free(ptr);
}

void* MYALLOC_Realloc(void* ptr, size_t new_size)
{
    return XALLOC_Realloc(&self, ptr, new_size);
}

void* MYALLOC_Calloc(size_t num, size_t size)
{
    return XALLOC_Calloc(&self, num, size);
}

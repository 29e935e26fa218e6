/* SPDX-License-Identifier: MIT */
/* A program for C_Allocator: a static pool, a module of several sizes, its assertions, and the five
   phases of its benchmark. */
#include "DataTypes.h"
#include "Fault.h"
#include "fb_allocator.h"
#include "my_allocator.h"
#include <stdio.h>
#include <string.h>

#define MAX_BLOCKS     500
#define MAX_BLOCK_SIZE 4096

typedef struct {
    CHAR data[128];
} MyData;

typedef void* (*AllocFunc)(int size);
typedef void (*DeallocFunc)(void* ptr);

ALLOC_DEFINE(TestAlloc, 16, 5);
ALLOC_DEFINE(BenchmarkFbAlloc, MAX_BLOCK_SIZE, MAX_BLOCKS * 2)

static void* memoryPtrs[MAX_BLOCKS];
static void* memoryPtrs2[MAX_BLOCKS];

static void* AllocFbAllocator(int size)
{
    return ALLOC_Alloc(BenchmarkFbAlloc, (size_t)size);
}

static void DeallocFbAllocator(void* ptr)
{
    ALLOC_Free(BenchmarkFbAlloc, ptr);
}

static void* AllocXAllocator(int size)
{
    return MYALLOC_Alloc((size_t)size);
}

static void DeallocXAllocator(void* ptr)
{
    MYALLOC_Free(ptr);
}

static void Benchmark(AllocFunc allocFunc, DeallocFunc deallocFunc)
{
    int i;
    for (i = 0; i < MAX_BLOCKS; i++) {
        memoryPtrs[i] = allocFunc(MAX_BLOCK_SIZE / 2);
        ASSERT_TRUE(memoryPtrs[i] != NULL);
    }
    for (i = 0; i < MAX_BLOCKS; i += 2) {
        deallocFunc(memoryPtrs[i]);
    }
    for (i = 0; i < MAX_BLOCKS; i++) {
        memoryPtrs2[i] = allocFunc(MAX_BLOCK_SIZE);
        ASSERT_TRUE(memoryPtrs2[i] != NULL);
    }
    for (i = 1; i < MAX_BLOCKS; i += 2) {
        deallocFunc(memoryPtrs[i]);
    }
    for (i = MAX_BLOCKS - 1; i >= 0; i--) {
        deallocFunc(memoryPtrs2[i]);
    }
}

int main(void)
{
    void*   data;
    void*   mem1;
    void*   mem2;
    MyData* myData;
    int     run;

    ALLOC_Init();
    data = ALLOC_Alloc(TestAlloc, 16);
    memset(data, 0, 16);
    ASSERT_TRUE(TestAllocObj.blocksInUse == 1);
    ALLOC_Free(TestAlloc, data);

    mem1 = MYALLOC_Alloc(28);
    mem2 = MYALLOC_Calloc(1, 32);
    mem2 = MYALLOC_Realloc(mem2, 128);
    memset(mem1, 0, 28);
    memset(mem2, 0, 128);
    MYALLOC_Free(mem1);
    MYALLOC_Free(mem2);

    myData = (MyData*)MYALLOC_Alloc(sizeof(MyData));
    memset(myData->data, 0, 128);
    MYALLOC_Free(myData);
    ASSERT_TRUE(TestAllocObj.blocksInUse == 0);
    ASSERT_TRUE(TestAllocObj.maxBlocksInUse == 1);

    for (run = 0; run < 3; run++) {
        Benchmark(AllocFbAllocator, DeallocFbAllocator);
        Benchmark(AllocXAllocator, DeallocXAllocator);
    }
    printf(
        "%u allocations, most in use %u of %u\n",
        BenchmarkFbAllocObj.allocations,
        BenchmarkFbAllocObj.maxBlocksInUse,
        BenchmarkFbAllocObj.maxBlocks
    );
    for (run = 0; run < 5; run++) {
        ASSERT_TRUE(ALLOC_Alloc(TestAlloc, 16) != NULL);
    }
    ASSERT_TRUE(ALLOC_Alloc(TestAlloc, 16) == NULL);
    ALLOC_Term();
    return 0;
}

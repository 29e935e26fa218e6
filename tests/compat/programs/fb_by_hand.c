/* SPDX-License-Identifier: MIT */
/* A program that writes out what ALLOC_DEFINE wrote, with the members that there were: for it no
   block could be had. */
#include "fb_allocator.h"
#include "x_allocator.h"
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define BLOCKS 40

static char            memory[ALLOC_BLOCK_SIZE(32) * BLOCKS];
static ALLOC_Allocator byHandObj = {
    "byHand", memory, 32, ALLOC_BLOCK_SIZE(32), BLOCKS, NULL, 0, 0, 0, 0, 0};
static ALLOC_HANDLE byHand = &byHandObj;

static ALLOC_Allocator* allocators[] = {&byHandObj};
static XAllocData       self         = {allocators, 1};

int main(void)
{
    void* blocks[BLOCKS];
    void* one;
    int   i;

    ALLOC_Init();
    for (i = 0; i < BLOCKS; i++) {
        blocks[i] = ALLOC_Alloc(byHand, 32);
        if (blocks[i] == NULL) {
            return 1;
        }
        memset(blocks[i], 1, 32);
    }
    if (ALLOC_Alloc(byHand, 32) != NULL) {
        return 1;
    }
    for (i = 0; i < BLOCKS; i++) {
        ALLOC_Free(byHand, blocks[i]);
    }
    one = XALLOC_Alloc(&self, 24);
    if (one == NULL) {
        return 1;
    }
    XALLOC_Free(one);
    printf("%u of %u\n", (unsigned)byHandObj.blocksInUse, (unsigned)byHandObj.maxBlocksInUse);
    return byHandObj.maxBlocksInUse == BLOCKS && byHandObj.blocksInUse == 0 ? 0 : 1;
}

// SPDX-License-Identifier: MIT
// A program that compiles the library and the older interfaces into itself, and has functions of
// its own with names of xallocator, which many programs have. This program once did not link.
#include "eggbox/pool.h"

#include <stdlib.h>

void* xmalloc(size_t bytes);
void* xrealloc(void* block, size_t bytes);
void  xfree(void* block);

static int calls;

void* xmalloc(size_t bytes)
{
    calls++;
    return malloc(bytes);
}

void* xrealloc(void* block, size_t bytes)
{
    calls++;
    return realloc(block, bytes);
}

void xfree(void* block)
{
    calls++;
    free(block);
}

int main(void)
{
    const egb_pool_options options = {.block_bytes = 32};
    egb_pool               pool;
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        return 1;
    }
    egb_pool_free(pool, egb_pool_alloc(pool));
    xfree(xrealloc(xmalloc(3), 5));
    return egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK && calls == 3 ? 0 : 1;
}

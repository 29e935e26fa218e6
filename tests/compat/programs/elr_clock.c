/* SPDX-License-Identifier: MIT */
/* A benchmark in the way of elr_mpl's own: for each size a pool, and a thousand random steps of
   alloc, touch and free in the order of a stack. (EB-9: that one was for
   one compiler's assembler.) */
#include "elr_mpl.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 1000

struct times {
    int           allocs, frees;
    unsigned long alloc_clocks, free_clocks;
};

static unsigned long my_clock(void)
{
    return (unsigned long)clock();
}

static int run(size_t bytes, struct times* out)
{
    char*         stack[STEPS];
    int           top = 0;
    int           step;
    unsigned long start;
    elr_mpl_t     pool = elr_mpl_create(NULL, bytes);

    if (elr_mpl_avail(&pool) == 0) {
        return 0;
    }
    srand(1);
    for (step = 0; step < STEPS; step++) {
        if (rand() % 100 < 50) {
            start      = my_clock();
            stack[top] = (char*)elr_mpl_alloc(&pool);
            out->alloc_clocks += my_clock() - start;
            out->allocs++;
            if (stack[top] == NULL) {
                return 0;
            }
            *(stack[top] + (bytes - 1)) = 0;
            top++;
        } else if (top > 0) {
            top--;
            start = my_clock();
            elr_mpl_free(stack[top]);
            out->free_clocks += my_clock() - start;
            out->frees++;
        }
    }
    elr_mpl_destroy(&pool);
    return 1;
}

int main(void)
{
    static const size_t sizes[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    size_t              i;

    elr_mpl_init();
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct times times = {0, 0, 0, 0};
        if (!run(sizes[i], &times)) {
            return 1;
        }
        printf(
            "%d: %d allocs %lu, %d frees %lu\n",
            (int)sizes[i],
            times.allocs,
            times.alloc_clocks,
            times.frees,
            times.free_clocks
        );
    }
    elr_mpl_finalize();
    return 0;
}

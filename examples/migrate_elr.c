// SPDX-License-Identifier: MIT
// An unchanged program for elr_mpl, and the new questions that it can ask on eggbox: old calls and
// new ones work on the same pools. Such programs include "elr_mpl.h", with include/eggbox/compat on
// their include path.
#include "eggbox/compat/elr_mpl.h"
#include "eggbox/pool.h"

#include <stdio.h>

typedef struct image {
    int           number;
    unsigned char pixels[4092];
} image;

static void on_free(void* mem)
{
    printf("image %d goes with its pool\n", ((image*)mem)->number);
}

// The old part: a camera has a pool, and below it one for the finds in its images.
static elr_mpl_t camera;
static elr_mpl_t finds;

static image* see(int number)
{
    image* const seen = elr_mpl_alloc(&camera);
    if (seen != NULL) {
        seen->number = number;
    }
    return seen;
}

// The new part: numbers, from any block.
static void print_numbers(const void* block)
{
    egb_pool_stats stats;
    if (egb_pool_get_stats(egb_pool_of(block), &stats) == EGB_OK) {
        printf(
            "%s: %d in use, %d of %d bytes each are ours\n",
            stats.name,
            (int)stats.in_use,
            (int)stats.block_bytes,
            (int)stats.stride_bytes
        );
    }
}

int main(void)
{
    if (elr_mpl_init() == 0) {
        return 1;
    }
    camera       = elr_mpl_create(NULL, sizeof(image), NULL, on_free);
    finds        = elr_mpl_create(&camera, 24);
    image* first = see(1);
    image* last  = see(2);
    if (first == NULL || last == NULL || elr_mpl_alloc(&finds) == NULL) {
        return 1;
    }
    print_numbers(last);
    printf("fresh images are %s\n", last->pixels[4091] == 0 ? "black" : "noise");
    elr_mpl_t copy = camera;
    elr_mpl_destroy(&camera);
    printf("the copy of the handle is %s\n", elr_mpl_avail(&copy) ? "there" : "stale");
    printf("the pool below is %s\n", elr_mpl_avail(&finds) ? "there" : "gone with it");
    elr_mpl_finalize();
    return 0;
}

// SPDX-License-Identifier: MIT
// The program of the trials of packages: a pool, a block of it, and the pool's numbers.
#include <eggbox/pool.h>
#include <eggbox/stats.h>

#include <stdio.h>

int main(void)
{
    const egb_pool_options options = {.name = "requests", .block_bytes = 128};
    egb_pool               requests;
    if (egb_pool_create(&requests, &options) != EGB_OK) {
        return 1;
    }
    void* const    request = egb_pool_alloc(requests);
    egb_pool_stats stats;
    if (egb_pool_get_stats(requests, &stats) != EGB_OK) {
        return 1;
    }
    printf("pool %s: in use %zu, peak %zu\n", stats.name, stats.in_use, stats.peak);
    egb_pool_free(requests, request);
    return egb_pool_destroy(requests, EGB_DESTROY_REFUSE) == EGB_OK ? 0 : 1;
}

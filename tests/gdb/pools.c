// SPDX-License-Identifier: MIT
// A program for the debugger: pools of known contents, then a stop in a function of this name.
#include "eggbox/heap.h"
#include "eggbox/pool.h"

#include <stdlib.h>

void* first;
void* freed;
void* large;
int   outside;

void stop_here(void);

__attribute__((noinline)) void stop_here(void)
{
    abort();
}

static egb_pool make(const char* name, size_t block_bytes, egb_pool parent, egb_level level)
{
    const egb_pool_options options = {
        .name = name, .block_bytes = block_bytes, .parent = parent, .level = level
    };
    egb_pool pool = {0, 0};
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        exit(1);
    }
    return pool;
}

int main(void)
{
    const egb_pool none     = {0, 0};
    const egb_pool session  = make("session", 400, none, EGB_LEVEL_CHECK);
    const egb_pool requests = make("requests", 64, session, EGB_LEVEL_CHECK);
    const egb_pool quick    = make("quick", 32, none, EGB_LEVEL_OFF);
    const egb_pool watched  = make("watched", 100, none, EGB_LEVEL_TRACK);
    void*          blocks[1000];
    for (int i = 0; i < 1000; i++) {
        blocks[i] = egb_pool_alloc(requests);
    }
    for (int i = 500; i < 1000; i++) {
        egb_pool_free(requests, blocks[i]);
    }
    first = blocks[0];
    freed = blocks[999];
    large = egb_malloc(1000000);
    egb_pool_free(watched, egb_pool_alloc(watched));
    if (egb_pool_alloc(session) == NULL || egb_pool_alloc(quick) == NULL ||
        egb_pool_alloc(watched) == NULL || large == NULL) {
        return 1;
    }
    stop_here();
    return 0;
}

// SPDX-License-Identifier: MIT
// The inline functions of core, as a program calls them that does not read our headers. Nor does
// this file: a pool is an object of 36 bytes.
#include "board.h"

int   egb_fixed_init(void* pool, void* region, size_t region_bytes, size_t block_bytes);
int   egb_fixed_init_unchecked(void* pool, void* region, size_t region_bytes, size_t block_bytes);
void* egb_fixed_alloc(void* pool);
void  egb_fixed_free(void* pool, void* block);
void* egb_fixed_alloc_unchecked(void* pool);
void  egb_fixed_free_unchecked(void* pool, void* block);

void egb_misuse(const void* event);

static unsigned misuses;

void egb_misuse(const void* event)
{
    (void)event;
    misuses++;
}

void board_main(void)
{
    static uint32_t pool[9];
    static uint32_t region[32];
    CHECK(egb_fixed_init(pool, region, sizeof region, 16) == 0);
    void* block = egb_fixed_alloc(pool);
    CHECK(block == region && egb_fixed_alloc(pool) == region + 4);
    egb_fixed_free(pool, block);
    CHECK(egb_fixed_alloc(pool) == block && misuses == 0);
    egb_fixed_free(pool, region + 1);
    CHECK(misuses == 1);

    CHECK(egb_fixed_init_unchecked(pool, region, sizeof region, 16) == 0);
    block = egb_fixed_alloc_unchecked(pool);
    CHECK(block == region && egb_fixed_alloc_unchecked(pool) == region + 4);
    egb_fixed_free_unchecked(pool, block);
    CHECK(egb_fixed_alloc_unchecked(pool) == block);
}

// SPDX-License-Identifier: MIT
// The hot paths alone, for scripts/hot_path.py to count their instructions.
#include "eggbox/fixed.h"
#include "eggbox/pool.h"

void* hot_alloc(egb_fixed* pool);
void  hot_free(egb_fixed* pool, void* block);
void* hot_alloc_static(void);
void  hot_free_static(void* block);
void* hot_alloc_unchecked(egb_fixed* pool);
void  hot_free_unchecked(egb_fixed* pool, void* block);
void* hot_pool_alloc(egb_pool pool);
void  hot_pool_free(egb_pool pool, void* block);
void* hot_cache_alloc(egb_cache* cache);
void  hot_cache_free(egb_cache* cache, void* block);

void* hot_alloc(egb_fixed* pool)
{
    return egb_fixed_alloc(pool);
}

void hot_free(egb_fixed* pool, void* block)
{
    egb_fixed_free(pool, block);
}

typedef struct record {
    char bytes[24];
} record;

EGB_FIXED_DEFINE_MARKED(records, record, 100);

void* hot_alloc_static(void)
{
    return records_alloc();
}

void hot_free_static(void* block)
{
    records_free(block);
}

void* hot_alloc_unchecked(egb_fixed* pool)
{
    return egb_fixed_alloc_unchecked(pool);
}

void hot_free_unchecked(egb_fixed* pool, void* block)
{
    egb_fixed_free_unchecked(pool, block);
}

void* hot_pool_alloc(egb_pool pool)
{
    return egb_pool_alloc(pool);
}

void hot_pool_free(egb_pool pool, void* block)
{
    egb_pool_free(pool, block);
}

void* hot_cache_alloc(egb_cache* cache)
{
    return egb_cache_alloc(cache);
}

void hot_cache_free(egb_cache* cache, void* block)
{
    egb_cache_free(cache, block);
}

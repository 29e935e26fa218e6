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
void* hot_cache_alloc(egb_magazine* cache);
void  hot_cache_free(egb_magazine* cache, void* block);
void* plain_pool_alloc(egb_pool pool);
void  plain_pool_free(egb_pool pool, void* block);
void* plain_cache_alloc(egb_magazine* cache);
void  plain_cache_free(egb_magazine* cache, void* block);

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

void* hot_cache_alloc(egb_magazine* cache)
{
    return egb_magazine_alloc(cache);
}

void hot_cache_free(egb_magazine* cache, void* block)
{
    egb_magazine_free(cache, block);
}

// The same calls of a library without levels. At level "off" the real calls must not take more.

EGB_INLINE bool plain_pop(egb_magazine_* magazine, void** block)
{
    const uintptr_t top = EGB_LOAD_(magazine->top) - sizeof(egb_entry_);
    __atomic_store_n(&magazine->top, top, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (EGB_UNLIKELY(egb_is_above_(&magazine->bottom, top))) {
        EGB_STORE_(magazine->top, top + sizeof(egb_entry_));
        return false;
    }
    *block = EGB_LOAD_(((const egb_entry_*)top)->block);
    return true;
}

void* plain_pool_alloc(egb_pool pool)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    void*                block;
    return EGB_LIKELY(egb_key_is_(&magazine->key, key) && plain_pop(magazine, &block))
               ? block
               : egb_pool_alloc_cold_(egb_pool_of_key_(key));
}

void plain_pool_free(egb_pool pool, void* block)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (EGB_UNLIKELY(
            !egb_key_is_(&magazine->key, key) || !egb_magazine_undo_(magazine, block, false)
        )) {
        egb_pool_free_other_(egb_pool_of_key_(key), block);
    }
}

void* plain_cache_alloc(egb_magazine* cache)
{
    void* block;
    return EGB_LIKELY(plain_pop(&cache->magazine, &block)) ? block
                                                           : egb_magazine_alloc_cold_(cache);
}

void plain_cache_free(egb_magazine* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    if (EGB_UNLIKELY(
            EGB_LOAD_(magazine->top) == 0 || !egb_magazine_undo_(magazine, block, false)
        )) {
        egb_magazine_free_other_(cache, block);
    }
}

// SPDX-License-Identifier: MIT
// The arguments that linkable.c passes. It is a C file, because C has inline copies of these
// functions.
#include "eggbox/eggbox.h"

extern egb_fixed* const    linkable_fixed;
extern egb_fixed* const    linkable_unchecked;
extern egb_magazine* const linkable_cache;
extern egb_pool            linkable_pool;

int linkable_make(void);
int linkable_end(void);

static egb_fixed    fixed;
static egb_fixed    unchecked;
static egb_magazine cache;
static uint64_t     fixed_region[64];
static uint64_t     unchecked_region[64];

egb_fixed* const    linkable_fixed     = &fixed;
egb_fixed* const    linkable_unchecked = &unchecked;
egb_magazine* const linkable_cache     = &cache;
egb_pool            linkable_pool;

int linkable_make(void)
{
    const egb_pool_options options = {.block_bytes = 40};
    return egb_fixed_init(&fixed, fixed_region, sizeof fixed_region, 16) == EGB_OK &&
                   egb_fixed_init_unchecked(
                       &unchecked, unchecked_region, sizeof unchecked_region, 16
                   ) == EGB_OK &&
                   egb_pool_create(&linkable_pool, &options) == EGB_OK &&
                   egb_magazine_open(&cache, linkable_pool) == EGB_OK
               ? 0
               : 1;
}

// A block of the one function is a block of the other.
int linkable_end(void)
{
    void* (*const alloc)(egb_pool)      = egb_pool_alloc;
    void (*const give)(egb_pool, void*) = egb_pool_free;
    give(linkable_pool, egb_pool_alloc(linkable_pool));
    egb_pool_free(linkable_pool, alloc(linkable_pool));
    egb_magazine_close(&cache);
    return egb_fixed_in_use(&fixed) == 1 && egb_fixed_in_use(&unchecked) == 1 &&
                   egb_pool_destroy(linkable_pool, EGB_DESTROY_REFUSE) == EGB_OK
               ? 0
               : 1;
}

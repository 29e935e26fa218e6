// SPDX-License-Identifier: MIT
// Frees of a known size: operator delete of C++, and C23.
#include "../pool/events.h"
#include "../pool/free.h"
#include "../pool/registry.h"
#include "../region/early.h"
#include "../region/large.h"
#include "../stacks/stacks.h"
#include "heap.h"

// Whether the pool is the class for such requests.
static bool is_class_for(const egb_control* owner, size_t align, size_t bytes)
{
    return !egb_heap_is_large_(align, bytes) &&
           egb_heap_key_of_class_(egb_heap_class_for_(align, bytes)) ==
               egb_pool_key_(egb_handle_of_(owner));
}

static bool is_block_aligned(const void* block, size_t align)
{
    return ((uintptr_t)block & (align - 1)) == 0;
}

static bool has_size_if_large(const void* block, size_t align, size_t bytes)
{
    const size_t room = egb_large_bytes_(block);
    if (egb_large_is_guarded_(block)) {
        return room == (bytes == 0 ? 1 : bytes) || room == egb_round_up_(bytes, align);
    }
    return align > 1 ? bytes <= room && egb_heap_is_large_(align, bytes)
                     : egb_heap_suits_large_(room, bytes);
}

// Invalid addresses pass: the free itself reports them.
static bool has_size(const egb_control* owner, const void* block, size_t align, size_t bytes)
{
    const egb_pool pool    = owner == NULL ? egb_pool_of(block) : egb_handle_of_(owner);
    const bool     is_live = egb_pool_is_live(pool, block);
    if (is_live ? !egb_key_is_checked_(pool.slot) : !egb_large_is_live_(block)) {
        return true;
    }
    if (!is_block_aligned(block, align) || bytes == EGB_HEAP_ANY_BYTES) {
        return is_block_aligned(block, align);
    }
    if (!is_live) {
        return has_size_if_large(block, align, bytes);
    }
    // The map does not know blocks of passthrough pools.
    const egb_control* const found = owner != NULL ? owner : egb_control_of_(pool);
    return found != NULL && is_class_for(found, align, bytes);
}

static void report_size(const void* block, const void* site)
{
    const egb_pool          pool  = egb_pool_of(block);
    const bool              is_in = !egb_is_null_(pool);
    const egb_chunk_* const chunk = is_in ? egb_chunk_map_find_(egb_pool_key_(pool), block) : NULL;
    const size_t            index = chunk == NULL ? EGB_NO_INDEX : egb_chunk_index_(chunk, block);
    egb_finding             finding = {EGB_MISUSE_WRONG_SIZE, block, index, {.bytes = 0}};
    if (!is_in) {
        finding.history = egb_large_history_(block);
    }
    egb_pool_report_finding_(is_in ? pool : egb_heap_pool(), &finding, egb_stack_here_(site));
}

// The quick check, which does not read the block: most calls that come here have the right size,
// but no small one.
static bool is_of_class(const void* block, size_t bytes)
{
    const egb_unit* const unit = egb_unit_of_(block);
    const uint64_t        key  = egb_key_of_unit_(unit);
    return key != 0 && bytes <= EGB_HEAP_CLASS_BYTES_MAX &&
           key == egb_heap_key_of_class_(egb_heap_class_of_(bytes)) &&
           EGB_LOAD_(unit->block_bytes) != 0;
}

// Red zones know the requested bytes: the size is looked at with the lock that the free takes.
static void
free_claimed(const egb_control* owner, void* block, size_t align, size_t bytes, const void* site)
{
    const bool      is_any = bytes == EGB_HEAP_ANY_BYTES;
    const egb_claim claim  = {
         .fits    = is_block_aligned(block, align) && (is_any || is_class_for(owner, align, bytes)),
         .bytes   = is_any ? 0 : bytes,
         .rounded = is_any ? 0 : egb_round_up_(bytes, align),
    };
    egb_pool_free_claimed_(egb_handle_of_(owner), &claim, block, site);
    egb_heap_purge_step_();
}

static void free_checked(void* block, size_t align, size_t bytes, const void* site)
{
    const egb_control* const owner = egb_owner_of_(block);
    if (owner != NULL && EGB_LOAD_(owner->redzones) != NULL) {
        free_claimed(owner, block, align, bytes, site);
        return;
    }
    if (!has_size(owner, block, align, bytes)) {
        report_size(block, site);
    }
    egb_free_from_(block, site);
}

EGB_AMONG_DATA_ static bool has_forgotten_sizes;  // atomic

void egb_heap_forget_sizes_(void)
{
    EGB_STORE_(has_forgotten_sizes, true);
}

void egb_heap_free_sized_(void* block, size_t align, size_t bytes, const void* site)
{
    const bool is_right =
        block == NULL || (align == 1 && is_of_class(block, bytes)) || egb_early_bytes_(block) != 0;
    if (is_right) {
        egb_free_from_(block, site);
    } else {
        free_checked(
            block, align, EGB_LOAD_(has_forgotten_sizes) ? EGB_HEAP_ANY_BYTES : bytes, site
        );
    }
}

void egb_free_aligned_(void* block, size_t align)
{
    egb_heap_free_sized_(block, align, EGB_HEAP_ANY_BYTES, EGB_CALLER());
}

void egb_free_aligned_sized_(void* block, size_t align, size_t bytes)
{
    egb_heap_free_sized_(block, align, bytes, EGB_CALLER());
}

// SPDX-License-Identifier: MIT
// Free of a block whose pool the caller does not name.
#include "../pool/free.h"
#include "../../os/os.h"
#include "../pool/events.h"
#include "../pool/registry.h"
#include "../region/early.h"
#include "../region/large.h"
#include "../settings/settings.h"
#include "../stacks/stacks.h"
#include "heap.h"

EGB_COLD void egb_free_refused_(void* block, const void* site)
{
    if (egb_early_bytes_(block) != 0) {
        return;
    }
    // egb_pool_free_locked_() finds out, with the pool locked, whether a block starts at the
    // address.
    const egb_control* const owner = egb_owner_of_(block);
    const egb_pool           pool  = owner != NULL ? egb_handle_of_(owner) : egb_pool_of(block);
    if (pool.generation != 0) {
        egb_pool_free_locked_(pool, NULL, block, site);
        egb_heap_purge_step_();  // blocks with red zones come by here alone
        return;
    }
    egb_finding finding;
    if (egb_large_free_(block, site, &finding)) {
        egb_heap_wake_purger_();
        if (finding.kind != 0) {
            egb_pool_report_finding_(egb_heap_pool(), &finding, egb_stack_here_(site));
        }
    } else if (egb_os_c_library_bytes_(block) != 0) {
        egb_os_c_library_free_(block);
    } else if (egb_level_of_no_pool_() == EGB_LEVEL_PASSTHROUGH && egb_os_has_malloc_()) {
        egb_os_free_(block);
    } else {
        egb_pool_report_(EGB_MISUSE_FOREIGN, pool, block, EGB_NO_INDEX, egb_stack_here_(site));
    }
}

// The magazine that a free has put the block into, and its key. They are found before that: once
// the block is there, another thread may take it out, and its chunk may go from the map.
typedef struct egb_home {
    egb_magazine_* magazine;
    uint64_t       key;
} egb_home;

// Puts the block into the magazine for this unit; at "off" whatever its lane, because blocks are
// not sent back to their lanes there. False: no magazine takes it. An address with more bits than
// the map knows gets another address's unit: only level "off" has to check that. Nothing here
// compares the block with the one taken last: no processor could predict that branch.
EGB_INLINE egb_push free_home(void* block, egb_home* home)
{
    const egb_unit* const unit = egb_unit_like_(block);
    if (EGB_UNLIKELY(unit == NULL)) {
        return EGB_PUSH_NO;
    }
    const uint64_t       key      = egb_key_at_(unit);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    home->magazine                = magazine;
    home->key                     = key;
    if (!egb_key_is_checked_(key)) {
        return EGB_LIKELY(egb_key_is_(&magazine->key, egb_key_in_lane_(key, 0))) &&
                       egb_is_address_(block)
                   ? egb_push_local_(magazine, block, NULL, false)
                   : EGB_PUSH_NO;
    }
    return EGB_LIKELY(egb_key_is_(&magazine->chunk_key, key))
               ? egb_push_if_live_(magazine, &unit->shape, block)
               : EGB_PUSH_NO;
}

static EGB_COLD void free_ended(void* block, egb_home home, const void* site)
{
    const egb_pool pool = egb_pool_of_key_(egb_key_in_lane_(home.key, 0));
    egb_free_ended_(home.magazine, pool, NULL, block, site);
    egb_heap_purge_step_();
}

// For blocks of other lanes, and misuse. Programs free NULL often: no lock is taken for it.
static void free_elsewhere(void* block, const void* site)
{
    if (block == NULL) {
        return;
    }
    const egb_unit* const unit = egb_unit_of_(block);
    if (unit != NULL) {
        const uint64_t       key      = egb_key_of_unit_(unit);
        egb_magazine_* const magazine = egb_magazine_of_key_(key);
        if (egb_push_is_done_(magazine, egb_push_block_(magazine, key, block))) {
            return;
        }
        if (egb_free_after_room_(magazine, key, block, site)) {
            egb_heap_purge_step_();
            return;
        }
    }
    egb_free_refused_(block, site);
}

// Frees a block that the magazine did not take as it came.
static void free_on(void* block, egb_home home, egb_push push, const void* site)
{
    if (EGB_UNLIKELY(push == EGB_PUSH_ENDED)) {
        free_ended(block, home, site);
    } else {
        free_elsewhere(block, site);
    }
}

// The caller's address is loaded only where it is used.
void egb_free(void* block)
{
    egb_home       home = {NULL, 0};
    const egb_push push = free_home(block, &home);
    if (EGB_UNLIKELY(push != EGB_PUSH_DONE)) {
        free_on(block, home, push, EGB_CALLER());
    }
}

void egb_free_from_(void* block, const void* site)
{
    egb_home       home = {NULL, 0};
    const egb_push push = free_home(block, &home);
    if (EGB_UNLIKELY(push != EGB_PUSH_DONE)) {
        free_on(block, home, push, site);
    }
}

// The table in which alloc finds the pool of a small size leads to the magazine, too. The block
// taken last has that size; of any other block the map tells the size.
EGB_INLINE egb_push free_small(void* block, size_t bytes, egb_home* home)
{
    const size_t         step     = (bytes + EGB_HEAP_STEP_BYTES_ - 1) / EGB_HEAP_STEP_BYTES_;
    const uint64_t       key      = EGB_LOAD_(egb_heap_small_[step]);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    if (egb_pool_undo_(magazine, key, block)) {
        return EGB_PUSH_DONE;
    }
    if (!egb_key_is_checked_(key)) {
        // "off" checks no sizes. The null pool's key stands for an unused size.
        return egb_key_is_(&magazine->key, key) ? free_home(block, home) : EGB_PUSH_NO;
    }
    home->magazine             = magazine;
    home->key                  = key;
    const egb_unit* const unit = egb_unit_like_(block);
    return EGB_LIKELY(
               unit != NULL && egb_key_is_(&magazine->key, key) &&
               egb_key_is_(&magazine->chunk_key, egb_key_at_(unit))
           )
               ? egb_push_if_live_(magazine, &unit->shape, block)
               : EGB_PUSH_NO;
}

void egb_free_sized_(void* block, size_t bytes)
{
    egb_home       home = {NULL, 0};
    const egb_push push =
        bytes <= EGB_HEAP_SMALL_BYTES_ ? free_small(block, bytes, &home) : EGB_PUSH_NO;
    if (EGB_UNLIKELY(push == EGB_PUSH_ENDED)) {
        free_ended(block, home, EGB_CALLER());
    } else if (EGB_UNLIKELY(push == EGB_PUSH_NO)) {
        egb_heap_free_sized_(block, 1, bytes, EGB_CALLER());
    }
}

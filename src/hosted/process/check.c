// SPDX-License-Identifier: MIT
// The integrity checks of eggbox/guard.h.
#include "eggbox/guard.h"

#include "../pool/layout.h"
#include "../pool/registry.h"
#include "../pool/reports.h"
#include "../region/large.h"
#include "eggbox/heap.h"

static size_t check_pool(egb_pool pool, const void* site)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return 0;
    }
    const size_t damaged = control->layout->check(control);
    egb_pool_unlock_and_report_(control, pool, site);
    return damaged;
}

size_t egb_pool_check(egb_pool pool)
{
    return check_pool(pool, EGB_CALLER());
}

size_t egb_process_check(void)
{
    const size_t slots   = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    size_t       damaged = 0;
    for (size_t slot = 1; slot < slots; slot++) {
        damaged += check_pool(egb_handle_of_(&egb_registry_.controls[slot]), EGB_CALLER());
    }
    egb_finding  finding;
    const size_t large = egb_large_check_all_(&finding);
    if (large != 0) {
        egb_pool_report_finding_(egb_heap_pool(), &finding, EGB_CALLER());
    }
    return damaged + large;
}

egb_status egb_block_check(const void* block)
{
    const egb_pool pool = egb_pool_of(block);
    if (egb_is_null_(pool) || !egb_pool_is_live(pool, block)) {
        egb_finding      finding;
        const egb_status status = egb_large_check_(block, &finding);
        if (status == EGB_CORRUPT) {
            egb_pool_report_finding_(egb_heap_pool(), &finding, EGB_CALLER());
        }
        return status;
    }
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return EGB_INVALID;
    }
    const bool is_whole = control->layout->is_whole(control, block);
    egb_pool_unlock_and_report_(control, pool, EGB_CALLER());
    return is_whole ? EGB_OK : EGB_CORRUPT;
}

// SPDX-License-Identifier: MIT
// The requests that are large blocks, and the attempts made before one is refused.
#include "../../os/os.h"
#include "../pool/reports.h"
#include "../region/ask.h"
#include "../region/guard_page.h"
#include "heap.h"

EGB_STATIC_ASSERT(EGB_HEAP_STEP_BYTES_ == 16, "guard_page.c aligns as size classes do");

static bool fails_on_purpose_here(const void* site)
{
    static uint64_t count;  // atomic
    egb_fault_plan  plan = egb_heap_large_faults_();
    plan.count           = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return egb_fault_is_planned_(&plan) && egb_fault_is_due_(&plan, site);
}

void* egb_heap_alloc_large_(size_t align, size_t bytes, bool zeroed, const void* site)
{
    if (bytes > PTRDIFF_MAX || !egb_heap_is_made_() || fails_on_purpose_here(site)) {
        return egb_large_refuse_();
    }
    egb_heap_purge_step_();
    const size_t whole = egb_large_units_for_(bytes);
    void*        block =
        egb_guard_page_for_large_() ? egb_large_alloc_guarded_(align, bytes, false, site) : NULL;
    align = align < EGB_UNIT_BYTES ? EGB_UNIT_BYTES : align;
    if (block == NULL) {
        block = egb_large_take_cached_(align, whole, zeroed);
    }
    if (block == NULL) {
        block = egb_large_map_(align, whole);
    }
    // Memory that the heap holds in reserve helps only a request of about its size.
    const bool is_alike = block == NULL && !egb_is_frozen_() && whole <= egb_heap_held_();
    if (block == NULL && ((is_alike && egb_heap_trim(0) != 0) || egb_large_make_room_())) {
        block = egb_large_map_(align, whole);
    }
    egb_freeze_report_(egb_heap_pool(), site);
    return block != NULL ? block : egb_large_refuse_();
}

// The environment is read when the first pool is made; a later call counts more.
egb_status egb_heap_guard_pages(const char* which)
{
    if (!egb_guard_page_is_setting_(which)) {
        return EGB_INVALID;
    }
    return egb_heap_is_made_() ? egb_guard_page_set_(which) : EGB_NO_MEMORY;
}

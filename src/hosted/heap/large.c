// SPDX-License-Identifier: MIT
// The requests that are large blocks, and the attempts made before one is refused.
#include "../../os/os.h"
#include "../pool/events.h"
#include "../region/early.h"
#include "../region/guard_page.h"
#include "../region/keep.h"
#include "../region/obtain.h"
#include "../stacks/stacks.h"
#include "heap.h"

EGB_STATIC_ASSERT(EGB_HEAP_STEP_BYTES_ == 16, "guard_page.c aligns as size classes do");

static bool fails_on_purpose_here(const void* site)
{
    EGB_AMONG_DATA_ static uint64_t count;  // atomic
    egb_fault_plan                  plan = egb_heap_large_faults_();
    plan.count                           = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return egb_fault_is_planned_(&plan) && egb_fault_is_due_(&plan, site);
}

// Whether a request that the system refused may succeed after the heap gave memory back: not if it
// is longer than all that the heap holds, unless the process is known to be allowed so much.
static bool is_helped_by_trim(size_t whole)
{
    const size_t most = egb_keep_refusal_bytes_();
    return !egb_is_frozen_() && (whole <= egb_heap_held_() || (most != SIZE_MAX && whole <= most));
}

// How many blocks of the size this one stands for; 0: it is no sample.
static double scale_of(size_t bytes)
{
    egb_sampler* const sampler = &egb_large_samples_.sampler;
    const size_t       least   = egb_larger_(bytes, 1);
    double             out     = 0;
    egb_large_lock_();
    if (egb_sampler_pass_(sampler, least, 1) == 0) {
        out = egb_sampling_scale_(least, sampler->halvings);
        egb_sampling_note_();
    }
    egb_large_unlock_();
    return out;
}

void egb_heap_sample_large_(const void* block, size_t bytes, const void* site)
{
    const double scale = egb_heap_samples_large_() ? scale_of(bytes) : 0;
    if (scale == 0) {
        return;
    }
    const egb_sample sample = {.site = egb_stack_here_(site), .scale = scale, .bytes = bytes};
    egb_large_note_owner_(block, bytes, sample.site, sample.scale);
    egb_large_lock_();
    egb_samples_sum_up_(&egb_large_samples_, &sample);
    egb_large_unlock_();
}

void egb_heap_track_large_(const void* block, size_t bytes, const void* site)
{
    if (egb_heap_tracks_large_()) {
        egb_large_note_owner_(block, bytes, egb_stack_here_(site), 0);
    } else {
        egb_heap_sample_large_(block, bytes, site);
    }
}

// A buffer that grows is no block of a size that a pool could have.
void egb_heap_note_resized_large_(const void* block)
{
    if (egb_heap_is_measured_()) {
        egb_large_note_size_(block, 0);
    }
    if (egb_heap_samples_large_()) {
        egb_large_forget_owner_(block);
    }
}

static void* take_large(size_t align, size_t whole, bool zeroed)
{
    void* block = egb_large_take_cached_(align, whole, zeroed);
    if (block == NULL) {
        block = egb_large_take_empty_(align, whole, zeroed);
    }
    if (block == NULL) {
        block = egb_large_map_(align, whole);
    }
    if (block == NULL && is_helped_by_trim(whole) && egb_heap_give_up_(0) != 0) {
        block = egb_large_map_(align, whole);
    }
    if (block == NULL && egb_large_make_room_(whole)) {
        block = egb_large_map_(align, whole);
    }
    return block;
}

static void* alloc_large(size_t align, size_t bytes, bool zeroed, const egb_guard_page* wish)
{
    const void* const site = wish->alloc_site;
    if (egb_is_early_()) {
        return egb_early_alloc_(align, bytes);
    }
    if (bytes > PTRDIFF_MAX || !egb_heap_is_made_() || fails_on_purpose_here(site)) {
        return egb_large_refuse_();
    }
    egb_heap_purge_step_();
    const size_t whole = egb_large_units_for_(bytes);
    void* block = egb_guard_page_for_large_() ? egb_large_alloc_guarded_(align, bytes, wish) : NULL;
    align       = align < EGB_UNIT_BYTES ? EGB_UNIT_BYTES : align;
    if (block == NULL) {
        block = take_large(align, whole, zeroed);
    }
    egb_freeze_report_(egb_heap_pool(), site);
    if (block == NULL) {
        return egb_large_refuse_();
    }
    egb_heap_track_large_(block, bytes, site);
    if (egb_heap_is_measured_()) {
        egb_large_note_size_(block, bytes);
    }
    return block;
}

void* egb_heap_alloc_large_(size_t align, size_t bytes, bool zeroed, const void* site)
{
    const egb_guard_page wish = {.alloc_site = site};
    return alloc_large(align, bytes, zeroed, &wish);
}

void* egb_heap_alloc_moved_(size_t bytes, size_t moved, const void* site)
{
    const egb_guard_page wish = {.alloc_site = site, .moved = moved};
    return alloc_large(1, bytes, false, &wish);
}

// The environment is read when the first pool is made; this call replaces its setting.
egb_status egb_heap_guard_pages(const char* which)
{
    if (!egb_guard_page_is_setting_(which)) {
        return EGB_INVALID;
    }
    return egb_heap_is_made_() ? egb_guard_page_set_(which) : EGB_NO_MEMORY;
}

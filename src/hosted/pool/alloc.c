// SPDX-License-Identifier: MIT
// Alloc where the thread's magazine could not serve it.
#include "../../os/os.h"
#include "../cache/tight.h"
#include "../stacks/stacks.h"
#include "free.h"
#include "layout.h"
#include "live_sites.h"
#include "registry.h"
#include "reports.h"

static egb_magazine_* thread_magazine(egb_pool pool)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_thread_current_magazine_(key);
    if (magazine != NULL) {
        return magazine;
    }
    const egb_control* const control = egb_control_of_(pool);
    return control == NULL ? NULL : egb_thread_get_magazine_(&control->depot, key);
}

egb_magazine_* egb_magazine_for_(egb_pool pool, egb_magazine* cache)
{
    if (cache == NULL) {
        return thread_magazine(pool);
    }
    (void)thread_magazine(pool);  // the magazine takes blocks of the caller's lane
    // It may be closed, or emptied in the child of a fork.
    if (cache->magazine.depot != NULL || egb_magazine_open(cache, pool) == EGB_OK) {
        return &cache->magazine;
    }
    cache->pool = pool;  // it goes on without a magazine
    return NULL;
}

// Looks for free blocks in everyone's magazines, and takes them out. Whether there is one to be had
// now: this call need not be the one that took it out.
static bool look(egb_pool pool)
{
    bool has_block = false;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_look_(control);
        has_block = egb_growing_has_free_(&control->depot.growing);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return has_block;
}

static void* fail(egb_pool pool)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        const bool is_tracked = control->level == EGB_LEVEL_TRACK;
        control->exhaustion.failures++;
        egb_pool_unlock_(control);
        if (is_tracked) {
            egb_holders_print_exhausted_(pool);
        }
    }
    return NULL;
}

bool egb_pool_has_faults_(egb_pool pool)
{
    const egb_control* const control = egb_control_of_(pool);
    return control != NULL && egb_fault_is_planned_(&control->exhaustion.fault_plan);
}

static bool fails_on_purpose(egb_pool pool, const void* site)
{
    egb_control* const control = egb_control_of_(pool);
    return control != NULL && egb_fault_is_planned_(&control->exhaustion.fault_plan) &&
           egb_fault_is_due_(&control->exhaustion.fault_plan, site);
}

// The unwinder is called while no lock is held. Until now only its state says what the block is.
static EGB_COLD void note_sample(egb_pool pool, const void* block, const egb_request* request)
{
    egb_sample sample = {
        .block  = block,
        .site   = egb_stack_here_(request->site),
        .scale  = request->scale,
        .bytes  = request->bytes,
        .when   = egb_os_milliseconds_(),
        .thread = egb_os_thread_number_(),
    };
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        sample.bytes = sample.bytes == 0 ? control->block_bytes : sample.bytes;
        egb_samples_add_(control->samples, &sample);
        egb_pool_unlock_(control);
    }
}

static void* alloc(egb_pool pool, egb_magazine* cache, egb_request* request)
{
    if (fails_on_purpose(pool, request->site)) {
        return fail(pool);
    }
    request->site = egb_pool_site_(pool, request->site);
    for (;;) {
        egb_magazine_* const magazine = egb_magazine_for_(pool, cache);
        egb_control* const   control  = egb_pool_lock_(pool);
        if (control == NULL) {
            egb_pool_report_handle_(pool, NULL, request->site);
            return NULL;
        }
        void* const            block = control->layout->take(control, magazine, pool, request);
        const egb_exhausted_fn on_exhausted = control->exhaustion.handler;
        void* const            user         = control->exhaustion.user;
        const bool             is_damaged   = control->depot.damage.was_found;
        const bool             is_bare      = egb_depot_is_bare_(&control->depot);
        egb_pool_unlock_and_report_(control, pool, request->site);
        egb_freeze_report_(pool, request->site);
        if (block != NULL && request->scale != 0) {
            note_sample(pool, block, request);
        }
        if (block != NULL) {
            return block;
        }
        if (is_damaged || (!is_bare && look(pool))) {  // there may be one behind the damage
            continue;
        }
        if (on_exhausted == NULL || on_exhausted(pool, user) != EGB_EXHAUSTED_RETRY) {
            return fail(pool);
        }
    }
}

void* egb_pool_alloc_for_(egb_pool pool, egb_request* request)
{
    return alloc(pool, NULL, request);
}

void* egb_pool_alloc_cold_(egb_pool pool)
{
    egb_request request = {.site = EGB_CALLER()};
    return alloc(pool, NULL, &request);
}

void* egb_pool_alloc_cold_at_(egb_pool pool, const char* file, unsigned line)
{
    egb_request request = {.site = EGB_CALLER(), .file = file, .line = line};
    return alloc(pool, NULL, &request);
}

void* egb_magazine_alloc_cold_(egb_magazine* cache)
{
    egb_request request = {.site = EGB_CALLER()};
    return alloc(cache->pool, cache, &request);
}

size_t egb_pool_alloc_many(egb_pool pool, void** out, size_t count)
{
    size_t got = 0;
    while (out != NULL && got < count) {
        void* const block = egb_pool_alloc(pool);
        if (block == NULL) {
            break;
        }
        out[got++] = block;
    }
    return got;
}

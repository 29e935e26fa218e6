// SPDX-License-Identifier: MIT
// Alloc where the thread's magazine could not serve it.
#include "../../os/os.h"
#include "../cache/split.h"
#include "../cache/tight.h"
#include "../stacks/stacks.h"
#include "events.h"
#include "free.h"
#include "holders.h"
#include "layout.h"
#include "live_numbers.h"
#include "registry.h"
#include "wait.h"

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

egb_look egb_pool_look_(egb_pool pool)
{
    egb_look seen = {false, false};
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_look_(control);
        seen.has_block = egb_growing_has_free_(&control->depot.growing);
        seen.knows_all = egb_depot_knows_all_(&control->depot);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return seen;
}

void egb_pool_fail_(egb_pool pool)
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

EGB_COLD void egb_pool_note_sample_(egb_pool pool, const void* block, const egb_request* request)
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

egb_attempt egb_pool_try_(egb_pool pool, egb_magazine* cache, egb_request* request)
{
    egb_attempt          now      = {.block = NULL};
    egb_magazine_* const magazine = egb_magazine_for_(pool, cache);
    if (egb_split_refill_(magazine, egb_pool_key_(pool)) &&
        egb_magazine_pop_(magazine, &now.block)) {
        now.has_pool = true;
        return now;
    }
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return now;
    }
    const egb_depot* const depot = &control->depot;
    now.has_pool                 = true;
    now.block                    = egb_line_take_(control, magazine, pool, request);
    now.on_exhausted             = control->exhaustion.handler;
    now.user                     = control->exhaustion.user;
    now.is_damaged               = depot->damage.was_found;
    now.is_bare                  = egb_depot_is_bare_(depot);
    now.knows_all                = egb_depot_knows_all_(depot);
    const bool has_magazines     = depot->batch_blocks != 0;
    egb_pool_unlock_and_report_(control, pool, request->site);
    egb_freeze_report_(pool, request->site);
    if (has_magazines) {
        egb_live_count_();  // without magazines each alloc comes here, and would read a clock
    }
    if (now.block != NULL && request->scale != 0) {
        egb_pool_note_sample_(pool, now.block, request);
    }
    return now;
}

static egb_status alloc_now(egb_pool pool, egb_magazine* cache, egb_request* request, void** block)
{
    *block = NULL;
    if (fails_on_purpose(pool, request->site)) {
        return EGB_NO_MEMORY;
    }
    request->site = egb_pool_site_(pool, request->site);
    for (;;) {
        const egb_attempt now = egb_pool_try_(pool, cache, request);
        if (!now.has_pool) {
            egb_pool_report_handle_(pool, NULL, request->site);
            return EGB_STALE;
        }
        if (now.block != NULL) {
            *block = now.block;
            return EGB_OK;
        }
        if (now.is_damaged || (!now.is_bare && egb_pool_look_(pool).has_block)) {
            continue;
        }
        if (now.on_exhausted == NULL || now.on_exhausted(pool, now.user) != EGB_EXHAUSTED_RETRY) {
            return EGB_EMPTY;
        }
    }
}

static void* alloc(egb_pool pool, egb_magazine* cache, egb_request* request)
{
    void*            block;
    const egb_status status = alloc_now(pool, cache, request, &block);
    if (status == EGB_EMPTY || status == EGB_NO_MEMORY) {
        egb_pool_fail_(pool);
    }
    return block;
}

egb_status egb_pool_alloc_now_(egb_pool pool, egb_request* request, void** block)
{
    return alloc_now(pool, NULL, request, block);
}

void* egb_pool_alloc_request_(egb_pool pool, egb_request* request)
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

// SPDX-License-Identifier: MIT
// The numbers of a pool, and of all pools below one.
#include "../cache/peak.h"
#include "../report/text.h"
#include "registry.h"

typedef struct egb_counts {
    size_t   in_magazines;
    uint64_t frees;
} egb_counts;

static void count_magazine(egb_magazine_* magazine, void* user)
{
    egb_counts* const counts = user;
    counts->in_magazines += egb_magazine_count_(magazine);
    counts->frees += EGB_LOAD_(magazine->frees);
}

// Another thread may be allocating or freeing, so that the numbers do not quite fit together: then
// they are kept from going below zero.
static void add_locked(egb_control* control, egb_pool_stats* sum)
{
    egb_counts counts = {egb_depot_blocks_(&control->depot), control->depot.frees};
    egb_each_magazine_(&control->depot, count_magazine, &counts);
    const size_t taken  = control->depot.growing.in_use;
    const size_t cached = egb_smaller_(counts.in_magazines, taken);
    const size_t in_use = taken - cached;
    sum->pools++;
    sum->capacity += control->depot.growing.capacity;
    sum->in_use += in_use;
    sum->in_magazines += cached;
    sum->peak += egb_larger_(egb_peak_(&control->depot), in_use);
    sum->allocations += counts.frees + in_use;
    sum->frees += counts.frees;
    sum->failures += control->exhaustion.failures;
    sum->chunks += control->depot.growing.chunks;
    sum->bytes_held += control->depot.growing.held;
    sum->bytes_prefaulted += control->source.prefaulted;
    sum->bytes_huge += control->source.huge;
}

static void add_pool(egb_control* control, egb_pool_stats* sum)
{
    egb_depot_lock_(&control->depot);
    add_locked(control, sum);
    egb_depot_let_go_(&control->depot);
}

static void describe_pool(const egb_control* control, egb_pool_stats* out)
{
    const egb_pool_stats none = {{0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    *out                      = none;
    egb_text_copy_(out->name, sizeof out->name, control->name);
    out->block_bytes  = control->block_bytes;
    out->stride_bytes = control->depot.growing.options.block_bytes;
    out->max_blocks   = control->depot.growing.options.max_blocks;
    out->budget_bytes = control->budget.bytes;
}

void egb_pool_stats_of_(egb_control* control, egb_pool_stats* out)
{
    describe_pool(control, out);
    add_locked(control, out);
}

// Blocks never requested were never in use: where the peak is a bound, it is no more than those.
void egb_pool_stats_for_report_(egb_control* control, egb_pool_stats* out)
{
    const egb_earlier* const earlier = &control->earlier;
    egb_pool_stats_of_(control, out);
    out->peak        = out->peak < out->allocations ? out->peak : (size_t)out->allocations;
    out->allocations = egb_since_(out->allocations, earlier->allocations);
    out->frees       = egb_since_(out->frees, earlier->frees);
    out->failures    = egb_since_(out->failures, earlier->failures);
}

egb_status egb_pool_get_stats_for_report_(egb_pool pool, egb_pool_stats* out)
{
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_pool_stats_for_report_(control, out);
        egb_depot_let_go_(&control->depot);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return control != NULL ? EGB_OK : EGB_STALE;
}

void egb_pools_count_anew_(void)
{
    egb_os_lock_(&egb_threads_.lock);
    const size_t slots = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    for (size_t slot = 1; slot < slots; slot++) {
        egb_control* const control = egb_pool_lock_(egb_handle_of_(&egb_registry_.controls[slot]));
        if (control != NULL) {
            egb_pool_stats now;
            egb_pool_stats_of_(control, &now);
            const egb_earlier earlier = {now.allocations, now.frees, now.failures};
            control->earlier          = earlier;
            egb_depot_let_go_(&control->depot);
        }
    }
    egb_os_unlock_(&egb_threads_.lock);
}

egb_status egb_pool_get_stats(egb_pool pool, egb_pool_stats* out)
{
    if (out == NULL || egb_is_null_(pool)) {
        return EGB_INVALID;
    }
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_control_of_(pool);
    if (control != NULL) {
        describe_pool(control, out);
        add_pool(control, out);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return control != NULL ? EGB_OK : EGB_STALE;
}

egb_status egb_pool_get_subtree_stats(egb_pool root, egb_pool_stats* out)
{
    if (out == NULL) {
        return EGB_INVALID;
    }
    const bool is_there = egb_registry_is_made_();
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const first = is_there ? egb_control_or_root_(root) : NULL;
    if (first != NULL) {
        describe_pool(first, out);
    }
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        if (one->id.slot != 0) {
            add_pool(one, out);
        }
    }
    egb_os_unlock_(&egb_threads_.lock);
    return first != NULL ? EGB_OK : is_there ? EGB_STALE : EGB_NO_MEMORY;
}

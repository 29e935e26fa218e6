// SPDX-License-Identifier: MIT
// The numbers of the heap.
#include "heap.h"

#include "../region/large.h"

egb_status egb_heap_get_stats(egb_heap_stats* out)
{
    if (out == NULL) {
        return EGB_INVALID;
    }
    egb_large_numbers large;
    egb_large_count_(&large);
    out->large_allocations   = large.allocations;
    out->large_frees         = large.frees;
    out->large_failures      = large.failures;
    out->large_in_use        = large.in_use;
    out->large_peak          = large.peak;
    out->large_bytes         = large.bytes;
    out->large_bytes_peak    = large.bytes_peak;
    out->cached              = large.cached;
    out->cached_bytes        = large.cached_bytes;
    out->guarded_allocations = large.guarded_allocations;
    out->guarded_in_use      = large.guarded_in_use;
    out->guarded_samples     = large.guarded_samples;
    out->quarantined         = large.quarantined;
    egb_heap_count_classes_(out);
    return EGB_OK;
}

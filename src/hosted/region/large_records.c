// SPDX-License-Identifier: MIT
// Records of large regions, and the list of regions on their way to the system.
#include "large.h"

#include "../../os/os.h"
#include "large_cache.h"
#include "obtain.h"

EGB_AMONG_DATA_ static egb_growing records;
EGB_AMONG_DATA_ static egb_range*  large_regions;  // the tree; without those of new records
EGB_AMONG_DATA_ static size_t      large_regions_count;

// ---- records ------------------------------------------------------------------------------------

egb_large* egb_large_new_record_(void)
{
    const egb_growing_options options = {
        .block_bytes = sizeof(egb_large),
        .block_align = _Alignof(egb_large),
        .chunk_bytes = sizeof(egb_large),  // a page at first
        .backing     = egb_plain_backing_(),
    };
    egb_large* large = NULL;
    if (records.options.block_bytes != 0 || egb_growing_init(&records, &options) == EGB_OK) {
        large = egb_growing_alloc(&records);
    }
    if (large != NULL) {
        const egb_guard_page none = {0};
        large->state              = EGB_LARGE_NEW;
        large->epoch              = 1;
        large->guard              = none;
    }
    return large;
}

void egb_large_drop_record_(egb_large* large)
{
    egb_growing_free(&records, large);
}

void egb_large_each_(egb_growing_visit_fn visit, void* user)
{
    egb_growing_each(&records, visit, user);
}

uintptr_t egb_large_records_end_(uintptr_t address)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it may be any address
    const egb_chunk_* const chunk = egb_growing_chunk_of_(&records, (const void*)address);
    return chunk == NULL ? 0 : (uintptr_t)chunk->range.start + chunk->range.bytes;
}

void egb_large_enter_(egb_large* large)
{
    egb_range_add_(&large_regions, &large->range);
    large_regions_count++;
}

void egb_large_leave_(egb_large* large)
{
    egb_range_remove_(&large_regions, &large->range);
    large_regions_count--;
}

size_t egb_large_regions_(void)
{
    return large_regions_count;
}

static bool is_of_library(const void* address)
{
    return egb_large_at_(address) != NULL || egb_key_of_unit_(egb_unit_of_(address)) != 0;
}

bool egb_large_is_between_(const egb_large* large)
{
    const char* const start = large->range.start;
    return is_of_library(start - 1) && is_of_library(start + large->range.bytes);
}

void egb_large_note_mapping_(egb_large* large)
{
    EGB_AMONG_DATA_ static uint64_t mappings;
    large->mapping = ++mappings;
}

egb_large* egb_large_at_(const void* address)
{
    return (egb_large*)(void*)egb_range_find_(large_regions, address);
}

// ---- regions on their way to the system ---------------------------------------------------------

void egb_large_unmap_later_(egb_unmap_list* unmap_list, egb_large* large)
{
    egb_large_leave_(large);
    egb_os_watch_open_(large->range.start, large->range.bytes);
    large->state      = EGB_LARGE_NEW;  // a check of all blocks skips this one
    large->older      = unmap_list->first;
    unmap_list->first = large;
}

// The system may refuse: the program has locked the memory.
static bool is_emptied(const egb_large* large)
{
    return large->state == EGB_LARGE_EMPTY &&
           egb_os_forget_(large->range.start, large->range.bytes);
}

size_t egb_unmap_list_release_(const egb_unmap_list* unmap_list)
{
    size_t given = 0;
    for (egb_large* one = unmap_list->first; one != NULL;) {
        egb_large* const next    = one->older;
        const bool       is_kept = is_emptied(one);
        given += one->epoch != 0 ? one->range.bytes : 0;
        if (!is_kept) {
            egb_region_release_(one->range.start, one->range.bytes);
        }
        egb_large_lock_();
        if (is_kept) {
            egb_large_enter_(one);
            egb_large_cache_add_empty_(one);
        } else {
            egb_large_drop_record_(one);
        }
        egb_large_unlock_();
        one = next;
    }
    return given;
}

// SPDX-License-Identifier: MIT
#include "obtain.h"

#include "../../os/os.h"
#include "chunk_cache.h"
#include "eggbox/atomic_hot.h"
#include "keep.h"

EGB_AMONG_DATA_ static bool is_frozen;     // atomic
EGB_AMONG_DATA_ static bool refused_once;  // atomic: a request was refused, and no report told yet

void egb_freeze_(bool is_on)
{
    EGB_STORE_(is_frozen, is_on);
}

bool egb_is_frozen_(void)
{
    return EGB_LOAD_(is_frozen);
}

bool egb_may_obtain_(void)
{
    if (egb_is_frozen_()) {
        EGB_STORE_(refused_once, true);
        return false;
    }
    return true;
}

void* egb_obtain_table_(size_t bytes, size_t align)
{
    if (!egb_may_obtain_()) {
        return NULL;
    }
    // No request needs the region cache: it is emptied before a request is refused.
    void* const region = egb_os_reserve_(bytes, align);
    return region == NULL && egb_region_cache_trim_(0, SIZE_MAX) != 0
               ? egb_os_reserve_(bytes, align)
               : region;
}

void* egb_obtain_region_(size_t bytes, size_t align)
{
    void* const region = egb_obtain_table_(bytes, align);
    if (region != NULL) {
        egb_keep_note_got_(bytes);
    }
    return region;
}

egb_status
egb_obtain_pages_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained)
{
    const egb_status status = egb_os_commit_(region, bytes, page_options, obtained);
    return status != EGB_OK && egb_region_cache_trim_(0, SIZE_MAX) != 0
               ? egb_os_commit_(region, bytes, page_options, obtained)
               : status;
}

bool egb_freeze_take_refusal_(void)
{
    return EGB_LOAD_(refused_once) && __atomic_exchange_n(&refused_once, false, __ATOMIC_RELAXED);
}

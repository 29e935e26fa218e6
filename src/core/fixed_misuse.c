// SPDX-License-Identifier: MIT
// Describes a misuse to the handler, once a call on a fixed pool has found it, and ends a list that
// was overwritten.
#include "fixed_private.h"

void egb_report_(
    egb_misuse_kind kind, const void* pool, const void* address, size_t index, const void* site
)
{
    const egb_misuse_event event = {kind, NULL, pool, address, index, site, NULL, NULL};
    egb_misuse(&event);
}

size_t egb_fixed_index_of_(const egb_fixed* pool, const void* address)
{
    const size_t index = egb_fixed_index_at_(pool, address);
    return index < egb_fixed_capacity(pool) ? index : EGB_NO_INDEX;
}

void egb_fixed_report_overwritten_(const egb_fixed* pool, const void* address, const void* site)
{
    egb_report_(EGB_MISUSE_OVERWRITTEN, pool, address, egb_fixed_index_of_(pool, address), site);
}

egb_misuse_kind egb_fixed_kind_of_free_(const egb_fixed* pool, const void* address, size_t index)
{
    if (index != EGB_NO_INDEX) {
        return index < egb_fixed_count_touched_(pool) ? EGB_MISUSE_DOUBLE_FREE
                                                      : EGB_MISUSE_NEVER_ALLOCATED;
    }
    const size_t words     = ((uintptr_t)address - (uintptr_t)pool->first) / EGB_WORD_BYTES;
    const bool   is_inside = words < (size_t)pool->reach - 1 + pool->stride;
    return is_inside ? EGB_MISUSE_INTERIOR : EGB_MISUSE_FOREIGN;
}

void egb_fixed_report_free_(const egb_fixed* pool, const void* address, const void* site)
{
    if (!egb_fixed_is_made_(pool)) {
        egb_report_(EGB_MISUSE_NO_POOL, pool, address, EGB_NO_INDEX, site);
        return;
    }
    const size_t index = egb_fixed_index_of_(pool, address);
    egb_report_(egb_fixed_kind_of_free_(pool, address, index), pool, address, index, site);
}

// Nothing behind an overwritten link can be trusted. Marks do not tell well enough which blocks are
// free to make a new list of: a caller may have copied one into a block in use, and handing that
// out would be worse than losing blocks.
void* egb_fixed_drop_list_(egb_fixed* pool, const void* site)
{
    const void* const refused = egb_fixed_address_(pool, pool->head);
    pool->head                = EGB_FIXED_NONE_;  // before the handler, which may use this pool
    egb_fixed_report_overwritten_(pool, refused, site);
    return egb_fixed_can_pop_(pool) ? egb_fixed_pop_(pool) : NULL;
}

// SPDX-License-Identifier: MIT
#include "seal.h"

#include "pool_private.h"

static bool sealed;        // atomic
static bool refused_once;  // atomic: something, that was not reported yet

void egb_seal(void)
{
    EGB_STORE_(sealed, true);
}

void egb_unseal(void)
{
    const egb_pool none = {0, 0};
    EGB_STORE_(sealed, false);
    egb_seal_report(none, EGB_CALLER());
}

void egb_seal_end(void)
{
    EGB_STORE_(sealed, false);
}

bool egb_is_sealed(void)
{
    return EGB_LOAD_(sealed);
}

bool egb_may_ask(void)
{
    if (egb_is_sealed()) {
        EGB_STORE_(refused_once, true);
        return false;
    }
    return true;
}

void* egb_ask_reserve(size_t bytes, size_t align)
{
    if (!egb_may_ask()) {
        return NULL;
    }
    // What is on the shelf is nobody's need: it goes before a request is refused.
    void* const region = egb_os_reserve(bytes, align);
    return region == NULL && egb_shelf_trim(0, SIZE_MAX) != 0 ? egb_os_reserve(bytes, align)
                                                              : region;
}

egb_status egb_ask_commit(void* region, size_t bytes, unsigned wishes, egb_os_obtained* obtained)
{
    const egb_status status = egb_os_commit(region, bytes, wishes, obtained);
    return status != EGB_OK && egb_shelf_trim(0, SIZE_MAX) != 0
               ? egb_os_commit(region, bytes, wishes, obtained)
               : status;
}

void egb_seal_report(egb_pool pool, const void* site)
{
    if (EGB_LOAD_(refused_once) && __atomic_exchange_n(&refused_once, false, __ATOMIC_RELAXED)) {
        egb_pool_report(EGB_EVENT_SEALED, pool, NULL, EGB_NO_INDEX, site);
    }
}

// SPDX-License-Identifier: MIT
// Owned magazines (egb_magazine): opened and closed.
#include "../../os/os.h"
#include "../cache/tight.h"
#include "registry.h"

egb_status egb_magazine_open(egb_magazine* cache, egb_pool pool)
{
    if (cache == NULL || egb_is_null_(pool)) {
        return EGB_INVALID;
    }
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    egb_status         status  = EGB_STALE;
    if (control != NULL) {
        const egb_magazine none = {.magazine = {.key = EGB_NO_KEY_}};
        if (control->block_bytes > EGB_MAGAZINE_BYTES_MAX) {
            status = EGB_INVALID;
        } else if (control->depot.batch_blocks == 0) {
            *cache      = none;  // there are no magazines here: each call goes to the pool
            cache->pool = pool;
            status      = EGB_OK;
        } else {
            *cache              = none;
            cache->pool         = pool;
            const bool is_open  = egb_magazine_attach_(&control->depot, &cache->magazine, pool);
            status              = is_open ? EGB_OK : EGB_NO_MEMORY;
            cache->is_unchecked = status == EGB_OK && !control->depot.is_checked;
            if (is_open && control->depot.is_tight) {
                egb_magazine_settle_(&control->depot, &cache->magazine);  // a thread waits
            }
            if (status != EGB_OK) {
                cache->pool.slot = cache->pool.generation = 0;  // it is not open
            }
        }
        egb_pool_unlock_(control);
    }
    if (status == EGB_OK && cache->magazine.depot != NULL) {
        egb_owned_link_(cache);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return status;
}

static void give_back_magazine(egb_magazine* cache)
{
    egb_os_lock_(&egb_threads_.lock);
    egb_owned_unlink_(cache);
    egb_magazine_let_go_(&cache->magazine);
    egb_os_unlock_(&egb_threads_.lock);
}

void egb_magazine_close(egb_magazine* cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->magazine.depot != NULL) {
        give_back_magazine(cache);
    }
    const egb_magazine none = {.pool = {0, 0}};
    *cache                  = none;
}

// SPDX-License-Identifier: MIT
// Regions of one unit from pools that were destroyed, for pools to come: a pool that is made, used
// and destroyed within a request then asks the system for nothing. The ledger's lock keeps them.
#include "pool_private.h"

enum { REGIONS_MAX = EGB_SHELF_BYTES_MAX / EGB_UNIT_BYTES };

static void*  regions[REGIONS_MAX];
static size_t count;

void* egb_shelf_take(void)
{
    egb_os_lock(&egb_the_world.ledger);
    void* const region = count == 0 ? NULL : regions[--count];
    egb_os_unlock(&egb_the_world.ledger);
    return region;
}

bool egb_shelf_put(void* region)
{
    egb_os_lock(&egb_the_world.ledger);
    const bool has_room = count < REGIONS_MAX;
    if (has_room) {
        regions[count++] = region;
    }
    egb_os_unlock(&egb_the_world.ledger);
    return has_room;
}

size_t egb_shelf_trim(size_t keep_bytes)
{
    size_t given = 0;
    for (;;) {
        egb_os_lock(&egb_the_world.ledger);
        const bool  is_more = count > keep_bytes / EGB_UNIT_BYTES;
        void* const region  = is_more ? regions[--count] : NULL;
        egb_os_unlock(&egb_the_world.ledger);
        if (region == NULL) {
            return given;
        }
        egb_os_release(region, EGB_UNIT_BYTES);
        given += EGB_UNIT_BYTES;
    }
}

// SPDX-License-Identifier: MIT
// One region as a backing.
#include "eggbox/growing.h"

static void* static_region_reserve(void* user, size_t least, size_t* bytes)
{
    egb_static_region* const only = (egb_static_region*)user;
    if (only->is_out || only->bytes < least) {
        return NULL;
    }
    only->is_out = only->region != NULL;
    *bytes       = only->bytes;
    return only->region;
}

static void static_region_give_back(void* user, void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
    ((egb_static_region*)user)->is_out = false;
}

egb_backing egb_static_backing(egb_static_region* region)
{
    const egb_backing backing = {
        region != NULL ? static_region_reserve : NULL,
        NULL,
        static_region_give_back,
        region,
        0,
        false,
        0,
    };
    return backing;
}

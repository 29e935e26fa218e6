// SPDX-License-Identifier: MIT
// Numbers that name nothing: C++ has no such values of an enumeration, C has.
#include "eggbox/pool.h"

egb_status destroy_somehow(egb_pool pool);

egb_status destroy_somehow(egb_pool pool)
{
    return egb_pool_destroy(pool, (egb_destroy)2);
}

// SPDX-License-Identifier: MIT
// Pools without checks: all that their own alloc and free run besides the header. No misuse is
// found here, and none described.
#include "fixed_private.h"

void* egb_fixed_alloc_unchecked_fresh_(egb_fixed* pool)
{
    return egb_fixed_take_fresh_(pool, egb_fixed_count_touched_(pool));
}

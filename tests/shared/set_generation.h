// SPDX-License-Identifier: MIT
// Moves a block's generation: no test lives long enough for it to get there.
#ifndef EGGBOX_TESTS_SHARED_SET_GENERATION_H
#define EGGBOX_TESTS_SHARED_SET_GENERATION_H

#include "eggbox/shared.h"

#if defined(__cplusplus)
extern "C"
#endif
    void
    set_generation(egb_shared* pool, size_t index, uint64_t generation);

#endif  // EGGBOX_TESTS_SHARED_SET_GENERATION_H

// SPDX-License-Identifier: MIT
// The external definitions of the inline functions of pool.h, guard.h and heap.h. core/linkable.c
// has those of fixed.h, so that header comes first.
#include "eggbox/fixed.h"

#undef EGB_INLINE_PUBLIC
#define EGB_INLINE_PUBLIC EGB_INLINE_LINKABLE_

#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/pool.h"

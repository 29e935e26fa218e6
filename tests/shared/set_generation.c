// SPDX-License-Identifier: MIT
#include "set_generation.h"

#include "shared_private.h"

void set_generation(egb_shared* pool, size_t index, uint64_t generation)
{
    atomic_store(&pool->blocks[index].generation, generation);
}

// SPDX-License-Identifier: MIT
#include "inside.h"

#include "shared_private.h"

void set_generation(egb_shared* pool, size_t index, uint64_t generation)
{
    atomic_store(&egb_shared_record_of_(pool)->blocks[index].generation, generation);
}

file_part state_part(const egb_shared* pool)
{
    (void)pool;
    return (file_part){offsetof(egb_shared_state_, attached),
                       offsetof(egb_shared_state_, cards) - offsetof(egb_shared_state_, attached)};
}

file_part blocks_part(const egb_shared* pool)
{
    const egb_shared_shape_* const shape = &egb_shared_record_of_(pool)->shape;
    const uint64_t                 end   = shape->notes_at + shape->count * shape->note_bytes;
    return (file_part){(size_t)shape->blocks_at, (size_t)(end - shape->blocks_at)};
}

file_part planned_payload(const egb_shared_options* options)
{
    egb_shared_shape_ shape = {0};
    (void)egb_shared_plan_(&shape, options);
    return (file_part){(size_t)shape.payload_at, (size_t)(shape.bytes - shape.payload_at)};
}

bool make_room(const char* path, bool is_callers, uint64_t bytes)
{
    return egb_shared_make_room_(path, is_callers, bytes);
}

// SPDX-License-Identifier: MIT
// Access of the tests to the inside of a shared pool.
#ifndef EGGBOX_TESTS_SHARED_INSIDE_H
#define EGGBOX_TESTS_SHARED_INSIDE_H

#include "eggbox/shared.h"

#include <stdbool.h>

#if defined(__cplusplus)
extern "C" {
#endif

// Moves a block's generation: no test lives long enough for it to get there.
void set_generation(egb_shared* pool, size_t index, uint64_t generation);

// Bytes of the file that a death may leave half done: offset and count. The cards of the
// attachments, which are for people, are not among them.
typedef struct file_part {
    size_t start;
    size_t bytes;
} file_part;
file_part state_part(const egb_shared* pool);
file_part blocks_part(const egb_shared* pool);

// The part of the file that the blocks of a pool with these options would take.
file_part planned_payload(const egb_shared_options* options);

// The attempt of egb_shared_create() to make room for the pool `path`. `is_callers`: its caller
// chose the path.
bool make_room(const char* path, bool is_callers, uint64_t bytes);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_SHARED_INSIDE_H

// SPDX-License-Identifier: MIT
// What tests know of the inside of a shared pool.
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

// Where the blocks of a pool would be that these options are of.
file_part planned_payload(const egb_shared_options* options);

// What egb_shared_create() does if there is no room for the pool `path`, which may be a path that
// the caller chose.
bool make_room(const char* path, bool is_callers, uint64_t bytes);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_SHARED_INSIDE_H

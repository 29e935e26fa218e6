// SPDX-License-Identifier: MIT
// Access to private parts of the library: a free in two halves, so that other threads can act in
// between, and the room of magazines.
#ifndef EGGBOX_TESTS_STRESS_CUTS_H
#define EGGBOX_TESTS_STRESS_CUTS_H

#include "eggbox/pool.h"

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

// Puts a block in use, of a pool at level "check", into this thread's magazine, as the first half
// of egb_pool_free() does; looks for room, as the second half does.
void begin_free(egb_pool pool, void* block);
void end_free(egb_pool pool, void* block);

// The function that a free calls once its magazine has the block and no room for it, and that takes
// the lock of the pool.
typedef void (*cold_code)(void);
cold_code code_of_end(void);

// The entries between the newest one and the end of the room in this thread's magazine.
ptrdiff_t room_left(egb_pool pool);

// All blocks that this thread's magazine has room for.
size_t room_of(egb_pool pool);

// The block of the entry behind that room.
const void* behind_room(egb_pool pool);

// How many entries from there on remember a block, as far as the batch was ever long.
size_t remembered_behind_room(egb_pool pool);

// How many blocks a batch has room for that holds so many when it is shortened for this thread's
// magazine.
size_t room_when_shortened(egb_pool pool, size_t held);

// Whether this thread may claim so many bytes for one more pool. The bytes of the blocks that open
// magazines of all threads have room for.
bool   may_claim(size_t bytes);
size_t claimed_bytes(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_STRESS_CUTS_H

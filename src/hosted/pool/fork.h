// SPDX-License-Identifier: MIT
// Room pool: locks around a fork.
#ifndef EGGBOX_SRC_HOSTED_POOL_FORK_H
#define EGGBOX_SRC_HOSTED_POOL_FORK_H

#include "eggbox/base.h"

// The steps of a room above this one around a fork. Its locks are taken before those of this room
// and of the rooms below. Any function may be NULL.
typedef struct egb_fork_hook {
    void (*before)(void);
    void (*in_parent)(void);
    void (*in_child)(void);
    struct egb_fork_hook* next;
    bool                  is_added;
} egb_fork_hook;

// Adds a hook, once, before the room takes a lock of its own for the first time. No lock is held.
void egb_fork_add_hook_(egb_fork_hook* hook);

// Asks the system for calls around forks. False: refused.
bool egb_fork_start_(void);

// Whether each lock that questions about pools take is free at a moment within the time. The time
// is long enough for other threads, unless a handler of a signal has interrupted the holder.
enum { EGB_LOCKS_MILLISECONDS = 200 };

bool egb_locks_are_free_soon_(int milliseconds);

#endif  // EGGBOX_SRC_HOSTED_POOL_FORK_H

// SPDX-License-Identifier: MIT
// Room cache: the tables of magazines that threads have, and the list of all of them. Unless a
// comment says otherwise, the registry lock is held, and the lock of the pool.
#ifndef EGGBOX_SRC_HOSTED_CACHE_THREADS_H
#define EGGBOX_SRC_HOSTED_CACHE_THREADS_H

#include "magazine.h"

// Tables of threads that ended, kept for threads to come.
enum { EGB_SPARE_TABLES_MAX = 16 };

// The threads and caches of a process. The lock is the registry lock: it also keeps the tree of
// pools, which is in room pool.
typedef struct egb_thread_registry {
    egb_os_mutex  lock;
    egb_thread_*  threads;
    egb_thread_*  spare_table;  // of threads that ended, with no magazines
    size_t        spare_tables;
    size_t        lane_threads[EGB_LANES];
    egb_magazine* caches;
    bool          can_take;  // from other threads' magazines; else there are none. Atomic
} egb_thread_registry;

extern egb_thread_registry egb_threads_;

// Gives a magazine's blocks back to its pool, which it locks, and makes it no pool's. No effect if
// it is no pool's.
void egb_magazine_let_go_(egb_magazine_* magazine);

// This thread's magazine with this key, if it has one and no pool of it was destroyed; else NULL.
static inline egb_magazine_* egb_thread_current_magazine_(uint64_t key)
{
    egb_thread_* const   thread   = egb_thread_self_();
    egb_magazine_* const magazine = egb_magazine_in_(thread, key);
    return EGB_LOAD_(magazine->key) == key && EGB_LOAD_(thread->revoked) == 0 ? magazine : NULL;
}

// This thread's magazine for the pool, or the one that is to become it; NULL: the thread has none.
// No lock is held.
egb_magazine_* egb_thread_get_magazine_(const egb_depot* depot, uint64_t key);

// Calls `visit` with every magazine of the pool.
void egb_each_magazine_(
    egb_depot* depot, void (*visit)(egb_magazine_* magazine, void* user), void* user
);

// Takes all free blocks out of all magazines, and of the depot, into the chunks.
void egb_depot_reclaim_(egb_depot* depot);

// Ends all magazines of a pool that is being destroyed.
void egb_revoke_(egb_depot* depot);

// No magazine knows a chunk that is wholly free any more: it may be about to go.
void egb_forget_chunks_(egb_depot* depot);

// Prepares for the ends of threads, once. False: there can be no magazines.
bool egb_threads_start_(void);

// Lets go of this thread's magazines of pools that were destroyed.
void egb_thread_drop_revoked_(void);

// Takes the blocks out of all caches, which become no pool's until they are used again. In the
// child of a fork, where the memory of those of other threads may be used for something else.
void egb_owned_let_go_(void);

// Into the list of all caches, and out of it.
void egb_owned_link_(egb_magazine* cache);
void egb_owned_unlink_(egb_magazine* cache);

// In the child of a fork: ends the tables of all other threads, which are no more, and gives their
// blocks back.
void egb_threads_end_others_(void);

#endif  // EGGBOX_SRC_HOSTED_CACHE_THREADS_H

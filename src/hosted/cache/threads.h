// SPDX-License-Identifier: MIT
// Room cache: the tables of magazines of threads, and the list of them. Each part says which locks
// its functions need. docs/locks.md has the locks at the start and the end of a thread.
#ifndef EGGBOX_SRC_HOSTED_CACHE_THREADS_H
#define EGGBOX_SRC_HOSTED_CACHE_THREADS_H

#include "magazine.h"

// The number of tables of ended threads that a trim keeps for reuse.
enum { EGB_SPARE_TABLES_LEAST = 16 };

// The threads and owned magazines of a process. Its lock, the registry lock, also protects the tree
// of pools, in room pool.
typedef struct egb_thread_registry {
    egb_os_mutex lock;
    egb_thread_* threads;
    egb_thread_* spare_table;   // from an ended thread, without magazines
    size_t       spare_tables;  // atomic
    size_t       lane_threads[EGB_LANES];
    size_t       count;        // threads; atomic
    size_t       crowd_below;  // once fewer than these are left a crowd has ended; 0: there is none
    size_t       crowd_ends;   // for which memory is to be given back; a thread is at the first one
    size_t       processors;   // that they may run on, once there are many; else 0. Atomic
    size_t       claimed;      // bytes of the blocks that open magazines have room for. Atomic
    egb_magazine* owned;       // all open ones
    bool          can_take;    // from other threads' magazines; else there are none. Atomic

    // Called by a thread whose end is that of a crowd, when it has no magazines any more, and no
    // lock is held. NULL: nobody wants to know. Atomic.
    void (*on_crowd_end)(void);

    // Called by a thread that ends, when at most one other is left. Atomic, and may be NULL.
    void (*on_few_left)(void);
} egb_thread_registry;

extern egb_thread_registry egb_threads_;

// Locks the magazine's pool, gives its blocks back and detaches it. No effect if it has no pool. No
// pool lock is held; the registry lock may be.
void egb_magazine_let_go_(egb_magazine_* magazine);

// This thread's magazine with this key. NULL: it has none, or another thread has destroyed some
// pool that this thread has a magazine for.
static inline egb_magazine_* egb_thread_current_magazine_(uint64_t key)
{
    egb_thread_* const   thread   = egb_thread_self_();
    egb_magazine_* const magazine = egb_magazine_in_(thread, key);
    return EGB_LOAD_(magazine->key) == key && EGB_LOAD_(thread->revoked) == 0 ? magazine : NULL;
}

// This thread's magazine for the pool, or the place for it; NULL: the thread has none. No lock is
// held.
egb_magazine_* egb_thread_get_magazine_(const egb_depot* depot, uint64_t key);

// ---- with the registry lock and the pool's lock held --------------------------------------------

// Visits every magazine of the pool.
void egb_each_magazine_(
    egb_depot* depot, void (*visit)(egb_magazine_* magazine, void* user), void* user
);

// Moves all free blocks of all magazines, and of the depot, into the chunks. If the system refuses
// the fence that this needs, magazines keep theirs.
void egb_depot_reclaim_(egb_depot* depot);

// The same, and leaves no room in the magazines: egb_magazine_close_room_(). False: the fence was
// refused.
bool egb_depot_reclaim_and_close_(egb_depot* depot);

// The same for each magazine, and for the depot, that was not used since the last such call.
void egb_depot_reclaim_idle_(egb_depot* depot);

// Ends all magazines of a pool that is being destroyed.
void egb_revoke_(egb_depot* depot);

// Invalidates what all magazines remember of wholly free chunks, which may go.
void egb_forget_chunks_(egb_depot* depot);

// ---- with no pool lock held; the registry lock may be -------------------------------------------

// Prepares for thread exits, once. False: magazines are impossible. Takes no lock.
bool egb_threads_start_(void);

// Asks the system how many there are, once, and not after the program has asked for a sandbox.
void egb_threads_count_processors_(void);

// Lets go of this thread's magazines of destroyed pools, whose locks it takes.
void egb_thread_drop_revoked_(void);

// Takes the blocks out of all owned magazines, which have no pool until their next use. The child
// of a fork calls it: the memory of those of other threads may be reused. Takes pool locks.
void egb_owned_let_go_(void);

// Adds an owned magazine to the list of all; removes it. With the registry lock held.
void egb_owned_link_(egb_magazine* cache);
void egb_owned_unlink_(egb_magazine* cache);

// Gives at most `tables` tables of ended threads back to the system, beyond those that are kept in
// any case. Returns the bytes given back. The registry lock is not held.
size_t egb_threads_trim_(size_t tables);

// In the child of a fork: ends the tables of all other threads, which no longer exist, and gives
// their blocks back. Takes pool locks.
void egb_threads_end_others_(void);

#endif  // EGGBOX_SRC_HOSTED_CACHE_THREADS_H

// SPDX-License-Identifier: MIT
// A fork in a threaded process. All locks are taken before it, in the
// order of docs/locks.md, so that the data behind them is whole in the child. The child has no
// other threads; their magazines are emptied there.
#include "fork.h"

#include "../region/large.h"
#include "eggbox/heap.h"
#include "eggbox/lock.h"
#include "passthrough.h"
#include "registry.h"
#include "wait.h"

EGB_AMONG_DATA_ static egb_fork_hook* hooks;  // atomic; the first that is to lock

// The first hook of the fork that is under way. Kept by the lock of the threads.
static const egb_fork_hook* prepared;

static _Thread_local bool has_locks;  // this thread has taken them, and forks

void egb_fork_add_hook_(egb_fork_hook* hook)
{
    if (__atomic_load_n(&hook->is_added, __ATOMIC_ACQUIRE)) {
        return;
    }
    egb_os_lock_(&egb_threads_.lock);
    if (!hook->is_added) {
        hook->next = hooks;
        __atomic_store_n(&hooks, hook, __ATOMIC_RELEASE);
        __atomic_store_n(&hook->is_added, true, __ATOMIC_RELEASE);
    }
    egb_os_unlock_(&egb_threads_.lock);
}

static size_t used_slots(void)
{
    return __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
}

typedef enum fork_step { BEFORE, IN_PARENT, IN_CHILD } fork_step;

static void run_hooks(const egb_fork_hook* hook, fork_step which)
{
    for (; hook != NULL; hook = hook->next) {
        void (*const call)(void) = which == BEFORE      ? hook->before
                                   : which == IN_PARENT ? hook->in_parent
                                                        : hook->in_child;
        if (call != NULL) {
            call();
        }
    }
}

// A hook that is added meanwhile has a lock, too: then the locks are taken anew.
static void lock_hooks_and_registry(void)
{
    for (;;) {
        const egb_fork_hook* const first = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);
        run_hooks(first, BEFORE);
        egb_os_lock_(&egb_threads_.lock);
        if (first == hooks) {
            prepared  = first;
            has_locks = true;
            return;
        }
        egb_os_unlock_(&egb_threads_.lock);
        run_hooks(first, IN_PARENT);
    }
}

// A thread that is alone keeps nobody out. A lock that it finds taken is its own: a signal handler
// that interrupted a call forks. That call goes on in both processes.
static void prepare(void)
{
    if (egb_is_only_thread_()) {
        prepared = hooks;
        return;
    }
    lock_hooks_and_registry();
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_depot_lock_(&egb_registry_.controls[slot].depot);
    }
    egb_batch_slabs_lock_();
    egb_large_lock_();
    egb_pass_lock_();
    egb_os_lock_(&egb_registry_.budget_lock);
    egb_region_cache_lock_();
}

// The thread that asks may have been interrupted while it held one of them itself.
bool egb_locks_are_free_soon_(int milliseconds)
{
    bool are_free = egb_os_is_free_soon_(&egb_threads_.lock, milliseconds) &&
                    egb_large_is_free_soon_(milliseconds) &&
                    egb_os_is_free_soon_(&egb_registry_.budget_lock, milliseconds) &&
                    egb_region_cache_is_free_soon_(milliseconds);
    for (size_t slot = 1; slot < used_slots() && are_free; slot++) {
        are_free = egb_depot_is_free_soon_(&egb_registry_.controls[slot].depot, milliseconds);
    }
    return are_free;
}

static void in_parent(void)
{
    if (!has_locks) {
        return;
    }
    egb_region_cache_unlock_();
    egb_os_unlock_(&egb_registry_.budget_lock);
    egb_pass_unlock_();
    egb_large_unlock_();
    egb_batch_slabs_unlock_();
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_depot_let_go_(&egb_registry_.controls[slot].depot);
    }
    const egb_fork_hook* const first = prepared;
    has_locks                        = false;
    egb_os_unlock_(&egb_threads_.lock);
    run_hooks(first, IN_PARENT);
}

static void reset_locks(void)
{
    has_locks = false;
    egb_region_cache_reset_();
    egb_os_lock_reset_(&egb_registry_.budget_lock);
    egb_pass_reset_();
    egb_large_reset_();
    egb_batch_slabs_reset_();
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_depot_lock_reset_(&egb_registry_.controls[slot].depot);
    }
    egb_os_lock_reset_(&egb_threads_.lock);
}

// The thread is alone here: whether it was before the fork, its locks tell.
static void in_child(void)
{
    egb_os_thread_is_forked_();
    const bool is_whole = has_locks || egb_locks_are_free_soon_(EGB_LOCKS_MILLISECONDS);
    if (has_locks) {
        reset_locks();
    }
    if (is_whole) {
        egb_lines_reset_();
    }
    run_hooks(prepared, IN_CHILD);
    if (is_whole) {
        egb_threads_end_others_();
        egb_owned_let_go_();
    }
}

bool egb_heap_call_in_children_(void (*function)(void))
{
    return egb_os_at_fork_(NULL, NULL, function);
}

bool egb_fork_start_(void)
{
    return egb_os_at_fork_(prepare, in_parent, in_child);
}

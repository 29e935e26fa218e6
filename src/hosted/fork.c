// SPDX-License-Identifier: MIT
// A fork in a threaded process. All locks are taken before, so that what they keep is whole in the
// child, whose other threads are gone; their magazines are emptied there.
#include "heap_private.h"
#include "passthrough.h"
#include "report_private.h"

static size_t used_slots(void)
{
    return __atomic_load_n(&egb_the_world.slots, __ATOMIC_ACQUIRE);
}

static void prepare(void)
{
    egb_heap_lock_classes();
    egb_os_lock(&egb_the_world.lock);
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_os_lock(&egb_the_world.controls[slot].lock);
    }
    egb_workshops_lock();
    egb_large_lock();
    egb_pass_lock();
    egb_os_lock(&egb_the_world.ledger);
}

static bool is_free_soon(egb_os_mutex* mutex)
{
    const bool has = egb_os_lock_soon(mutex);
    if (has) {
        egb_os_unlock(mutex);
    }
    return has;
}

// The thread that asks may have been interrupted while it held one of them itself.
bool egb_locks_are_free_soon(void)
{
    bool are_free = is_free_soon(&egb_the_world.lock) && egb_large_is_free_soon() &&
                    is_free_soon(&egb_the_world.ledger);
    for (size_t slot = 1; slot < used_slots() && are_free; slot++) {
        are_free = is_free_soon(&egb_the_world.controls[slot].lock);
    }
    return are_free;
}

static void in_parent(void)
{
    egb_os_unlock(&egb_the_world.ledger);
    egb_pass_unlock();
    egb_large_unlock();
    egb_workshops_unlock();
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_os_unlock(&egb_the_world.controls[slot].lock);
    }
    egb_os_unlock(&egb_the_world.lock);
    egb_heap_unlock_classes();
}

static void in_child(void)
{
    egb_os_lock_reset(&egb_the_world.ledger);
    egb_pass_reset();
    egb_large_reset();
    egb_workshops_reset();
    for (size_t slot = 1; slot < used_slots(); slot++) {
        egb_os_lock_reset(&egb_the_world.controls[slot].lock);
    }
    egb_os_lock_reset(&egb_the_world.lock);
    egb_heap_reset_classes();
    for (egb_thread_* thread = egb_the_world.threads; thread != NULL;) {
        egb_thread_* const following = thread->next;
        if (thread != egb_thread_self_()) {
            egb_thread_end(thread);
        }
        thread = following;
    }
    egb_caches_let_go();
    egb_report_reset();
}

bool egb_fork_start(void)
{
    return egb_os_at_fork(prepare, in_parent, in_child);
}

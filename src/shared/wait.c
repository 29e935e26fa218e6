// SPDX-License-Identifier: MIT
// Waiting for an event of another process, by a wake word: a count, times two, and a bit that says
// that someone waits. Without that bit an event makes no system call. A waiter that dies leaves
// the bit, and one wake too many.
#include "shared_private.h"

enum { SOMEONE_WAITS = 1, ONE_EVENT = 2 };

// A death wakes nobody: a waiter looks again after this time. An attempt that finds nothing
// recovers the dead, as far as they keep back what the waiter needs.
#define EGB_SHARED_LOOK_NS_ ((uint64_t)50000000)

// The event was stored before, and a waiter looks for it after it set the bit: one sees the other.
void egb_shared_tell_(_Atomic uint32_t* word)
{
    uint32_t seen = atomic_load(word);
    while ((seen & SOMEONE_WAITS) != 0) {
        if (atomic_compare_exchange_weak(word, &seen, seen + ONE_EVENT - SOMEONE_WAITS)) {
            egb_os_shared_wake_((void*)(uintptr_t)word);
            return;
        }
    }
}

static egb_status attempt_once(egb_shared* handle, egb_shared_attempt_ attempt, void* what)
{
    egb_shared* const shared = egb_shared_enter_(handle);
    if (shared == NULL) {
        return EGB_STALE;
    }
    const egb_status status = attempt(shared, what);
    egb_shared_leave_(shared);
    return status;
}

// The moment at which the wait ends.
static uint64_t deadline_of(uint64_t timeout_ns)
{
    const uint64_t now = egb_os_nanoseconds_();
    return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

// For people. The pool may have been closed meanwhile.
static void count_waiting(egb_shared* handle, uint64_t change)
{
    egb_shared* const shared = egb_shared_enter_(handle);
    if (shared != NULL) {
        (void)atomic_fetch_add(&shared->state->cards[shared->slot].waiting, change);
        egb_shared_leave_(shared);
    }
}

egb_status egb_shared_until_(
    egb_shared* handle, bool is_news, uint64_t timeout_ns, egb_shared_attempt_ attempt, void* what
)
{
    egb_shared* const shared  = egb_shared_record_of_(handle);
    const uint32_t    cancels = atomic_load(&shared->cancels);
    egb_status        status  = attempt_once(handle, attempt, what);
    if (status != EGB_BUSY || timeout_ns == 0) {
        return status;
    }
    _Atomic uint32_t* const word     = is_news ? &shared->state->news : &shared->state->freed;
    const uint64_t          deadline = deadline_of(timeout_ns);
    count_waiting(handle, 1);
    while (atomic_load(&shared->cancels) == cancels) {
        const uint32_t seen = atomic_fetch_or(word, SOMEONE_WAITS) | SOMEONE_WAITS;
        status              = attempt_once(handle, attempt, what);
        if (status != EGB_BUSY) {
            break;
        }
        const uint64_t now = egb_os_nanoseconds_();
        if (now >= deadline) {
            break;
        }
        const uint64_t left = deadline - now;
        egb_os_shared_wait_(
            (void*)(uintptr_t)word, seen, left < EGB_SHARED_LOOK_NS_ ? left : EGB_SHARED_LOOK_NS_
        );
    }
    count_waiting(handle, UINT64_MAX);  // one less
    return status;
}

void egb_shared_cancel(egb_shared* handle)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    if (shared != NULL) {
        (void)atomic_fetch_add(&shared->cancels, 1);
        egb_shared_tell_(&shared->state->freed);
        egb_shared_tell_(&shared->state->news);
        egb_shared_leave_(shared);
    }
}

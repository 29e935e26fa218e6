// SPDX-License-Identifier: MIT
// The fixed pool for threads and interrupts. Invariant between two critical sections: if a thread
// waits, no block is free that it may have. A block that comes is therefore the first thread's, and
// a thread that comes finds none.
#include "eggbox/fixed_shared.h"

#include "fixed_private.h"

static uintptr_t begin_section(const egb_fixed_shared* shared)
{
    return shared->port->enter(shared->port);
}

static void end_section(const egb_fixed_shared* shared, uintptr_t before)
{
    shared->port->leave(shared->port, before);
}

static bool is_made(const egb_fixed_shared* shared)
{
    return shared != NULL && shared->pool != NULL;
}

// Says it to the handler, too.
static bool is_made_or_told(const egb_fixed_shared* shared, const void* site)
{
    if (!is_made(shared)) {
        egb_report_(EGB_MISUSE_NO_POOL, NULL, NULL, EGB_NO_INDEX, site);
        return false;
    }
    return true;
}

egb_status egb_fixed_shared_init(
    egb_fixed_shared* shared, egb_fixed* pool, const egb_port* port, size_t reserve
)
{
    if (shared == NULL || port == NULL || reserve >= egb_fixed_capacity(pool)) {
        return EGB_INVALID;  // a pool that is not initialised has no capacity
    }
    shared->pool    = pool;
    shared->port    = port;
    shared->waiters = NULL;
    shared->in_use  = egb_fixed_in_use(pool);
    shared->reserve = reserve;
    return EGB_OK;
}

// ---- in a critical section ----------------------------------------------------------------------

// Whether none but urgent callers may have a block now.
static bool only_reserve_is_left(const egb_fixed_shared* shared)
{
    return shared->reserve != 0 &&
           shared->in_use + shared->reserve >= egb_fixed_capacity(shared->pool);
}

static void* take(egb_fixed_shared* shared, bool is_urgent)
{
    if (!is_urgent && only_reserve_is_left(shared)) {
        return NULL;
    }
    void* const block = egb_fixed_alloc(shared->pool);
    shared->in_use += block != NULL;
    return block;
}

static bool is_served_before(const egb_waiter* one, const egb_waiter* other)
{
    return one->is_urgent != other->is_urgent ? one->is_urgent : one->priority > other->priority;
}

static void line_up(egb_fixed_shared* shared, egb_waiter* waiter)
{
    egb_waiter** at = &shared->waiters;
    while (*at != NULL && !is_served_before(waiter, *at)) {
        at = &(*at)->next;
    }
    waiter->next = *at;
    *at          = waiter;
}

static void drop_out(egb_fixed_shared* shared, const egb_waiter* waiter)
{
    egb_waiter** at = &shared->waiters;
    while (*at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
}

// Nothing in `waiter` is ours afterwards.
static void answer(const egb_fixed_shared* shared, egb_waiter* waiter, egb_status what, void* block)
{
    waiter->block  = block;
    waiter->answer = what;
    shared->port->wake(shared->port, waiter);
}

// Gives a block that is in use to the first thread that waits and may have it.
static bool hand_over(egb_fixed_shared* shared, void* block)
{
    egb_waiter* const first = shared->waiters;
    if (first == NULL) {
        return false;
    }
    shared->in_use--;  // as if the block were free, for the question
    const bool is_for_it = first->is_urgent || !only_reserve_is_left(shared);
    shared->in_use++;
    if (is_for_it) {
        shared->waiters = first->next;
        answer(shared, first, EGB_OK, block);
    }
    return is_for_it;
}

// ---- calls --------------------------------------------------------------------------------------

static void* alloc_at_once(egb_fixed_shared* shared, bool is_urgent, const void* site)
{
    if (!is_made_or_told(shared, site)) {
        return NULL;
    }
    const uintptr_t before = begin_section(shared);
    void* const     block  = take(shared, is_urgent);
    end_section(shared, before);
    return block;
}

void* egb_fixed_shared_alloc(egb_fixed_shared* shared)
{
    return alloc_at_once(shared, false, EGB_CALLER());
}

void* egb_fixed_shared_alloc_urgent(egb_fixed_shared* shared)
{
    return alloc_at_once(shared, true, EGB_CALLER());
}

// Waits in the critical section that returned `*before`.
static void wait_for_answer(
    egb_fixed_shared* shared, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t* before
)
{
    const egb_port* const port = shared->port;
    waiter->priority           = port->priority != NULL ? port->priority(port) : 0;
    line_up(shared, waiter);
    *before = port->wait(port, waiter, timeout_ms, *before);
    if (waiter->answer == EGB_BUSY) {
        drop_out(shared, waiter);
        waiter->answer = EGB_TIMED_OUT;
    }
}

static egb_status alloc_or_wait(
    egb_fixed_shared* shared, void** out, uint32_t timeout_ms, bool is_urgent, const void* site
)
{
    if (out == NULL) {
        return EGB_INVALID;
    }
    *out = NULL;
    if (!is_made_or_told(shared, site)) {
        return EGB_INVALID;
    }
    uintptr_t  before = begin_section(shared);
    egb_waiter waiter = {NULL, EGB_BUSY, is_urgent, 0, take(shared, is_urgent), NULL};
    if (waiter.block != NULL) {
        waiter.answer = EGB_OK;
    } else if (timeout_ms == 0) {
        waiter.answer = EGB_EMPTY;
    } else if (shared->port->wait == NULL) {
        waiter.answer = EGB_UNSUPPORTED;
    } else {
        wait_for_answer(shared, &waiter, timeout_ms, &before);
    }
    end_section(shared, before);
    *out = waiter.block;
    return waiter.answer;
}

egb_status egb_fixed_shared_alloc_for(egb_fixed_shared* shared, void** out, uint32_t timeout_ms)
{
    return alloc_or_wait(shared, out, timeout_ms, false, EGB_CALLER());
}

egb_status
egb_fixed_shared_alloc_urgent_for(egb_fixed_shared* shared, void** out, uint32_t timeout_ms)
{
    return alloc_or_wait(shared, out, timeout_ms, true, EGB_CALLER());
}

static void reschedule(const egb_fixed_shared* shared)
{
    if (shared->port->reschedule != NULL) {
        shared->port->reschedule(shared->port);
    }
}

// Tells the handler of a wrong free, once it is outside the critical section of `before`. The event
// tells the kind and the index that were found inside.
EGB_COLD static void
refuse(const egb_fixed_shared* shared, const void* block, uintptr_t before, const void* site)
{
    const egb_fixed* const pool  = shared->pool;
    const size_t           index = egb_fixed_index_of_(pool, block);
    const egb_misuse_kind  kind =
        egb_fixed_is_made_(pool) ? egb_fixed_kind_of_free_(pool, block, index) : EGB_MISUSE_NO_POOL;
    end_section(shared, before);
    egb_report_(kind, pool, block, index, site);
}

void egb_fixed_shared_free(egb_fixed_shared* shared, void* block)
{
    if (block == NULL || !is_made_or_told(shared, EGB_CALLER())) {
        return;
    }
    egb_fixed* const pool   = shared->pool;
    const uintptr_t  before = begin_section(shared);
    if (!egb_fixed_can_push_(pool, block) && !egb_fixed_is_live(pool, block)) {
        refuse(shared, block, before, EGB_CALLER());
        return;
    }
    const bool is_handed_over = hand_over(shared, block);
    if (!is_handed_over) {
        egb_fixed_free(pool, block);
        shared->in_use--;
    }
    end_section(shared, before);
    if (is_handed_over) {
        reschedule(shared);
    }
}

size_t egb_fixed_shared_cancel(egb_fixed_shared* shared)
{
    if (!is_made_or_told(shared, EGB_CALLER())) {
        return 0;
    }
    size_t          count  = 0;
    const uintptr_t before = begin_section(shared);
    egb_waiter*     next   = shared->waiters;
    shared->waiters        = NULL;
    for (; next != NULL; count++) {
        egb_waiter* const first = next;
        next                    = first->next;
        answer(shared, first, EGB_CANCELLED, NULL);
    }
    end_section(shared, before);
    if (count != 0) {
        reschedule(shared);
    }
    return count;
}

// ---- questions ----------------------------------------------------------------------------------

size_t egb_fixed_shared_capacity(const egb_fixed_shared* shared)
{
    return is_made(shared) ? egb_fixed_capacity(shared->pool) : 0;
}

size_t egb_fixed_shared_in_use(const egb_fixed_shared* shared)
{
    if (!is_made(shared)) {
        return 0;
    }
    const uintptr_t before = begin_section(shared);
    const size_t    in_use = shared->in_use;
    end_section(shared, before);
    return in_use;
}

size_t egb_fixed_shared_peak(const egb_fixed_shared* shared)
{
    if (!is_made(shared)) {
        return 0;
    }
    const uintptr_t before = begin_section(shared);
    const size_t    peak   = egb_fixed_peak(shared->pool);
    end_section(shared, before);
    return peak;
}

size_t egb_fixed_shared_waiting(const egb_fixed_shared* shared)
{
    if (!is_made(shared)) {
        return 0;
    }
    size_t          count  = 0;
    const uintptr_t before = begin_section(shared);
    for (const egb_waiter* at = shared->waiters; at != NULL; at = at->next) {
        count++;
    }
    end_section(shared, before);
    return count;
}

// In the order in which they are served, and none that could have a block now.
static bool waiters_are_whole(const egb_fixed_shared* shared)
{
    const egb_waiter* const first    = shared->waiters;
    bool                    is_whole = true;
    if (first != NULL) {
        is_whole = first->is_urgent
                       ? egb_fixed_available(shared->pool) == 0
                       : shared->in_use + shared->reserve >= egb_fixed_capacity(shared->pool);
    }
    for (const egb_waiter* at = first; at != NULL; at = at->next) {
        is_whole = is_whole && at->answer == EGB_BUSY && at->block == NULL &&
                   (at->next == NULL || !is_served_before(at->next, at));
    }
    return is_whole;
}

bool egb_fixed_shared_whole(const egb_fixed_shared* shared)
{
    if (!is_made(shared)) {
        return false;
    }
    const uintptr_t before = begin_section(shared);
    const bool      is_whole =
        egb_fixed_whole(shared->pool) && shared->in_use == egb_fixed_in_use(shared->pool) &&
        shared->reserve < egb_fixed_capacity(shared->pool) && waiters_are_whole(shared);
    end_section(shared, before);
    return is_whole;
}

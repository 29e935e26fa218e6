// SPDX-License-Identifier: MIT
// Threads and their tables of magazines: how they begin, grow and end, and how blocks are taken out
// of the magazines of others.
#include "depot.h"
#include "guard.h"

// What threads have before their first magazine, and after their end. Nothing writes to them, and
// hardly a page of them is ever read. They are zero at first, so that programs do not grow by them:
// a key of zero is no handle's but the null pool's, for which the first place is made ready before
// the constructors of any program.
static egb_thread_ before;
static egb_thread_ after;

__attribute__((constructor(101))) static void make_first_places(void)
{
    egb_magazine_clear(&before.magazines[0]);
    egb_magazine_clear(&after.magazines[0]);
}

#if defined(_WIN32)
static _Thread_local egb_thread_* here = &before;

egb_thread_* egb_thread_self_(void)
{
    return here;
}

static void set_here(egb_thread_* thread)
{
    here = thread;
}
#else
__thread egb_thread_* egb_thread_here_ __attribute__((tls_model("initial-exec"))) = &before;

static void set_here(egb_thread_* thread)
{
    egb_thread_here_ = thread;
}
#endif

// ---- one thread's table -------------------------------------------------------------------------

static void link_thread(egb_thread_* thread)
{
    thread->previous = NULL;
    thread->next     = egb_the_world.threads;
    if (thread->next != NULL) {
        thread->next->previous = thread;
    }
    egb_the_world.threads = thread;
}

static void unlink_thread(egb_thread_* thread)
{
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    } else {
        egb_the_world.threads = thread->next;
    }
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
}

void egb_magazine_let_go(egb_magazine_* magazine)
{
    egb_control* const control = magazine->control;
    if (control != NULL) {
        egb_os_lock(&control->lock);
        egb_magazine_detach(control, magazine);
        egb_os_unlock(&control->lock);
    }
}

// Where this library is the C library's malloc, arming may come back here. So no lock is held
// meanwhile, and the thread has no magazines, as at its end.
static bool arm(egb_thread_* thread)
{
    set_here(&after);
    const bool is_armed = egb_os_arm_thread_exit(thread);
    set_here(&before);
    return is_armed;
}

// The lane with the fewest threads: that of one that ended, whose blocks are there. The world is
// locked.
static size_t enter_lane(void)
{
    size_t* const threads = egb_the_world.lane_threads;
    size_t        fewest  = 0;
    for (size_t lane = 1; lane < EGB_LANES; lane++) {
        fewest = threads[lane] < threads[fewest] ? lane : fewest;
    }
    threads[fewest]++;
    return fewest;
}

// The table of a thread that ended is as good as new, and has its pages already. A few are kept.
// The world is locked.
static void put_table(egb_thread_* thread)
{
    if (egb_the_world.spare_tables < EGB_SPARE_TABLES_MAX) {
        thread->next              = egb_the_world.spare_table;
        egb_the_world.spare_table = thread;
        egb_the_world.spare_tables++;
    } else {
        egb_pages_release(thread, sizeof(egb_thread_));
    }
}

// NULL: refused.
static egb_thread_* take_table(void)
{
    egb_os_lock(&egb_the_world.lock);
    egb_thread_* const spare = egb_the_world.spare_table;
    if (spare != NULL) {
        egb_the_world.spare_table = spare->next;
        egb_the_world.spare_tables--;
    }
    egb_os_unlock(&egb_the_world.lock);
    return spare != NULL ? spare : egb_pages(sizeof(egb_thread_));
}

// NULL: refused.
static egb_thread_* new_table(void)
{
    egb_thread_* const thread = take_table();
    if (thread == NULL) {
        return NULL;
    }
    const bool is_armed = arm(thread);
    egb_os_lock(&egb_the_world.lock);
    if (!is_armed) {
        put_table(thread);
        egb_os_unlock(&egb_the_world.lock);
        return NULL;
    }
    egb_magazine_clear(&thread->magazines[0]);
    thread->lane = enter_lane();
    link_thread(thread);
    egb_os_unlock(&egb_the_world.lock);
    set_here(thread);
    return thread;
}

void egb_thread_end(egb_thread_* thread)
{
    for (size_t i = 0; i < thread->used; i++) {
        egb_magazine_let_go(&thread->magazines[i]);
    }
    unlink_thread(thread);
    egb_the_world.lane_threads[thread->lane]--;
    thread->used    = 0;
    thread->revoked = 0;
    put_table(thread);
}

static void at_exit(void* argument)
{
    set_here(&after);
    egb_os_lock(&egb_the_world.lock);
    egb_thread_end(argument);
    egb_os_unlock(&egb_the_world.lock);
}

bool egb_threads_start(void)
{
    make_first_places();  // for who comes before the constructor
    return egb_os_at_thread_exit(at_exit);
}

// Lets go of what belongs to pools that were destroyed meanwhile.
static void drop_revoked(egb_thread_* thread)
{
    // In one step, so that a pool that is destroyed just now is seen, or sets it again.
    if (EGB_LOAD_(thread->revoked) == 0 ||
        __atomic_exchange_n(&thread->revoked, 0, __ATOMIC_ACQ_REL) == 0) {
        return;
    }
    for (size_t i = 0; i < thread->used; i++) {
        if (EGB_LOAD_(thread->magazines[i].key) == EGB_NO_KEY_) {
            egb_magazine_let_go(&thread->magazines[i]);
        }
    }
}

void egb_thread_drop_revoked(void)
{
    drop_revoked(egb_thread_self_());
}

void egb_caches_let_go(void)
{
    for (egb_cache* cache = egb_the_world.caches; cache != NULL; cache = cache->next) {
        egb_magazine_let_go(&cache->magazine);
    }
    egb_the_world.caches = NULL;
}

void egb_cache_link(egb_cache* cache)
{
    cache->previous = NULL;
    cache->next     = egb_the_world.caches;
    if (cache->next != NULL) {
        cache->next->previous = cache;
    }
    egb_the_world.caches = cache;
}

void egb_cache_unlink(egb_cache* cache)
{
    if (cache->previous != NULL) {
        cache->previous->next = cache->next;
    } else {
        egb_the_world.caches = cache->next;
    }
    if (cache->next != NULL) {
        cache->next->previous = cache->previous;
    }
}

egb_magazine_* egb_thread_get_magazine_(egb_pool pool)
{
    egb_thread_*             thread  = egb_thread_self_();
    const egb_control* const control = egb_control_of(pool);
    if (thread == &after || control == NULL || !EGB_LOAD_(egb_the_world.can_take)) {
        return NULL;
    }
    const bool has_magazines = EGB_LOAD_(control->batch_blocks) != 0;
    if (thread == &before) {
        thread = has_magazines ? new_table() : NULL;
        if (thread == NULL) {
            return NULL;
        }
    }
    drop_revoked(thread);
    if (!has_magazines) {
        return NULL;
    }
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_in_(thread, key);
    // Another pool's, alive or not: one that is being destroyed and has not said so yet is waited
    // for.
    if (magazine->control != NULL && EGB_LOAD_(magazine->key) != key) {
        egb_magazine_let_go(magazine);
    }
    const uint32_t place = (uint32_t)(magazine - thread->magazines);
    thread->used         = thread->used > place ? thread->used : place + 1;
    return magazine;
}

// ---- the magazines of all threads ---------------------------------------------------------------

void egb_each_magazine(
    egb_control* control, void (*visit)(egb_magazine_* magazine, void* user), void* user
)
{
    const uint64_t key = egb_pool_key_(egb_handle_of(control));
    for (egb_thread_* thread = egb_the_world.threads; thread != NULL; thread = thread->next) {
        egb_magazine_* const magazine = egb_magazine_in_(thread, key);
        if (EGB_LOAD_(magazine->control) == control) {
            visit(magazine, user);
        }
    }
    for (egb_cache* cache = egb_the_world.caches; cache != NULL; cache = cache->next) {
        if (cache->magazine.control == control) {
            visit(&cache->magazine, user);
        }
    }
}

static void close_bottom(egb_magazine_* magazine, void* user)
{
    egb_magazine_set_bottom(user, magazine, (uintptr_t)INTPTR_MAX);
}

static void open_bottom(egb_magazine_* magazine, void* user)
{
    egb_magazine_set_bottom(user, magazine, magazine->lowest);
}

// What the owner has not lowered `top` below by now, it will not before it has seen the closed
// bottom and waited for the pool's lock.
static void take_out(egb_magazine_* magazine, void* user)
{
    egb_control* const      control = user;
    const uintptr_t         top     = __atomic_load_n(&magazine->top, __ATOMIC_ACQUIRE);
    const egb_entry_*       entry   = (const egb_entry_*)magazine->lowest;
    const egb_entry_* const end     = (const egb_entry_*)top;
    for (; entry < end; entry++) {
        egb_put_back(control, entry->block);
    }
    if (top > magazine->lowest) {
        magazine->lowest = top;
    }
    if (magazine->spare != NULL) {
        egb_batch_flush(control, magazine->spare);
    }
    egb_magazine_flush_away(control, magazine);
    magazine->wish = 1;
    egb_magazine_set_bottom(control, magazine, magazine->lowest);
}

size_t egb_reclaim(egb_control* control)
{
    const size_t before_it = control->growing.in_use;
    egb_depot_flush(control);
    egb_quarantine_flush(control);
    if (control->attached != 0) {
        egb_each_magazine(control, close_bottom, control);
        const bool is_safe = egb_os_fence_threads();
        egb_each_magazine(control, is_safe ? take_out : open_bottom, control);
    }
    return before_it - control->growing.in_use;
}

// ---- the end of a pool --------------------------------------------------------------------------

static void revoke_in(egb_magazine_* magazine, void* user)
{
    egb_magazine_revoke(user, magazine);
}

void egb_revoke(egb_control* control)
{
    egb_each_magazine(control, revoke_in, control);
    const uint64_t key = egb_pool_key_(egb_handle_of(control));
    for (egb_thread_* thread = egb_the_world.threads; thread != NULL; thread = thread->next) {
        if (EGB_LOAD_(egb_magazine_in_(thread, key)->control) == control) {
            __atomic_store_n(&thread->revoked, 1, __ATOMIC_RELEASE);
        }
    }
}

static void strike_in(egb_magazine_* magazine, void* user)
{
    egb_magazine_strike(user, magazine);
}

void egb_forget_chunks(egb_control* control)
{
    egb_each_magazine(control, strike_in, control);
}

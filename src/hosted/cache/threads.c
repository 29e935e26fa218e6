// SPDX-License-Identifier: MIT
// Threads and their tables of magazines: how they begin, grow and end, and how blocks are taken out
// of other threads' magazines.
#include "threads.h"

#include "../region/keep.h"
#include "../region/pages.h"
#include "peak.h"

EGB_AMONG_DATA_ egb_thread_registry egb_threads_;

// The table of a thread before its first magazine, and after its end. It is never written, and
// hardly ever read. It is zero at first, so that programs do not grow: key zero is only that of the
// null pool, and its first place is prepared before any program's constructors.
//
// The second table begins two places further in the same memory, for which nobody has a key either:
// the first places of both are on one page.
static struct {
    egb_thread_   yet;
    egb_magazine_ rest_of_any_more[2];
} no_table;

EGB_STATIC_ASSERT(
    offsetof(egb_thread_, magazines) + sizeof(egb_magazine_) <= sizeof no_table.rest_of_any_more,
    "the first place of the second table is behind that of the first"
);

static egb_thread_* no_table_any_more(void)
{
    return (egb_thread_*)(void*)((char*)&no_table.yet + sizeof no_table.rest_of_any_more);
}

__attribute__((constructor(101))) static void make_first_places(void)
{
    egb_magazine_clear_(&no_table.yet.magazines[0]);
    egb_magazine_clear_(&no_table_any_more()->magazines[0]);
}

#if defined(_WIN32)
static _Thread_local egb_thread_* here = &no_table.yet;

egb_thread_* egb_thread_self_(void)
{
    return here;
}

static void set_here(egb_thread_* thread)
{
    here = thread;
}
#else
__thread egb_thread_* egb_thread_here_ __attribute__((tls_model("initial-exec"))) = &no_table.yet;

static void set_here(egb_thread_* thread)
{
    egb_thread_here_ = thread;
}
#endif

#if EGB_IS_MALLOC && defined(__GLIBC__)
// glibc's loader sets thread-local variables after it has relocated all libraries. A resolver of an
// IFUNC, which it calls before, may allocate. Therefore a resolver of our own, called when this
// library is relocated, sets the table. Still earlier the variable is taken for the first word of
// the C library's data of a thread. It leads to that data, in which there is no entry to pop where
// the first magazine of a table would be: all of that is zero. (musl has no IFUNC, and thus no
// resolver that could allocate.)
static void do_nothing(void) {}

static void (*set_first_table(void))(void)
{
    set_here(&no_table.yet);
    return do_nothing;
}

// clang makes an IFUNC external although it is declared static.
void egb_thread_first_table_(void) __attribute__((visibility("hidden"), ifunc("set_first_table")));
__attribute__((used)) static void (*const volatile is_resolved)(void) = egb_thread_first_table_;
#endif

// ---- one thread's table -------------------------------------------------------------------------

void egb_magazine_let_go_(egb_magazine_* magazine)
{
    egb_depot* const depot = magazine->depot;
    if (depot != NULL) {
        egb_depot_lock_(depot);
        egb_magazine_detach_(depot, magazine);
        egb_depot_unlock_(depot);
    }
}

// If this library is the C library's malloc, arming may call back here: no lock is held meanwhile,
// and the thread has no magazines, as at its end.
static bool arm(egb_thread_* thread)
{
    set_here(no_table_any_more());
    const bool is_armed = egb_os_arm_thread_exit_(thread);
    set_here(&no_table.yet);
    return is_armed;
}

// The lane with the fewest threads: often that of an ended thread, whose blocks are there. The
// registry is locked.
static size_t enter_lane(void)
{
    size_t* const threads = egb_threads_.lane_threads;
    size_t        fewest  = 0;
    for (size_t lane = 1; lane < EGB_LANES; lane++) {
        fewest = threads[lane] < threads[fewest] ? lane : fewest;
    }
    threads[fewest]++;
    return fewest;
}

// The table of an ended thread is as good as new, and has its pages. The registry is locked.
static void put_table(egb_thread_* thread)
{
    thread->next             = egb_threads_.spare_table;
    egb_threads_.spare_table = thread;
    EGB_STORE_(egb_threads_.spare_tables, egb_threads_.spare_tables + 1);
}

// A spare table, if more than `least` are there. NULL: they are not.
static egb_thread_* take_spare(size_t least)
{
    egb_os_lock_(&egb_threads_.lock);
    egb_thread_* const spare = egb_threads_.spare_tables > least ? egb_threads_.spare_table : NULL;
    if (spare != NULL) {
        egb_threads_.spare_table = spare->next;
        EGB_STORE_(egb_threads_.spare_tables, egb_threads_.spare_tables - 1);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return spare;
}

size_t egb_threads_trim_(size_t tables)
{
    size_t given = 0;
    for (size_t i = 0; i < tables; i++) {
        egb_thread_* const spare = take_spare(EGB_SPARE_TABLES_LEAST);
        if (spare == NULL) {
            break;
        }
        egb_pages_release_(spare, sizeof(egb_thread_));
        given += sizeof(egb_thread_);
    }
    return given;
}

// NULL: refused.
static egb_thread_* take_table(void)
{
    egb_thread_* const spare = take_spare(0);
    return spare != NULL ? spare : egb_pages_(sizeof(egb_thread_));
}

void egb_threads_count_processors_(void)
{
    if (EGB_LOAD_(egb_threads_.processors) == 0 && !egb_keep_expects_sandbox_()) {
        EGB_STORE_(egb_threads_.processors, egb_os_processors_());
    }
}

// A thread has begun. The registry is locked.
static void note_crowd(void)
{
    enum { PART_LEFT = 4 };
    const size_t count       = egb_threads_.count;
    const size_t below       = count > EGB_LANES ? (count + PART_LEFT - 1) / PART_LEFT + 1 : 0;
    egb_threads_.crowd_below = egb_larger_(egb_threads_.crowd_below, below);
}

// NULL: refused.
static egb_thread_* new_table(void)
{
    if (EGB_LOAD_(egb_threads_.count) >= EGB_LANES) {  // fewer threads have room enough
        egb_threads_count_processors_();
    }
    egb_thread_* const thread = take_table();
    if (thread == NULL) {
        return NULL;
    }
    const bool is_armed = arm(thread);
    egb_os_lock_(&egb_threads_.lock);
    if (!is_armed) {
        put_table(thread);
        egb_os_unlock_(&egb_threads_.lock);
        return NULL;
    }
    egb_magazine_clear_(&thread->magazines[0]);
    thread->lane = enter_lane();
    EGB_STORE_(egb_threads_.count, egb_threads_.count + 1);
    note_crowd();
    EGB_LIST_ADD_(egb_threads_.threads, thread, );
    egb_os_unlock_(&egb_threads_.lock);
    set_here(thread);
    return thread;
}

static void let_go_of_all(egb_thread_* thread)
{
    for (size_t i = 0; i < thread->used; i++) {
        egb_magazine_let_go_(&thread->magazines[i]);
    }
}

// As put_table(), for a table without blocks that threads can still find.
static void end_table(egb_thread_* thread)
{
    EGB_LIST_REMOVE_(egb_threads_.threads, thread, );
    egb_threads_.lane_threads[thread->lane]--;
    EGB_STORE_(egb_threads_.count, egb_threads_.count - 1);
    thread->used       = 0;
    thread->revoked    = 0;
    thread->room_bytes = 0;
    put_table(thread);
}

// Three quarters of a crowd of threads have ended, or since then half of those that were left: an
// end of the crowd. Whether it is this thread's, as no other thread is at one. The registry is
// locked.
static bool end_crowd(void)
{
    const size_t count   = egb_threads_.count;
    const bool   is_over = count < egb_threads_.crowd_below;
    if (is_over) {
        egb_threads_.crowd_below = count == 0 ? 0 : count / 2 + 1;
        egb_threads_.crowd_ends++;
    }
    return is_over && egb_threads_.crowd_ends == 1;
}

static void give_back_after_crowd(void)
{
    void (*const on_crowd_end)(void) = EGB_LOAD_(egb_threads_.on_crowd_end);
    (void)egb_threads_trim_(SIZE_MAX);
    if (on_crowd_end != NULL) {
        on_crowd_end();
    }
}

// The process may end with its last threads: the thread that purges has to end, too.
static void tell_few_are_left(void)
{
    void (*const on_few_left)(void) = EGB_LOAD_(egb_threads_.on_few_left);
    if (on_few_left != NULL) {
        on_few_left();
    }
}

// Two threads at once would each give back the whole excess. The ends that came meanwhile count as
// one. Returns whether there was one.
static bool take_next_end(void)
{
    egb_os_lock_(&egb_threads_.lock);
    const bool is_there     = egb_threads_.crowd_ends > 1;
    egb_threads_.crowd_ends = is_there ? 1 : 0;
    egb_os_unlock_(&egb_threads_.lock);
    return is_there;
}

// Threads that end at one time wait for each other as little as can be: the registry is locked for
// the list alone, except at the end of a crowd.
static void at_exit(void* argument)
{
    set_here(no_table_any_more());
    let_go_of_all(argument);
    egb_os_lock_(&egb_threads_.lock);
    end_table(argument);
    bool       is_ours  = end_crowd();
    const bool few_left = egb_threads_.count <= 1;
    egb_os_unlock_(&egb_threads_.lock);
    while (is_ours) {
        give_back_after_crowd();
        is_ours = take_next_end();
    }
    if (few_left) {
        tell_few_are_left();
    }
}

bool egb_threads_start_(void)
{
    make_first_places();  // for calls before the constructor
    return egb_os_at_thread_exit_(at_exit);
}

// Lets go of magazines whose pools were destroyed meanwhile.
static void drop_revoked(egb_thread_* thread)
{
    // One step: a pool that is being destroyed now is seen, or sets the flag again.
    if (EGB_LOAD_(thread->revoked) == 0 ||
        __atomic_exchange_n(&thread->revoked, 0, __ATOMIC_ACQ_REL) == 0) {
        return;
    }
    for (size_t i = 0; i < thread->used; i++) {
        if (EGB_LOAD_(thread->magazines[i].key) == EGB_NO_KEY_) {
            egb_magazine_let_go_(&thread->magazines[i]);
        }
    }
}

void egb_thread_drop_revoked_(void)
{
    drop_revoked(egb_thread_self_());
}

void egb_owned_let_go_(void)
{
    for (egb_magazine* cache = egb_threads_.owned; cache != NULL; cache = cache->next) {
        egb_magazine_let_go_(&cache->magazine);
    }
    egb_threads_.owned = NULL;
}

void egb_threads_end_others_(void)
{
    for (egb_thread_* thread = egb_threads_.threads; thread != NULL;) {
        egb_thread_* const following = thread->next;
        if (thread != egb_thread_self_()) {
            let_go_of_all(thread);
            end_table(thread);
        }
        thread = following;
    }
    egb_threads_.crowd_below = 0;
    egb_threads_.crowd_ends  = 0;
    (void)egb_threads_trim_(SIZE_MAX);
}

void egb_owned_link_(egb_magazine* cache)
{
    EGB_LIST_ADD_(egb_threads_.owned, cache, );
}

void egb_owned_unlink_(egb_magazine* cache)
{
    EGB_LIST_REMOVE_(egb_threads_.owned, cache, );
}

egb_magazine_* egb_thread_get_magazine_(const egb_depot* depot, uint64_t key)
{
    egb_thread_* thread = egb_thread_self_();
    if (thread == no_table_any_more() || !EGB_LOAD_(egb_threads_.can_take)) {
        return NULL;
    }
    const bool has_magazines = EGB_LOAD_(depot->batch_blocks) != 0;
    if (thread == &no_table.yet) {
        thread = has_magazines ? new_table() : NULL;
        if (thread == NULL) {
            return NULL;
        }
    }
    drop_revoked(thread);
    if (!has_magazines) {
        return NULL;
    }
    egb_magazine_* const magazine = egb_magazine_in_(thread, key);
    // It is another pool's, alive or not; if that pool is being destroyed, its lock is waited for.
    if (magazine->depot != NULL && EGB_LOAD_(magazine->key) != key) {
        egb_magazine_let_go_(magazine);
    }
    const uint32_t place = (uint32_t)(magazine - thread->magazines);
    thread->used         = thread->used > place ? thread->used : place + 1;
    return magazine;
}

// ---- the magazines of all threads ---------------------------------------------------------------

void egb_each_magazine_(
    egb_depot* depot, void (*visit)(egb_magazine_* magazine, void* user), void* user
)
{
    const uint64_t key = depot->key;
    for (egb_thread_* thread = egb_threads_.threads; thread != NULL; thread = thread->next) {
        egb_magazine_* const magazine = egb_magazine_in_(thread, key);
        if (EGB_LOAD_(magazine->depot) == depot) {
            visit(magazine, user);
        }
    }
    for (egb_magazine* cache = egb_threads_.owned; cache != NULL; cache = cache->next) {
        if (cache->magazine.depot == depot) {
            visit(&cache->magazine, user);
        }
    }
}

static void close_bottom(egb_magazine_* magazine, void* user)
{
    egb_magazine_set_bottom_(user, magazine, (uintptr_t)INTPTR_MAX);
}

static void close_all(egb_magazine_* magazine, void* user)
{
    close_bottom(magazine, user);
    egb_magazine_close_room_(magazine);
}

// Only its thread knows where the next mark is. Its next call opens it.
static void open_bottom(egb_magazine_* magazine, void* user)
{
    const egb_depot* const depot = user;
    if (depot->sampler == NULL) {
        egb_magazine_set_bottom_(depot, magazine, magazine->lowest);
    }
}

// If the owner has not lowered `top` below an entry by now, it will not before it has seen the
// closed bottom and waited for the pool's lock.
void egb_magazine_take_out_(egb_depot* depot, egb_magazine_* magazine)
{
    const uintptr_t         top   = __atomic_load_n(&magazine->top, __ATOMIC_ACQUIRE);
    const egb_entry_*       entry = (const egb_entry_*)magazine->lowest;
    const egb_entry_* const end   = (const egb_entry_*)top;
    for (; entry < end; entry++) {
        egb_put_back_(depot, entry->block);
    }
    if (top > magazine->lowest) {
        magazine->lowest = top;
    }
    if (magazine->spare != NULL) {
        egb_batch_flush_(depot, magazine->spare);
    }
    egb_magazine_flush_remote_(depot, magazine);
    magazine->refill_max = 0;
    egb_magazine_set_bottom_(depot, magazine, magazine->lowest);
}

static void take_out(egb_magazine_* magazine, void* user)
{
    egb_magazine_take_out_(user, magazine);
}

static bool reclaim(egb_depot* depot, void (*close)(egb_magazine_* magazine, void* user))
{
    bool is_safe = true;
    egb_depot_flush_(depot);
    if (depot->attached != 0) {
        egb_each_magazine_(depot, close, depot);
        is_safe = egb_os_fence_threads_();
        if (is_safe) {
            egb_peak_settle_closed_(depot);
        }
        egb_each_magazine_(depot, is_safe ? take_out : open_bottom, depot);
    }
    return is_safe;
}

void egb_depot_reclaim_(egb_depot* depot)
{
    (void)reclaim(depot, close_bottom);
}

bool egb_depot_reclaim_and_close_(egb_depot* depot)
{
    return reclaim(depot, close_all);
}

typedef struct idle_magazines {
    egb_depot* depot;
    size_t     count;
} idle_magazines;

// Each call of its thread changes `top` or `frees`.
static void close_idle(egb_magazine_* magazine, void* user)
{
    idle_magazines* const idle = user;
    const uint64_t        sum  = EGB_LOAD_(magazine->frees) * 2 + EGB_LOAD_(magazine->top);
    if (sum == magazine->seen[0] && egb_magazine_count_(magazine) != 0) {
        close_bottom(magazine, idle->depot);
        idle->count++;
    }
    magazine->seen[0] = sum;
}

static void take_out_closed(egb_magazine_* magazine, void* user)
{
    if (egb_magazine_is_closed_(magazine)) {
        take_out(magazine, user);
        egb_magazine_close_room_(magazine);
    }
}

static void open_closed(egb_magazine_* magazine, void* user)
{
    if (egb_magazine_is_closed_(magazine)) {
        open_bottom(magazine, user);
    }
}

void egb_depot_reclaim_idle_(egb_depot* depot)
{
    idle_magazines idle = {depot, 0};
    const uint32_t sum  = depot->batches + depot->blocks * 3 + depot->least * 5 + depot->puts * 7;
    if (sum == depot->seen && depot->batches != 0) {
        egb_depot_flush_(depot);
    }
    depot->seen = sum;
    egb_each_magazine_(depot, close_idle, &idle);
    if (idle.count != 0) {
        const bool is_safe = egb_os_fence_threads_();
        if (is_safe) {
            egb_peak_settle_closed_(depot);
        }
        egb_each_magazine_(depot, is_safe ? take_out_closed : open_closed, depot);
    }
}

// ---- the end of a pool --------------------------------------------------------------------------

static void revoke_in(egb_magazine_* magazine, void* user)
{
    (void)user;
    egb_magazine_revoke_(magazine);
}

void egb_revoke_(egb_depot* depot)
{
    egb_each_magazine_(depot, revoke_in, depot);
    const uint64_t key = depot->key;
    for (egb_thread_* thread = egb_threads_.threads; thread != NULL; thread = thread->next) {
        if (EGB_LOAD_(egb_magazine_in_(thread, key)->depot) == depot) {
            __atomic_store_n(&thread->revoked, 1, __ATOMIC_RELEASE);
        }
    }
}

static void invalidate_in(egb_magazine_* magazine, void* user)
{
    egb_magazine_invalidate_(user, magazine);
}

void egb_forget_chunks_(egb_depot* depot)
{
    egb_each_magazine_(depot, invalidate_in, depot);
}

// SPDX-License-Identifier: MIT
// Threads that wait for a block: see wait.h.
#include "wait.h"

#include "../../os/os.h"
#include "../cache/tight.h"
#include "../region/obtain.h"
#include "layout.h"
#include "redzone.h"
#include "registry.h"

// The values of the word of a wait. A thread that is to ask again, or has its answer, sleeps no
// more.
enum { EGB_WAIT_SLEEP_ = 0, EGB_WAIT_ASK_ = 1, EGB_WAIT_ANSWERED_ = 2 };

// How long a thread sleeps that has to look by itself: twice as long each time.
enum { PAUSE_MIN_MS = 1, PAUSE_MAX_MS = 128, NS_IN_MS = 1000000 };

static bool is_answered(const egb_wait* wait)
{
    return __atomic_load_n(&wait->word, __ATOMIC_ACQUIRE) == EGB_WAIT_ANSWERED_;
}

// ---- how a thread is told -----------------------------------------------------------------------

static void tell_to_ask(egb_wait* wait)
{
    uint32_t sleeps = EGB_WAIT_SLEEP_;
    if (wait != NULL &&
        __atomic_compare_exchange_n(
            &wait->word, &sleeps, EGB_WAIT_ASK_, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED
        )) {
        egb_os_wake_(&wait->word);
    }
}

// Nothing in `wait` is ours after the store: its thread may go on without a lock. The wake that
// follows knows the address alone, and nobody is harmed by one too many.
static void give_answer(egb_wait* wait, egb_status what, void* block)
{
    wait->answer = what;
    wait->block  = block;
    __atomic_store_n(&wait->word, EGB_WAIT_ANSWERED_, __ATOMIC_RELEASE);
    egb_os_wake_(&wait->word);
}

// ---- budgets ------------------------------------------------------------------------------------

static uint64_t times_uncharged(void)
{
    return __atomic_load_n(&egb_registry_.uncharged, __ATOMIC_ACQUIRE);
}

void egb_budgets_wake_(void)
{
    (void)__atomic_add_fetch(&egb_registry_.uncharged, 1, __ATOMIC_RELEASE);
    for (egb_wait* one = egb_registry_.short_of_budget; one != NULL; one = one->next_short) {
        tell_to_ask(one);
    }
}

// `before`: as it was when the budget was asked. It may have got bytes back meanwhile.
static void begin_short(egb_wait* wait, uint64_t before)
{
    egb_os_lock_(&egb_registry_.budget_lock);
    wait->uncharged = before;
    if (!wait->is_short) {
        wait->next_short              = egb_registry_.short_of_budget;
        egb_registry_.short_of_budget = wait;
        wait->is_short                = true;
    }
    if (times_uncharged() != before) {
        tell_to_ask(wait);
    }
    egb_os_unlock_(&egb_registry_.budget_lock);
}

// In the child of a fork nobody is in the list, not even the thread that forked.
static void end_short(egb_wait* wait)
{
    if (!wait->is_short) {
        return;
    }
    egb_os_lock_(&egb_registry_.budget_lock);
    egb_wait** at = &egb_registry_.short_of_budget;
    while (*at != NULL && *at != wait) {
        at = &(*at)->next_short;
    }
    if (*at != NULL) {
        *at = wait->next_short;
    }
    wait->is_short = false;
    egb_os_unlock_(&egb_registry_.budget_lock);
}

// The budget would say the same to `next`, unless it got bytes back since it was asked.
static bool hand_on_short(const egb_wait* wait, egb_wait* next)
{
    const bool is_same = wait->is_short && times_uncharged() == wait->uncharged;
    if (is_same) {
        begin_short(next, wait->uncharged);
    }
    return is_same;
}

// ---- the line: the pool is locked ---------------------------------------------------------------

// Whether the pool can get another chunk, as far as it is its own to say.
static bool may_grow(const egb_control* control)
{
    return control->source.memory.region == NULL &&
           !egb_growing_is_at_limit_(&control->depot.growing);
}

// A block that no budget and no system is asked for.
static bool has_block_now(const egb_control* control)
{
    const egb_growing* const growing = &control->depot.growing;
    return control->layout->has_chunks ? egb_growing_has_free_(growing)
                                       : !egb_growing_is_at_limit_(growing);
}

static void serve(egb_depot* depot);

static void join_line(egb_control* control, egb_wait* wait)
{
    egb_line* const line = &control->line;
    if (line->first == NULL) {
        line->first = wait;
    } else {
        line->last->next = wait;
    }
    line->last       = wait;
    wait->next       = NULL;
    wait->is_in_line = true;
    line->count++;
    control->depot.serve = serve;
}

// The first of the line asks for chunks, and looks for blocks that become free without the lock.
// The one that is first now has done neither yet.
static bool is_to_begin(const egb_control* control, const egb_wait* before, egb_wait* first)
{
    return !egb_depot_knows_all_(&control->depot) ||
           (may_grow(control) && !hand_on_short(before, first));
}

static void leave_line(egb_control* control, egb_wait* wait)
{
    egb_line* const line   = &control->line;
    egb_wait*       before = NULL;
    for (egb_wait* one = line->first; one != wait; one = one->next) {
        before = one;
    }
    if (before == NULL) {
        line->first = wait->next;
    } else {
        before->next = wait->next;
    }
    line->last       = line->last == wait ? before : line->last;
    wait->is_in_line = false;
    line->count--;
    if (line->first == NULL) {
        control->depot.serve = NULL;
    } else if (before == NULL && is_to_begin(control, wait, line->first)) {
        tell_to_ask(line->first);
    }
}

// The blocks in quarantine are free, too. The first thread reports damage, and goes on behind it.
static void serve(egb_depot* depot)
{
    egb_control* const control = egb_control_of_depot_(depot);
    const egb_pool     pool    = egb_handle_of_(control);
    egb_line* const    line    = &control->line;
    egb_quarantine_flush_(control);
    while (line->first != NULL && has_block_now(control)) {
        egb_wait* const wait  = line->first;
        void* const     block = control->layout->take(control, NULL, pool, wait->request);
        if (block == NULL) {
            break;
        }
        leave_line(control, wait);
        give_answer(wait, EGB_OK, block);
    }
    if (depot->damage.was_found) {
        tell_to_ask(line->first);
    }
}

size_t egb_line_end_(egb_control* control, egb_status what)
{
    const size_t count   = control->line.count;
    egb_wait*    one     = control->line.first;
    control->line        = (egb_line){NULL, NULL, 0};
    control->depot.serve = NULL;
    while (one != NULL) {
        egb_wait* const next = one->next;
        one->is_in_line      = false;
        give_answer(one, what, NULL);
        one = next;
    }
    return count;
}

// ---- an attempt ---------------------------------------------------------------------------------

// During the freeze the system is asked once, for the report, and never again.
static bool may_ask(const egb_control* control, const egb_wait* wait)
{
    return wait == NULL || !wait->is_in_line || !control->layout->has_chunks || !egb_is_frozen_() ||
           has_block_now(control);
}

// Whoever is refused looks by itself from now on. The attempt charged the budget and gave the bytes
// back: as one of those that wait for these bytes the thread would wake itself for ever.
static void
end_attempt(egb_control* control, egb_wait* wait, const void* block, uint64_t before, bool may)
{
    const egb_status refusal = control->source.refusal;
    wait->is_refused         = block == NULL && (refusal == EGB_NO_MEMORY || !may);
    if (wait->is_refused) {
        end_short(wait);
    }
    if (block != NULL && wait->is_in_line) {
        leave_line(control, wait);
    } else if (block == NULL && !wait->is_in_line) {
        join_line(control, wait);
    }
    wait->is_first = control->line.first == wait;
    if (block == NULL && (refusal == EGB_LIMIT || refusal == EGB_INVALID)) {
        begin_short(wait, before);
    }
}

void* egb_line_take_(
    egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request
)
{
    egb_wait* const wait    = request->wait;
    const bool      is_next = control->line.first == NULL || control->line.first == wait;
    if (wait != NULL && is_answered(wait)) {
        return NULL;
    }
    const uint64_t before   = wait == NULL ? 0 : times_uncharged();
    const bool     may      = may_ask(control, wait);
    void*          block    = NULL;
    control->source.refusal = EGB_OK;
    if (is_next && may) {
        block = control->layout->take(control, magazine, pool, request);
    }
    if (wait != NULL) {
        end_attempt(control, wait, block, before, may);
    }
    return block;
}

// ---- a wait: no lock is held --------------------------------------------------------------------

static uint64_t end_of_wait(uint32_t timeout_ms)
{
    return timeout_ms == EGB_FOREVER ? UINT64_MAX
                                     : egb_os_nanoseconds_() + (uint64_t)timeout_ms * NS_IN_MS;
}

// Milliseconds until then, rounded up; 0: it is over.
static uint32_t time_left(uint64_t deadline)
{
    const uint64_t now  = deadline == UINT64_MAX ? 0 : egb_os_nanoseconds_();
    const uint64_t left = deadline <= now ? 0 : (deadline - now - 1) / NS_IN_MS + 1;
    return left > UINT32_MAX ? UINT32_MAX : (uint32_t)left;
}

// `most` milliseconds; 0: no limit. A thread that is told to ask while it asks does so once more.
static void sleep_for(egb_wait* wait, uint32_t most)
{
    uint32_t asks = EGB_WAIT_ASK_;
    egb_os_wait_(&wait->word, EGB_WAIT_SLEEP_, most);
    (void)__atomic_compare_exchange_n(
        &wait->word, &asks, EGB_WAIT_SLEEP_, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED
    );
}

// False: it was answered at the last moment.
static bool end_unanswered(egb_pool pool, egb_wait* wait)
{
    egb_control* const control = egb_pool_lock_(pool);
    const bool         is_over = control != NULL && !is_answered(wait);
    if (is_over) {
        leave_line(control, wait);
    }
    if (control != NULL) {
        egb_pool_unlock_(control);
    }
    return is_over;
}

// A block that an attempt got; NULL: the answer says what happened.
static void* wait_for_block(egb_pool pool, egb_wait* wait, uint64_t deadline)
{
    uint32_t pause = PAUSE_MIN_MS;
    while (!is_answered(wait)) {
        const egb_attempt now = egb_pool_try_(pool, NULL, wait->request);
        if (now.block != NULL || is_answered(wait)) {
            return now.block;
        }
        if (!now.has_pool) {  // it ended before the thread was in the line
            wait->answer = EGB_STALE;
            return NULL;
        }
        const egb_look seen = now.knows_all ? (egb_look){false, true} : egb_pool_look_(pool);
        if (now.is_damaged || seen.has_block) {
            continue;
        }
        const uint32_t left = time_left(deadline);
        if (left == 0 && end_unanswered(pool, wait)) {
            wait->answer = EGB_TIMED_OUT;
            return NULL;
        }
        const bool     is_told = !wait->is_first || (seen.knows_all && !wait->is_refused);
        const uint32_t most    = deadline == UINT64_MAX ? 0 : left;
        sleep_for(wait, is_told || (most != 0 && most < pause) ? most : pause);
        pause = 2 * pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
    }
    return NULL;
}

// The wait that this thread is in, for a fork.
#if defined(_WIN32)
static _Thread_local egb_wait* own_wait;
#else
static __thread egb_wait* own_wait __attribute__((tls_model("initial-exec")));
#endif

// The request has failed at once.
static egb_status wait_in_line(egb_pool pool, egb_request* request, void** out, uint32_t timeout_ms)
{
    egb_wait wait   = {.word = EGB_WAIT_SLEEP_, .answer = EGB_OK, .request = request};
    request->wait   = &wait;
    request->thread = egb_os_thread_number_();
    own_wait        = &wait;
    *out            = wait_for_block(pool, &wait, end_of_wait(timeout_ms));
    own_wait        = NULL;
    end_short(&wait);
    if (*out == NULL && is_answered(&wait)) {
        *out = wait.block;
        if (*out != NULL && request->scale != 0) {
            egb_pool_note_sample_(pool, *out, request);
        }
    }
    return wait.answer;
}

egb_status egb_pool_alloc_for(egb_pool pool, void** out, uint32_t timeout_ms)
{
    if (out == NULL) {
        return EGB_INVALID;
    }
    if (egb_pool_pop_(egb_pool_key_(pool), out)) {
        return EGB_OK;
    }
    egb_request request = {.site = EGB_CALLER()};
    egb_status  status  = egb_pool_alloc_now_(pool, &request, out);
    if (status == EGB_EMPTY && timeout_ms != 0) {
        status = wait_in_line(pool, &request, out, timeout_ms);
    } else if (status == EGB_NO_MEMORY) {
        status = timeout_ms != 0 ? EGB_TIMED_OUT : EGB_EMPTY;
    }
    if (status != EGB_OK && status != EGB_STALE) {
        egb_pool_fail_(pool);
    }
    return status == EGB_STALE && egb_is_null_(pool) ? EGB_INVALID : status;
}

size_t egb_pool_cancel(egb_pool pool)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return 0;
    }
    const size_t count = egb_line_end_(control, EGB_CANCELLED);
    egb_pool_unlock_(control);
    return count;
}

size_t egb_pool_waiting(egb_pool pool)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return 0;
    }
    const size_t count = control->line.count;
    egb_pool_unlock_(control);
    return count;
}

// ---- a fork -------------------------------------------------------------------------------------

// The thread that forks may be waiting itself, and fork in a handler of a signal.
void egb_lines_reset_(void)
{
    const egb_line nobody = {NULL, NULL, 0};
    const size_t   slots  = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    for (size_t slot = 1; slot < slots; slot++) {
        egb_registry_.controls[slot].line        = nobody;
        egb_registry_.controls[slot].depot.serve = NULL;
    }
    egb_registry_.short_of_budget = NULL;
    if (own_wait != NULL && own_wait->is_in_line) {
        own_wait->is_in_line = false;
        give_answer(own_wait, EGB_CANCELLED, NULL);
    }
}

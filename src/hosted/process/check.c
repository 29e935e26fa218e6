// SPDX-License-Identifier: MIT
// The integrity checks of eggbox/guard.h.
#include "eggbox/guard.h"

#include "../../os/os.h"
#include "../pool/events.h"
#include "../pool/fork.h"
#include "../pool/layout.h"
#include "../pool/redzone.h"
#include "../pool/registry.h"
#include "../region/guard_page.h"
#include "../region/keep.h"
#include "../region/large.h"
#include "../report/misuse.h"
#include "../stacks/stacks.h"
#include "eggbox/heap.h"

static size_t check_pool(egb_pool pool, const void* site)
{
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return 0;
    }
    const size_t damaged = control->layout->check(control);
    egb_pool_unlock_and_report_(control, pool, site);
    return damaged;
}

size_t egb_pool_check(egb_pool pool)
{
    return check_pool(pool, egb_stack_here_(EGB_CALLER()));
}

static size_t check_all(const void* site)
{
    const size_t slots   = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    size_t       damaged = 0;
    for (size_t slot = 1; slot < slots; slot++) {
        damaged += check_pool(egb_handle_of_(&egb_registry_.controls[slot]), site);
    }
    egb_finding  finding;
    const size_t large = egb_large_check_all_(&finding);
    if (large != 0) {
        egb_pool_report_finding_(egb_heap_pool(), &finding, site);
    }
    return damaged + large;
}

size_t egb_process_check(void)
{
    return check_all(egb_stack_here_(EGB_CALLER()));
}

egb_status egb_block_check(const void* block)
{
    const void* const site = egb_stack_here_(EGB_CALLER());
    const egb_pool    pool = egb_pool_of(block);
    if (egb_is_null_(pool) || !egb_pool_is_live(pool, block)) {
        egb_finding      finding;
        const egb_status status = egb_large_check_(block, &finding);
        if (status == EGB_CORRUPT) {
            egb_pool_report_finding_(egb_heap_pool(), &finding, site);
        }
        return status;
    }
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return EGB_INVALID;
    }
    const bool is_whole = control->layout->is_whole(control, block);
    egb_pool_unlock_and_report_(control, pool, site);
    return is_whole ? EGB_OK : EGB_CORRUPT;
}

// ---- at the end ---------------------------------------------------------------------------------

// The number of this process. The child of a vfork has its parent's memory, and another number.
EGB_AMONG_DATA_ static uint64_t checked_process;

static void note_the_process(void)
{
    checked_process = egb_os_process_number_();
}

static egb_fork_hook check_fork_hook = {.in_child = note_the_process};

// Before a signal handler can interrupt the holder of the lock that adding takes.
__attribute__((constructor)) static void follow_forks(void)
{
    egb_fork_add_hook_(&check_fork_hook);
    note_the_process();
}

// Without red zones and guard pages there is nothing to find. A look at all pools would touch
// memory that the child of a fork, which often ends at once, still shares with its parent.
static bool may_have_damage(void)
{
    return egb_has_redzones_() || egb_guard_page_for_large_() || egb_guard_page_samples_();
}

// A sandbox may forbid the question for the number. Then it goes without.
static bool is_child_of_vfork(void)
{
    return !egb_keep_expects_sandbox_() && egb_os_process_number_() != checked_process;
}

bool egb_process_is_checked_at_end_(void)
{
    return may_have_damage() && !is_child_of_vfork();
}

size_t egb_process_check_at_end_(void)
{
    const bool is_now =
        egb_process_is_checked_at_end_() && egb_locks_are_free_soon_(EGB_LOCKS_MILLISECONDS);
    return is_now ? check_all(&egb_misuse_at_end_) : 0;
}

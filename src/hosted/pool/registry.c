// SPDX-License-Identifier: MIT
// Slots, handles, and the tree of pools.
#include "registry.h"

#include "../cache/tight.h"
#include "../region/guard_page.h"
#include "../region/pages.h"
#include "../settings/settings.h"
#include "fork.h"
#include "live_numbers.h"
#include "redzone.h"

EGB_AMONG_DATA_ egb_pool_registry egb_registry_;

// The C library's malloc has the heap's pools, and no others.
enum { SLOTS_MAX = EGB_IS_MALLOC ? 1024 : EGB_POOLS_MAX + 1, SLOTS_LEAST = 64 };

// There are fewer slots if the process may have few addresses, a 16th of them at most, or if the
// system refuses more. None of them is touched before it is used.
static egb_control* reserve_slots(size_t process_limit, size_t* slots)
{
    const size_t bytes_max = process_limit / 16;
    for (size_t most = SLOTS_MAX; most >= SLOTS_LEAST; most /= 4) {
        const size_t       bytes    = most * sizeof(egb_control);
        const bool         may_be   = bytes <= bytes_max || most / 4 < SLOTS_LEAST;
        egb_control* const controls = may_be ? egb_pages_(bytes) : NULL;
        if (controls != NULL) {
            *slots = most;
            return controls;
        }
    }
    return NULL;
}

static void read_guard_page_setting(void)
{
    egb_guard_page_read_setting_(egb_os_variable_("EGGBOX_GUARD_PAGES"));
}

void egb_environment_read_(void)
{
    egb_os_prepare_();
    egb_settings_read_();
    read_guard_page_setting();
}

// With the registry lock held.
static bool make_registry(size_t process_limit, bool has_magazines)
{
    egb_pool_registry* const all = &egb_registry_;
    if (all->controls != NULL) {
        return true;
    }
    size_t             slots;
    egb_control* const controls = reserve_slots(process_limit, &slots);
    if (controls == NULL) {
        return false;
    }
    egb_settings_read_();
    EGB_STORE_(egb_threads_.can_take, has_magazines);
    all->slots_max = slots;
    __atomic_store_n(&all->slots, 1, __ATOMIC_RELEASE);  // the root's
    __atomic_store_n(&all->controls, controls, __ATOMIC_RELEASE);
    return true;
}

// Asks the system and the C library, once, for all that is needed later, while the process has as
// few threads as ever, and may not yet have forbidden itself a call. If this library is the C
// library's malloc, some of these calls may come back here: no lock is held meanwhile, and the
// second call finds the registry made. Before its end threads may have no magazines.
bool egb_registry_is_made_(void)
{
    egb_pool_registry* const all = &egb_registry_;
    if (__atomic_load_n(&all->has_asked, __ATOMIC_ACQUIRE)) {
        return true;
    }
    egb_os_prepare_();
    const size_t process_limit = egb_os_process_limit_();
    // Nobody can tell a watching tool of blocks that a magazine serves without a call.
    const bool has_magazines = !egb_os_is_watched_() && egb_os_can_fence_threads_();
    egb_os_lock_(&egb_threads_.lock);
    const bool is_made = make_registry(process_limit, has_magazines);
    egb_os_unlock_(&egb_threads_.lock);
    if (!is_made || __atomic_exchange_n(&all->has_asked, true, __ATOMIC_ACQ_REL)) {
        return is_made;
    }
    read_guard_page_setting();
    if (!egb_threads_start_() || !egb_fork_start_()) {
        EGB_STORE_(egb_threads_.can_take, false);
    }
    return true;
}

egb_control* egb_slot_take_(void)
{
    egb_pool_registry* const all = &egb_registry_;
    egb_os_lock_(&all->budget_lock);
    egb_control* control = all->free_slots;
    if (control != NULL) {
        all->free_slots = control->next_free;
    } else if (all->slots < all->slots_max) {
        control          = &all->controls[all->slots];
        control->id.slot = (uint32_t)(all->slots * EGB_SLOT_STEP_);
        __atomic_store_n(&all->slots, all->slots + 1, __ATOMIC_RELEASE);
    }
    egb_os_unlock_(&all->budget_lock);
    return control;
}

// A slot whose generations are used up is never used again.
void egb_slot_give_back_(egb_control* control)
{
    if (control->id.last_generation == UINT32_MAX) {
        return;
    }
    egb_os_lock_(&egb_registry_.budget_lock);
    control->next_free       = egb_registry_.free_slots;
    egb_registry_.free_slots = control;
    egb_os_unlock_(&egb_registry_.budget_lock);
}

egb_control* egb_control_or_root_(egb_pool pool)
{
    return egb_is_null_(pool) ? egb_registry_.controls : egb_control_of_(pool);
}

egb_pool egb_handle_of_(const egb_control* control)
{
    const egb_pool pool = {EGB_LOAD_(control->id.slot), EGB_LOAD_(control->id.generation)};
    return pool;
}

// The control block outlives the pool, so locking it first and looking again is safe.
egb_control* egb_pool_lock_(egb_pool pool)
{
    egb_control* const control = egb_control_of_(pool);
    if (control == NULL) {
        return NULL;
    }
    egb_depot_lock_(&control->depot);
    if (EGB_LOAD_(control->id.generation) != pool.generation) {
        egb_depot_let_go_(&control->depot);
        return NULL;
    }
    return control;
}

void egb_pool_unlock_(egb_control* control)
{
    egb_depot_serve_(&control->depot);
    egb_live_note_(control);
    egb_depot_let_go_(&control->depot);
}

egb_control* egb_tree_next_(const egb_control* root, egb_control* control)
{
    if (control->tree.child != NULL) {
        return control->tree.child;
    }
    while (control != root && control->tree.next == NULL) {
        control = control->tree.parent;
    }
    return control == root ? NULL : control->tree.next;
}

egb_control* egb_owner_of_(const void* address)
{
    const uint32_t slot = egb_chunk_map_slot_(address);
    return slot == 0 ? NULL : &egb_registry_.controls[slot / EGB_SLOT_STEP_];
}

void egb_reclaim_(egb_control* control)
{
    egb_quarantine_flush_(control);
    egb_depot_reclaim_(&control->depot);
}

void egb_look_(egb_control* control)
{
    egb_quarantine_flush_(control);
    egb_depot_look_(&control->depot);
}

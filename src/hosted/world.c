// SPDX-License-Identifier: MIT
// Slots, handles, and what a process has one of. The world is never taken down: static destructors
// and threads that end late may still use it.
#include "guard.h"
#include "level.h"

egb_world egb_the_world;

// The C library's malloc has the heap's pools, and no others.
enum { SLOTS_MAX = EGB_IS_MALLOC ? 1024 : EGB_POOLS_MAX + 1, SLOTS_LEAST = 64 };

// Fewer slots where the process may have few addresses, of which they are to be a 16th at most, and
// where the system refuses them. None of them is touched before it is used.
static egb_control* reserve_slots(size_t* slots)
{
    const size_t bytes_max = egb_os_address_bytes() / 16;
    for (size_t most = SLOTS_MAX; most >= SLOTS_LEAST; most /= 4) {
        const size_t       bytes    = most * sizeof(egb_control);
        const bool         may_be   = bytes <= bytes_max || most / 4 < SLOTS_LEAST;
        egb_control* const controls = may_be ? egb_pages(bytes) : NULL;
        if (controls != NULL) {
            *slots = most;
            return controls;
        }
    }
    return NULL;
}

// With the world's lock held.
static bool make_world(void)
{
    egb_world* const world = &egb_the_world;
    if (world->controls != NULL) {
        return true;
    }
    size_t             slots;
    egb_control* const controls = reserve_slots(&slots);
    if (controls == NULL) {
        return false;
    }
    egb_settings_read();
    // What a magazine serves without a call nobody can tell a tool that watches.
    const bool has_magazines = !egb_os_is_watched() && egb_os_can_fence_threads();
    EGB_STORE_(world->can_take, egb_threads_start() && has_magazines);
    world->slots_max = slots;
    __atomic_store_n(&world->slots, 1, __ATOMIC_RELEASE);  // the root's
    __atomic_store_n(&world->controls, controls, __ATOMIC_RELEASE);
    return true;
}

// Where this library is the C library's malloc, to ask for calls around a fork may come back here.
// So no lock is held meanwhile, and who comes back finds the world made.
bool egb_world_is_made(void)
{
    egb_world* const world = &egb_the_world;
    if (__atomic_load_n(&world->has_asked, __ATOMIC_ACQUIRE)) {
        return true;
    }
    egb_os_lock(&world->lock);
    const bool is_made = make_world();
    egb_os_unlock(&world->lock);
    const bool is_first =
        is_made && !__atomic_exchange_n(&world->has_asked, true, __ATOMIC_ACQ_REL);
    if (is_first && !egb_fork_start()) {
        EGB_STORE_(world->can_take, false);
    }
    return is_made;
}

egb_control* egb_slot_take(void)
{
    egb_world* const world = &egb_the_world;
    egb_os_lock(&world->ledger);
    egb_control* control = world->free_slots;
    if (control != NULL) {
        world->free_slots = control->next_free;
    } else if (world->slots < world->slots_max) {
        control       = &world->controls[world->slots];
        control->slot = (uint32_t)(world->slots * EGB_SLOT_STEP_);
        __atomic_store_n(&world->slots, world->slots + 1, __ATOMIC_RELEASE);
    }
    egb_os_unlock(&world->ledger);
    return control;
}

// A slot whose generations are used up is never used again.
void egb_slot_give_back(egb_control* control)
{
    if (control->last_generation == UINT32_MAX) {
        return;
    }
    egb_os_lock(&egb_the_world.ledger);
    control->next_free       = egb_the_world.free_slots;
    egb_the_world.free_slots = control;
    egb_os_unlock(&egb_the_world.ledger);
}

egb_control* egb_control_or_root(egb_pool pool)
{
    return egb_is_null(pool) ? egb_the_world.controls : egb_control_of(pool);
}

egb_pool egb_handle_of(const egb_control* control)
{
    const egb_pool pool = {EGB_LOAD_(control->slot), EGB_LOAD_(control->generation)};
    return pool;
}

// The control block outlives the pool, so locking it first and looking again is safe.
egb_control* egb_pool_lock(egb_pool pool)
{
    egb_control* const control = egb_control_of(pool);
    if (control == NULL) {
        return NULL;
    }
    egb_os_lock(&control->lock);
    if (EGB_LOAD_(control->generation) != pool.generation) {
        egb_os_unlock(&control->lock);
        return NULL;
    }
    return control;
}

void egb_pool_unlock(egb_control* control)
{
    egb_os_unlock(&control->lock);
}

// The event is complete but for what the pool knows of itself, and of the block.
static void report_event(egb_event* event, egb_pool pool, egb_history* history)
{
    char               name[EGB_NAME_BYTES] = "";
    egb_control* const control              = egb_pool_lock(pool);
    if (control == NULL) {
        history->level = egb_level_of_no_pool();
    } else {
        history->level = control->level;
        if (control->guards != NULL && event->block_index != EGB_NO_INDEX && history->bytes == 0) {
            *history = egb_guard_history(control, event->address);
        }
        for (size_t i = 0; i < EGB_NAME_BYTES; i++) {
            name[i] = control->name[i];
        }
        event->pool      = control;
        event->pool_name = name;
        egb_pool_unlock(control);
    }
    const bool is_known = history->bytes != 0;  // a large block with a guard page, at any level
    event->history      = history->level < EGB_LEVEL_GUARD && !is_known ? NULL : history;
    egb_misuse(event);
}

void egb_pool_report(
    egb_event_kind kind, egb_pool pool, const void* address, size_t index, const void* site
)
{
    egb_event   event   = {kind, NULL, NULL, address, index, site, NULL};
    egb_history history = {.level = EGB_LEVEL_CHECK};
    report_event(&event, pool, &history);
}

void egb_pool_report_finding(egb_pool pool, const egb_finding* finding, const void* site)
{
    const egb_event_kind kind    = (egb_event_kind)finding->kind;
    egb_event            event   = {kind, NULL, NULL, finding->block, finding->index, site, NULL};
    egb_history          history = finding->history;
    report_event(&event, pool, &history);
}

void egb_pool_unlock_and_report(egb_control* control, egb_pool pool, const void* site)
{
    if (!control->damage.was_found && control->guards == NULL) {
        egb_pool_unlock(control);
        return;
    }
    const egb_damage  damage  = control->damage;
    const egb_finding finding = egb_guard_finding(control);
    control->damage.was_found = false;
    egb_pool_unlock(control);
    if (damage.was_found) {
        egb_pool_report(EGB_EVENT_OVERWRITTEN, pool, damage.address, damage.index, site);
    }
    if (finding.kind != 0) {
        egb_pool_report_finding(pool, &finding, site);
    }
}

void egb_pool_report_handle(egb_pool pool, const void* block, const void* site)
{
    const egb_event_kind kind = egb_is_null(pool) ? EGB_EVENT_NO_POOL : EGB_EVENT_STALE;
    egb_pool_report(kind, pool, block, EGB_NO_INDEX, site);
}

egb_control* egb_tree_next(const egb_control* root, egb_control* control)
{
    if (control->child != NULL) {
        return control->child;
    }
    while (control != root && control->next == NULL) {
        control = control->parent;
    }
    return control == root ? NULL : control->next;
}

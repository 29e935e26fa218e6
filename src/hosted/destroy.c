// SPDX-License-Identifier: MIT
// The end of pools. Their handles are stale at once. Their memory goes when no thread can still be
// inside a call that began before: when no magazine of the pool is left. A thread that was not
// disturbed lets go of its magazine in its next call that takes a lock, or when it ends; until then
// the pages of the blocks go back, and only the addresses and what says about blocks stay.
#include "depot.h"
#include "guard.h"
#include "holders.h"
#include "passthrough.h"
#include "seal.h"

// The last magazine of a destroyed pool is gone.
static void finish(egb_control* control)
{
    egb_growing_destroy(&control->growing);
    egb_guards_drop(control->guards);
    egb_slot_give_back(control);
}

void egb_magazine_left(egb_control* control)
{
    control->attached--;
    if (control->attached == 0 && EGB_LOAD_(control->generation) == 0) {
        finish(control);
    }
}

// The blocks are no pool's from here on, and their pages go: not those with states and the chunk's
// header.
static void forget_blocks(egb_chunk_* chunk, void* user)
{
    (void)user;
    const size_t    page  = egb_os_page_bytes();
    const uintptr_t first = (uintptr_t)chunk->fixed.first;
    const uintptr_t end =
        first + chunk->shape.blocks * (size_t)chunk->fixed.stride * EGB_WORD_BYTES;
    egb_chunk_map_forget(chunk);
    egb_os_forget((void*)first, (end - first) / page * page);
}

static void unlink_static(egb_control* control)
{
    egb_control** place = &egb_the_world.statics;
    while (*place != NULL && *place != control) {
        place = &(*place)->next_static;
    }
    if (*place == control) {
        __atomic_store_n(place, control->next_static, __ATOMIC_RELEASE);
    }
}

static void end(egb_control* control)
{
    if (egb_is_passthrough(control)) {
        egb_pass_drop_all(control);
    }
    egb_revoke(control);
    __atomic_store_n(&control->generation, 0, __ATOMIC_RELEASE);
    egb_os_watch_pool(control, false);
    if (control->memory.region != NULL) {
        unlink_static(control);
        egb_os_watch_open(control->memory.region, control->memory.bytes);
        egb_growing_destroy(&control->growing);  // looks into memory that is the caller's again
    } else {
        egb_uncharge_all(control);
        control->is_forgotten = control->attached != 0;
        if (control->is_forgotten) {
            egb_growing_each_chunk(&control->growing, forget_blocks, NULL);
        }
    }
    if (control->attached == 0) {
        finish(control);
    }
}

static void unlink_from_tree(egb_control* control)
{
    if (control->previous != NULL) {
        control->previous->next = control->next;
    } else {
        control->parent->child = control->next;
    }
    if (control->next != NULL) {
        control->next->previous = control->previous;
    }
}

// The thread that destroys a pool is in no other call, and often the only one that has used it.
static egb_magazine_* own_magazine(const egb_control* control)
{
    egb_magazine_* const own = egb_magazine_of_key_(egb_pool_key_(egb_handle_of(control)));
    return own->control == control ? own : NULL;
}

// All that is free goes to the chunks, and then they know how many blocks are in use.
static size_t count_in_use(egb_control* control)
{
    egb_magazine_* const own = own_magazine(control);
    if (own != NULL) {
        egb_magazine_detach(control, own);
    }
    (void)egb_reclaim(control);
    return control->growing.in_use;
}

// Where nobody asks for that number no block is touched, unless other threads have some.
static void discard_free(egb_control* control)
{
    egb_magazine_* const own = own_magazine(control);
    if (own != NULL) {
        egb_magazine_discard(control, own);
    }
    if (control->attached != 0) {
        (void)egb_reclaim(control);
    } else {
        egb_depot_drop(control);
        egb_quarantine_flush(control);
    }
}

// Locks the pools of the subtree and says whether there are blocks in use that forbid it.
static bool lock_all(egb_control* root, egb_destroy how)
{
    size_t in_use = 0;
    for (egb_control* one = root; one != NULL; one = egb_tree_next(root, one)) {
        egb_os_lock(&one->lock);
        if (how == EGB_DESTROY_REFUSE) {
            in_use += count_in_use(one);
        } else {
            discard_free(one);
        }
    }
    return in_use != 0;
}

// What was found in blocks on their way out of quarantine, to be reported when no lock is held and
// the pool is no more. Of several pools the first.
typedef struct egb_last_finding {
    egb_finding finding;
    char        name[EGB_NAME_BYTES];
} egb_last_finding;

static void take_finding(egb_last_finding* last, egb_control* control)
{
    if (last->finding.kind != 0) {
        return;
    }
    last->finding = egb_guard_finding(control);
    for (size_t i = 0; last->finding.kind != 0 && i < EGB_NAME_BYTES; i++) {
        last->name[i] = control->name[i];
    }
}

static void report_last(const egb_last_finding* last, const void* site)
{
    const egb_finding* const finding = &last->finding;
    if (finding->kind == 0) {
        return;
    }
    const egb_event event = {
        (egb_event_kind)finding->kind,
        last->name,
        NULL,
        finding->block,
        finding->index,
        site,
        &finding->history
    };
    egb_misuse(&event);
}

static egb_status destroy(egb_control* root, egb_destroy how, egb_last_finding* last)
{
    const bool is_refused = lock_all(root, how);
    for (egb_control* one = root; one != NULL;) {
        egb_control* const following = egb_tree_next(root, one);
        if (!is_refused) {
            take_finding(last, one);
            end(one);
        }
        egb_os_unlock(&one->lock);
        one = following;
    }
    if (is_refused) {
        return EGB_BUSY;
    }
    unlink_from_tree(root);
    return EGB_OK;
}

egb_status egb_pool_destroy(egb_pool pool, egb_destroy how)
{
    if ((how != EGB_DESTROY_REFUSE && how != EGB_DESTROY_FORCE) || egb_is_null(pool)) {
        return EGB_INVALID;
    }
    if (egb_has_tracked() && how == EGB_DESTROY_FORCE && !egb_is_sealed()) {
        (void)egb_holders_print(pool, EGB_HOLDERS_SHOWN);
    }
    egb_last_finding last;
    last.finding.kind = 0;
    egb_os_lock(&egb_the_world.lock);
    egb_control* const control = egb_control_of(pool);
    const egb_status   status  = control == NULL ? EGB_STALE : destroy(control, how, &last);
    egb_os_unlock(&egb_the_world.lock);
    egb_thread_drop_revoked();
    report_last(&last, EGB_CALLER());
    return status;
}

// SPDX-License-Identifier: MIT
// The end of pools. Their handles are stale at once. Their memory goes when no thread can still be
// inside a call that began before: when no magazine of the pool is left. A thread that was not
// disturbed lets go of its magazine in its next call that takes a lock, or when it ends; until then
// the pages of the blocks go back, and only the addresses and what says about blocks stay.
#include "../region/obtain.h"
#include "../report/text.h"
#include "../stacks/stacks.h"
#include "backing.h"
#include "holders.h"
#include "redzone.h"
#include "registry.h"
#include "wait.h"

// The last magazine of a destroyed pool is gone.
static void finish(egb_control* control)
{
    egb_growing_destroy(&control->depot.growing);
    egb_slot_give_back_(control);
}

static void finish_when_left(egb_depot* depot)
{
    finish(egb_control_of_depot_(depot));
}

// The blocks are no pool's from here on, and their pages go: not those with states and the chunk's
// header.
static void forget_blocks(egb_chunk_* chunk, void* user)
{
    (void)user;
    const size_t    page  = egb_os_page_bytes_();
    const uintptr_t first = (uintptr_t)chunk->fixed.first;
    const uintptr_t end =
        first + chunk->shape.blocks * (size_t)chunk->fixed.stride * EGB_WORD_BYTES;
    egb_chunk_map_forget_(chunk);
    (void)egb_os_forget_((void*)first, egb_round_down_(end - first, page));
}

static void unlink_static(egb_control* control)
{
    egb_control** place = &egb_registry_.statics;
    while (*place != NULL && *place != control) {
        place = &(*place)->tree.next_static;
    }
    if (*place == control) {
        __atomic_store_n(place, control->tree.next_static, __ATOMIC_RELEASE);
    }
}

static bool has_watcher(void)
{
    return __atomic_load_n(&egb_registry_.on_end, __ATOMIC_ACQUIRE) != NULL;
}

static void tell_of_end(egb_control* control)
{
    egb_pool_stats stats;
    egb_pool_stats_for_report_(control, &stats);
    egb_registry_.on_end(&stats, control->tree.parent->name, control->level);
}

static void end(egb_control* control)
{
    if (has_watcher()) {
        tell_of_end(control);
    }
    egb_line_end_(control, EGB_STALE);
    control->layout->end(control);
    egb_revoke_(&control->depot);
    __atomic_store_n(&control->id.generation, 0, __ATOMIC_RELEASE);
    egb_os_watch_pool_(control, false);
    if (control->source.memory.region != NULL) {
        unlink_static(control);
        egb_os_watch_open_(control->source.memory.region, control->source.memory.bytes);
        egb_growing_destroy(&control->depot.growing
        );  // looks into memory that is the caller's again
    } else {
        egb_uncharge_all_(control);
        control->source.is_forgotten = control->depot.attached != 0;
        if (control->source.is_forgotten) {
            egb_growing_each_chunk_(&control->depot.growing, forget_blocks, NULL);
        }
    }
    if (control->depot.attached == 0) {
        finish(control);
    } else {
        control->depot.on_last_left = finish_when_left;
    }
}

// The thread that destroys a pool is in no other call, and often the only one that has used it.
static egb_magazine_* own_magazine(const egb_control* control)
{
    egb_magazine_* const own = egb_magazine_of_key_(egb_pool_key_(egb_handle_of_(control)));
    return own->depot == &control->depot ? own : NULL;
}

// All that is free goes to the chunks, and then they know how many blocks are in use.
static size_t count_in_use(egb_control* control)
{
    egb_magazine_* const own = own_magazine(control);
    if (own != NULL) {
        egb_magazine_detach_(&control->depot, own);
    }
    egb_reclaim_(control);
    return control->depot.growing.in_use;
}

// If nobody asks for numbers, no block is touched, unless other threads have some.
static void discard_free(egb_control* control)
{
    egb_magazine_* const own = own_magazine(control);
    if (own != NULL) {
        egb_magazine_discard_(&control->depot, own);
    }
    if (control->depot.attached != 0) {
        egb_reclaim_(control);
    } else {
        egb_depot_drop_(&control->depot);
        egb_quarantine_flush_(control);
    }
}

// Locks the pools of the subtree and says whether there are blocks in use that forbid it.
static bool lock_all(egb_control* root, egb_destroy how)
{
    size_t in_use = 0;
    for (egb_control* one = root; one != NULL; one = egb_tree_next_(root, one)) {
        egb_depot_lock_(&one->depot);
        if (how == EGB_DESTROY_REFUSE || has_watcher()) {
            in_use += count_in_use(one);
        } else {
            discard_free(one);
        }
    }
    return in_use != 0 && how == EGB_DESTROY_REFUSE;
}

// A finding in a block on its way out of quarantine. It is reported when no lock is held and the
// pool is gone. If several pools have one, the first.
typedef struct egb_last_finding {
    egb_finding finding;
    char        name[EGB_NAME_BYTES];
} egb_last_finding;

static void take_finding(egb_last_finding* last, egb_control* control)
{
    if (last->finding.kind != 0) {
        return;
    }
    last->finding = control->layout->take_finding(control);
    egb_text_copy_(last->name, sizeof last->name, control->name);
}

static void report_last(const egb_last_finding* last, const void* site)
{
    const egb_finding* const finding = &last->finding;
    if (finding->kind == 0) {
        return;
    }
    const egb_misuse_event event = {
        (egb_misuse_kind)finding->kind,
        last->name,
        NULL,
        finding->block,
        finding->index,
        egb_site_address_(site),
        &finding->history,
        egb_site_stack_(site)
    };
    egb_misuse(&event);
}

static egb_status destroy(egb_control* root, egb_destroy how, egb_last_finding* last)
{
    const bool is_refused = lock_all(root, how);
    for (egb_control* one = root; one != NULL;) {
        egb_control* const following = egb_tree_next_(root, one);
        if (!is_refused) {
            take_finding(last, one);
            end(one);
        }
        egb_pool_unlock_(one);
        one = following;
    }
    if (is_refused) {
        return EGB_BUSY;
    }
    EGB_LIST_REMOVE_(root->tree.parent->tree.child, root, tree.);
    return EGB_OK;
}

egb_status egb_pool_destroy(egb_pool pool, egb_destroy how)
{
    if ((how != EGB_DESTROY_REFUSE && how != EGB_DESTROY_FORCE) || egb_is_null_(pool)) {
        return EGB_INVALID;
    }
    if (egb_has_tracked_() && how == EGB_DESTROY_FORCE && !egb_is_frozen_()) {
        (void)egb_holders_print(pool, EGB_HOLDERS_SHOWN);
    }
    egb_last_finding last;
    last.finding.kind = 0;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_control_of_(pool);
    const egb_status   status  = control == NULL ? EGB_STALE : destroy(control, how, &last);
    egb_os_unlock_(&egb_threads_.lock);
    egb_thread_drop_revoked_();
    report_last(&last, EGB_CALLER());
    return status;
}

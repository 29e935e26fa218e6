// SPDX-License-Identifier: MIT
// The layout of the levels "off" and "check": see layout.h.
#include "../../os/os.h"
#include "../cache/marks.h"
#include "../cache/tight.h"
#include "../region/pages.h"
#include "free.h"
#include "layout.h"
#include "registry.h"

// ---- take ---------------------------------------------------------------------------------------

// A sampled block goes back by egb_free_find_() alone: no hot path takes its state for one in use.
// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
static void mark_sample(unsigned char* state, egb_request* request, double scale)
{
    request->scale = scale;
    EGB_STORE_(*state, EGB_STATE_LIVE_ | EGB_STATE_SAMPLE_);
}

// For a pool without magazines.
static void sample_one(const egb_depot* depot, unsigned char* state, egb_request* request)
{
    if (egb_sampler_pass_(depot->sampler, depot->block_bytes, 1) == 0) {
        const uint32_t halvings = depot->sampler->halvings;
        mark_sample(state, request, egb_sampling_scale_(depot->block_bytes, halvings));
        egb_sampling_note_();
    }
}

static void* take_without_magazine(egb_control* control, egb_request* request)
{
    egb_depot* const depot = &control->depot;
    egb_entry_       entry;
    if (egb_take_one_(&control->depot, &entry) == NULL) {
        return NULL;
    }
    const unsigned state = control->depot.is_checked ? *entry.state : EGB_STATE_FREE_;
    egb_watch_taken_(control, entry.block, control->block_bytes, state);
    if (depot->is_checked) {
        EGB_STORE_(*entry.state, EGB_STATE_LIVE_);
    }
    if (depot->sampler != NULL) {
        sample_one(depot, entry.state, request);
    }
    return entry.block;
}

static void* take_marked(egb_control* control, egb_magazine_* magazine, egb_request* request)
{
    egb_entry_   entry;
    const double scale = egb_magazine_take_marked_(&control->depot, magazine, &entry);
    mark_sample(entry.state, request, scale);
    return entry.block;
}

// Whether this call is to use the thread's magazine, which then is attached.
static bool has_open_magazine(egb_depot* depot, egb_magazine_* magazine, egb_pool pool)
{
    if (!egb_depot_is_tight_(depot)) {
        return egb_magazine_attach_(depot, magazine, pool);
    }
    if (magazine != NULL && magazine->depot == depot) {
        egb_magazine_settle_(depot, magazine);
    }
    return false;
}

static void*
plain_take(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request)
{
    void* block;
    if (!has_open_magazine(&control->depot, magazine, pool)) {
        return take_without_magazine(control, request);
    }
    if (!egb_magazine_refill_(&control->depot, magazine)) {
        return NULL;
    }
    if (egb_magazine_is_at_mark_(&control->depot, magazine)) {
        return take_marked(control, magazine, request);
    }
    if (!egb_magazine_pop_(magazine, &block)) {
        return NULL;
    }
    if (egb_depot_can_run_out_(&control->depot)) {
        egb_magazine_forget_(magazine);  // a thread with one block is no reason to look there
    }
    return block;
}

// ---- give ---------------------------------------------------------------------------------------

// At level "off" only what cannot be freed is a fault.
egb_free_request egb_free_find_(const egb_control* control, void* block)
{
    egb_free_request found = {.block = block, .fault = {EGB_MISUSE_FOREIGN, EGB_NO_INDEX}};
    found.chunk            = egb_depot_chunk_of_(&control->depot, block);
    if (found.chunk == NULL || !egb_chunk_has_(found.chunk, block)) {
        return found;
    }
    const size_t index = egb_chunk_index_(found.chunk, block);
    if (index >= egb_fixed_capacity(&found.chunk->fixed)) {
        found.fault.kind = EGB_MISUSE_INTERIOR;
        return found;
    }
    found.fault.index = index;
    found.fault.kind  = 0;
    if (control->depot.is_checked) {
        found.state = found.chunk->shape.states + index;
        switch (egb_state_at_(&found.chunk->shape, index)) {
            case EGB_STATE_LIVE_: break;
            case EGB_STATE_FREE_:
            case EGB_STATE_RESTED_: found.fault.kind = EGB_MISUSE_DOUBLE_FREE; break;
            default: found.fault.kind = EGB_MISUSE_NEVER_ALLOCATED; break;
        }
    }
    return found;
}

static void
free_locked(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_free_request freeing)
{
    if (!has_open_magazine(&control->depot, magazine, pool)) {
        if (freeing.state != NULL) {
            EGB_STORE_(*freeing.state, EGB_STATE_FREE_);
        }
        const size_t before = control->depot.growing.in_use;
        egb_put_back_(&control->depot, freeing.block);
        control->depot.frees += before - control->depot.growing.in_use;  // 0: it was free already
        egb_os_watch_given_(control, freeing.block, control->block_bytes);
        egb_open_link_(&control->depot, freeing.block);
        return;
    }
    if (control->depot.is_checked && egb_has_own_chunks_(&control->depot) &&
        egb_key_of_chunk_(freeing.chunk) != magazine->chunk_key &&
        egb_magazine_make_room_remote_(&control->depot, magazine)) {
        (void)egb_push_remote_(magazine, freeing.block, freeing.state);
        return;
    }
    if (!egb_is_above_(&magazine->full, EGB_LOAD_(magazine->top))) {
        egb_magazine_make_room_(&control->depot, magazine);
    }
    (void)egb_push_local_(magazine, freeing.block, freeing.state, control->depot.is_checked);
}

static egb_free_fault plain_give(
    egb_control* control, egb_magazine_* magazine, egb_pool pool, void* block, const void* site
)
{
    const egb_free_request freeing = egb_free_find_(control, block);
    (void)site;
    if (freeing.fault.kind == 0) {
        if (freeing.state != NULL && (EGB_LOAD_(*freeing.state) & EGB_STATE_SAMPLE_) != 0) {
            egb_samples_remove_(control->samples, block);
        }
        free_locked(control, magazine, pool, freeing);
    }
    return freeing.fault;
}

// ---- questions ----------------------------------------------------------------------------------

bool egb_is_live_in_chunk_(const egb_control* control, const void* block)
{
    const egb_chunk_* const chunk = egb_depot_chunk_of_(&control->depot, block);
    return chunk != NULL && egb_is_live_in_(&chunk->shape, chunk->shape.blocks, block);
}

static size_t plain_bytes_of(const egb_control* control, const void* block)
{
    (void)block;
    return control->block_bytes;
}

size_t egb_plain_head_(egb_level level)
{
    (void)level;
    return 0;
}

// Nothing stands around the blocks, so nothing can be found there.
size_t egb_plain_check_(egb_control* control)
{
    (void)control;
    return 0;
}

bool egb_plain_is_whole_(egb_control* control, const void* block)
{
    (void)control;
    (void)block;
    return true;
}

egb_finding egb_plain_finding_(egb_control* control)
{
    const egb_finding none = {.kind = 0};
    (void)control;
    return none;
}

egb_history egb_plain_history_(const egb_control* control, const void* block)
{
    const egb_history unknown = {.level = control->level};
    (void)block;
    return unknown;
}

egb_status egb_plain_begin_(egb_control* control)
{
    (void)control;
    return EGB_OK;
}

static egb_status plain_begin(egb_control* control)
{
    if (control->level != EGB_LEVEL_SAMPLE) {
        return EGB_OK;
    }
    control->samples = egb_pages_(sizeof(egb_samples));
    if (control->samples == NULL) {
        return EGB_NO_MEMORY;
    }
    control->depot.sampler = &control->samples->sampler;
    egb_samples_begin_();
    return EGB_OK;
}

static void plain_end(egb_control* control)
{
    if (control->samples != NULL) {
        egb_samples_end_(control->samples);
        egb_pages_release_(control->samples, sizeof(egb_samples));
        control->samples       = NULL;
        control->depot.sampler = NULL;
    }
}

const egb_layout egb_layout_plain_ = {
    .has_chunks      = true,
    .has_fixed_bytes = true,
    .head            = egb_plain_head_,
    .align_min       = EGB_WORD_BYTES,
    .take            = plain_take,
    .give            = plain_give,
    .bytes_of        = plain_bytes_of,
    .is_live         = egb_is_live_in_chunk_,
    .next_window     = egb_chunk_window_,
    .check           = egb_plain_check_,
    .is_whole        = egb_plain_is_whole_,
    .take_finding    = egb_plain_finding_,
    .history         = egb_plain_history_,
    .begin           = plain_begin,
    .end             = plain_end,
};

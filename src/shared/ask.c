// SPDX-License-Identifier: MIT
// Questions about a shared pool.
#include "shared_private.h"

static void count_shared_blocks(const egb_shared* shared, egb_shared_numbers* out)
{
    for (size_t index = 0; index < out->count; index++) {
        const uint64_t word = atomic_load(&shared->blocks[index].word);
        out->in_use += word != 0 ? 1 : 0;
        out->only_feed += word == EGB_SHARED_FEED_ ? 1 : 0;
    }
}

egb_shared_numbers egb_shared_numbers_of_(const egb_shared* shared)
{
    const egb_shared_shape_* const shape = &shared->shape;
    egb_shared_state_* const       state = shared->state;
    egb_shared_numbers             out   = {
                      .block_bytes  = (size_t)shape->block_bytes,
                      .stride_bytes = (size_t)shape->stride,
                      .count        = (size_t)shape->count,
                      .feed_count   = (size_t)shape->feed_count,
                      .note_bytes   = (size_t)shape->note_bytes,
                      .bytes        = (size_t)shape->bytes,
                      .published    = atomic_load(&state->head),
                      .dropped      = atomic_load(&state->dropped),
                      .failures     = atomic_load(&state->failures),
                      .recovered    = atomic_load(&state->recovered)
    };
    uint64_t attached = atomic_load(&state->attached) & EGB_SHARED_SLOTS_;
    for (; attached != 0; attached &= attached - 1) {
        out.attachments++;
    }
    count_shared_blocks(shared, &out);
    return out;
}

egb_status egb_shared_stats(const egb_shared* handle, egb_shared_numbers* out)
{
    if (handle == NULL || out == NULL) {
        return EGB_INVALID;
    }
    egb_shared* const shared = egb_shared_enter_(handle);
    if (shared == NULL) {
        return EGB_STALE;
    }
    *out = egb_shared_numbers_of_(shared);
    egb_shared_leave_(shared);
    return EGB_OK;
}

const void* egb_shared_about(const egb_shared* handle, size_t* bytes)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    const size_t      length = shared == NULL ? 0 : (size_t)shared->shape.about_bytes;
    const void* const about  = length == 0 ? NULL : shared->shape.about;
    if (shared != NULL) {
        egb_shared_leave_(shared);
    }
    if (bytes != NULL) {
        *bytes = length;
    }
    return about;
}

uint64_t egb_shared_holders(const egb_shared* handle, size_t index)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    uint64_t          word   = 0;
    if (shared != NULL) {
        if (index < shared->count) {
            word = atomic_load(&shared->blocks[index].word) & ~EGB_SHARED_RETIRING_;
        }
        egb_shared_leave_(shared);
    }
    return word;
}

static size_t held_by(const egb_shared* shared, unsigned slot)
{
    size_t held = 0;
    for (size_t index = 0; index < shared->count; index++) {
        held += (atomic_load(&shared->blocks[index].word) & egb_shared_bit_(slot)) != 0 ? 1 : 0;
    }
    return held;
}

bool egb_shared_show_(const egb_shared* shared, unsigned slot, egb_shared_attachment* out)
{
    if ((atomic_load(&shared->state->attached) >> slot & 1u) == 0) {
        return false;
    }
    egb_shared_card_* const card = &shared->state->cards[slot];
    out->slot                    = slot;
    out->is_this                 = slot == shared->slot;
    out->is_alive = out->is_this || egb_os_shared_is_locked_(shared->lock_file, slot, 1);
    out->pid      = atomic_load(&card->pid);
    out->held     = held_by(shared, slot);
    out->missed   = atomic_load(&card->missed);
    out->waiting  = out->is_alive ? atomic_load(&card->waiting) : 0;
    for (size_t i = 0; i + 1 < sizeof out->program; i++) {
        out->program[i] = card->program[i];
    }
    out->program[sizeof out->program - 1] = '\0';
    return true;
}

void egb_shared_each(
    const egb_shared* handle,
    void (*visit)(const egb_shared_attachment* one, void* user),
    void* user
)
{
    for (unsigned slot = 0; handle != NULL && slot < EGB_SHARED_ATTACHMENTS_MAX; slot++) {
        egb_shared_attachment one;
        egb_shared* const     shared = egb_shared_enter_(handle);
        if (shared == NULL) {
            return;
        }
        const bool is_there = egb_shared_show_(shared, slot, &one);
        egb_shared_leave_(shared);
        if (is_there) {
            visit(&one, user);
        }
    }
}

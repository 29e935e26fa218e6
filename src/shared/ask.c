// SPDX-License-Identifier: MIT
// Questions about a shared pool.
#include "shared_private.h"

static egb_os_mutex* lock_of(const egb_shared* shared)
{
    return (egb_os_mutex*)(uintptr_t)&shared->lock;
}

static void count_shared_blocks(const egb_shared* shared, egb_shared_numbers* out)
{
    for (size_t index = 0; index < out->count; index++) {
        const uint64_t word = atomic_load(&shared->blocks[index].word);
        out->in_use += word != 0 ? 1 : 0;
        out->only_feed += word == EGB_SHARED_FEED_ ? 1 : 0;
    }
}

static egb_shared_numbers stats_of(const egb_shared* shared)
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

egb_status egb_shared_stats(const egb_shared* shared, egb_shared_numbers* out)
{
    if (shared == NULL || out == NULL) {
        return EGB_INVALID;
    }
    egb_os_lock_(lock_of(shared));
    const bool is_open = shared->is_open;
    if (is_open) {
        *out = stats_of(shared);
    }
    egb_os_unlock_(lock_of(shared));
    return is_open ? EGB_OK : EGB_STALE;
}

const void* egb_shared_about(const egb_shared* shared, size_t* bytes)
{
    const bool has = shared != NULL && shared->is_open && shared->shape.about_bytes != 0;
    if (bytes != NULL) {
        *bytes = has ? (size_t)shared->shape.about_bytes : 0;
    }
    return has ? shared->shape.about : NULL;
}

uint64_t egb_shared_holders(const egb_shared* shared, size_t index)
{
    uint64_t word = 0;
    if (shared != NULL) {
        egb_os_lock_(lock_of(shared));
        if (shared->is_open && index < shared->count) {
            word = atomic_load(&shared->blocks[index].word) & ~EGB_SHARED_RETIRING_;
        }
        egb_os_unlock_(lock_of(shared));
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

static egb_shared_attachment attachment_of(const egb_shared* shared, unsigned slot)
{
    egb_shared_card_* const card = &shared->state->cards[slot];
    egb_shared_attachment   out  = {
           .slot     = slot,
           .is_this  = slot == shared->slot,
           .is_alive = slot == shared->slot || egb_os_shared_is_locked_(shared->lock_file, slot, 1),
           .pid      = atomic_load(&card->pid),
           .held     = held_by(shared, slot),
           .missed   = atomic_load(&card->missed)
    };
    for (size_t i = 0; i + 1 < sizeof out.program; i++) {
        out.program[i] = card->program[i];
    }
    return out;
}

void egb_shared_each(
    const egb_shared* shared,
    void (*visit)(const egb_shared_attachment* one, void* user),
    void* user
)
{
    for (unsigned slot = 0; shared != NULL && slot < EGB_SHARED_ATTACHMENTS_MAX; slot++) {
        egb_shared_attachment one = {0};
        egb_os_lock_(lock_of(shared));
        const bool is_there =
            shared->is_open && (atomic_load(&shared->state->attached) >> slot & 1u) != 0;
        if (is_there) {
            one = attachment_of(shared, slot);
        }
        egb_os_unlock_(lock_of(shared));
        if (is_there) {
            visit(&one, user);
        }
    }
}

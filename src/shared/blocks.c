// SPDX-License-Identifier: MIT
// Alloc, open and release, on the words of words.c.
#include "shared_private.h"

#include "eggbox/misuse.h"

static uint64_t mine_of(const egb_shared* shared)
{
    return egb_shared_bit_(shared->slot);
}

static char* address_of(const egb_shared* shared, size_t index)
{
    return shared->payload + index * shared->stride;
}

size_t egb_shared_index_(const egb_shared* shared, const void* block)
{
    const size_t count  = shared->count;
    const size_t offset = (size_t)((uintptr_t)block - (uintptr_t)shared->payload);
    const size_t index  = offset / shared->stride;
    return index < count && index * shared->stride == offset ? index : count;
}

// A hint may be missing after a death, and one may be wrong: alloc looks at the words, too.
void egb_shared_freed_(egb_shared* shared, size_t index)
{
    (void)atomic_fetch_or(&shared->hints[index / 64], (uint64_t)1 << index % 64);
    egb_shared_tell_(&shared->state->freed);
}

bool egb_shared_hold_(egb_shared* shared, size_t index, uint64_t generation, uint64_t also)
{
    egb_shared_block_* const block = &shared->blocks[index];
    if (shared->held[index] != 0) {
        if (atomic_load(&block->generation) != generation ||
            (atomic_load(&block->word) & also) != also) {
            return false;
        }
    } else {
        bool is_freed = false;
        if (!egb_shared_word_open_(block, mine_of(shared), also, generation, &is_freed)) {
            if (is_freed) {
                egb_shared_freed_(shared, index);
            }
            return false;
        }
    }
    shared->held[index]++;
    return true;
}

void egb_shared_unhold_(egb_shared* shared, size_t index)
{
    const uint64_t mine = mine_of(shared);
    if (--shared->held[index] == 0 && egb_shared_word_drop_(&shared->blocks[index], mine, mine)) {
        egb_shared_freed_(shared, index);
    }
}

// ---- alloc --------------------------------------------------------------------------------------

static bool take_by_hint(egb_shared* shared, size_t* out)
{
    const size_t count = shared->count;
    for (size_t at = 0; at * 64 < count; at++) {
        uint64_t bits = atomic_load_explicit(&shared->hints[at], memory_order_relaxed);
        for (; bits != 0; bits &= bits - 1) {
            const uint64_t lowest = bits & (~bits + 1);
            const size_t   index  = at * 64 + (size_t)__builtin_ctzll(lowest);
            // The hint goes first: if it were to go after, a hint given meanwhile would go with it.
            (void)atomic_fetch_and(&shared->hints[at], ~lowest);
            if (index < count && egb_shared_word_take_(&shared->blocks[index], mine_of(shared))) {
                *out = index;
                return true;
            }
        }
    }
    return false;
}

static bool take_by_word(egb_shared* shared, size_t* out)
{
    for (size_t index = 0; index < shared->count; index++) {
        if (atomic_load(&shared->blocks[index].word) == 0 &&
            egb_shared_word_take_(&shared->blocks[index], mine_of(shared))) {
            *out = index;
            return true;
        }
    }
    return false;
}

static bool take_any(egb_shared* shared, size_t* out)
{
    if (take_by_hint(shared, out) || take_by_word(shared, out)) {
        return true;
    }
    (void)egb_shared_recover_locked_(shared);
    if (take_by_word(shared, out)) {
        return true;
    }
    if (shared->shape.on_full == EGB_SHARED_DROP_OLDEST && egb_shared_drop_oldest_(shared, out)) {
        return true;
    }
    (void)atomic_fetch_add(&shared->state->failures, 1);
    return false;
}

static egb_status attempt_alloc(egb_shared* shared, void* what)
{
    size_t index = 0;
    if (shared->is_read_only) {
        return EGB_INVALID;
    }
    if (!take_any(shared, &index)) {
        return EGB_BUSY;
    }
    shared->held[index] = 1;
    *(void**)what       = address_of(shared, index);
    return EGB_OK;
}

egb_status egb_shared_alloc_wait(egb_shared* handle, void** out, uint64_t timeout_ns)
{
    if (handle == NULL || out == NULL) {
        return EGB_INVALID;
    }
    return egb_shared_until_(handle, false, timeout_ns, attempt_alloc, (void*)out);
}

void* egb_shared_alloc(egb_shared* handle)
{
    void* block = NULL;
    if (handle != NULL) {
        const egb_shared_shape_* const shape = &egb_shared_record_of_(handle)->shape;
        const bool                     waits = shape->on_full == EGB_SHARED_WAIT;
        (void)!egb_shared_alloc_wait(handle, &block, waits ? shape->wait_ns : 0);
    }
    return block;
}

// ---- handles ------------------------------------------------------------------------------------

egb_frame egb_shared_handle(const egb_shared* handle, const void* block)
{
    egb_frame         frame  = {0, 0, 0};
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    if (shared == NULL) {
        return frame;
    }
    const size_t index = egb_shared_index_(shared, block);
    if (index < shared->count && shared->held[index] != 0) {
        frame.pool       = shared->shape.pool;
        frame.index      = (uint32_t)index;
        frame.generation = atomic_load(&shared->blocks[index].generation);
    }
    egb_shared_leave_(shared);
    return frame;
}

egb_status egb_shared_open(egb_shared* handle, egb_frame frame, void** out)
{
    if (handle == NULL || out == NULL) {
        return EGB_INVALID;
    }
    egb_shared* const shared = egb_shared_enter_(handle);
    if (shared == NULL) {
        return EGB_STALE;
    }
    egb_status status = EGB_INVALID;
    if (frame.pool == shared->shape.pool && frame.index < shared->count) {
        const bool has = egb_shared_hold_(shared, frame.index, frame.generation, 0);
        status         = has ? EGB_OK : EGB_STALE;
    }
    if (status == EGB_OK) {
        *out = address_of(shared, frame.index);
    }
    egb_shared_leave_(shared);
    return status;
}

// ---- retain, release ----------------------------------------------------------------------------

// A release or retain that was refused: why, and the block that the address is in.
typedef struct egb_shared_refusal_ {
    egb_misuse_kind kind;
    size_t          index;
} egb_shared_refusal_;

static EGB_COLD void
report_refusal(const egb_shared* handle, egb_shared_refusal_ why, void* block, const void* site)
{
    const egb_misuse_event event = {
        .kind        = why.kind,
        .pool_name   = "a shared pool",
        .pool        = handle,
        .address     = block,
        .block_index = why.index,
        .site        = site
    };
    egb_misuse(&event);
}

// Why a block that this process does not hold is refused; NULL: the pool was closed.
static egb_shared_refusal_ refusal_of(const egb_shared* shared, const void* block)
{
    if (shared == NULL) {
        return (egb_shared_refusal_){EGB_MISUSE_STALE, EGB_NO_INDEX};
    }
    const size_t offset = (size_t)((uintptr_t)block - (uintptr_t)shared->payload);
    if (offset >= shared->count * shared->stride) {
        return (egb_shared_refusal_){EGB_MISUSE_FOREIGN, EGB_NO_INDEX};
    }
    const bool is_start = offset % shared->stride == 0;
    return (egb_shared_refusal_){is_start ? EGB_MISUSE_DOUBLE_FREE : EGB_MISUSE_INTERIOR,
                                 offset / shared->stride};
}

static bool change_hold(egb_shared* handle, void* block, bool is_more, egb_shared_refusal_* why)
{
    egb_shared* const shared = egb_shared_enter_(handle);
    const size_t      index  = shared == NULL ? 0 : egb_shared_index_(shared, block);
    const bool        holds  = shared != NULL && index < shared->count && shared->held[index] != 0;
    if (holds && is_more) {
        shared->held[index]++;
    } else if (holds) {
        egb_shared_unhold_(shared, index);
    } else {
        *why = refusal_of(shared, block);
    }
    if (shared != NULL) {
        egb_shared_leave_(shared);
    }
    return holds;
}

void egb_shared_retain(egb_shared* handle, void* block)
{
    egb_shared_refusal_ why = {EGB_MISUSE_NO_POOL, EGB_NO_INDEX};
    if (handle == NULL || !change_hold(handle, block, true, &why)) {
        report_refusal(handle, why, block, EGB_CALLER());
    }
}

void egb_shared_release(egb_shared* handle, void* block)
{
    egb_shared_refusal_ why = {EGB_MISUSE_NO_POOL, EGB_NO_INDEX};
    if (block != NULL && (handle == NULL || !change_hold(handle, block, false, &why))) {
        report_refusal(handle, why, block, EGB_CALLER());
    }
}

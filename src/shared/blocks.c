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

static bool attempt_alloc(egb_shared* shared, void* what)
{
    size_t index = 0;
    if (!take_any(shared, &index)) {
        return false;
    }
    shared->held[index] = 1;
    *(void**)what       = address_of(shared, index);
    return true;
}

egb_status egb_shared_alloc_wait(egb_shared* shared, void** out, uint64_t timeout_ns)
{
    if (shared == NULL || out == NULL || shared->is_read_only) {
        return EGB_INVALID;
    }
    return egb_shared_until_(shared, false, timeout_ns, attempt_alloc, (void*)out);
}

void* egb_shared_alloc(egb_shared* shared)
{
    void* block = NULL;
    if (shared != NULL) {
        const bool waits = shared->shape.on_full == EGB_SHARED_WAIT;
        (void)!egb_shared_alloc_wait(shared, &block, waits ? shared->shape.wait_ns : 0);
    }
    return block;
}

// ---- handles ------------------------------------------------------------------------------------

egb_frame egb_shared_handle(const egb_shared* shared, const void* block)
{
    egb_frame frame = {0, 0, 0};
    if (shared == NULL) {
        return frame;
    }
    egb_os_mutex* const lock = (egb_os_mutex*)(uintptr_t)&shared->lock;
    egb_os_lock_(lock);
    const size_t index = shared->is_open ? egb_shared_index_(shared, block) : shared->count;
    if (index < shared->count && shared->held[index] != 0) {
        frame.pool       = shared->shape.pool;
        frame.index      = (uint32_t)index;
        frame.generation = atomic_load(&shared->blocks[index].generation);
    }
    egb_os_unlock_(lock);
    return frame;
}

egb_status egb_shared_open(egb_shared* shared, egb_frame frame, void** out)
{
    if (shared == NULL || out == NULL || frame.pool != shared->shape.pool ||
        frame.index >= shared->count) {
        return EGB_INVALID;
    }
    egb_os_lock_(&shared->lock);
    const bool has = shared->is_open && egb_shared_hold_(shared, frame.index, frame.generation, 0);
    if (has) {
        *out = address_of(shared, frame.index);
    }
    egb_os_unlock_(&shared->lock);
    return has ? EGB_OK : EGB_STALE;
}

// ---- retain, release ----------------------------------------------------------------------------

static EGB_COLD void
report_shared(const egb_shared* shared, egb_misuse_kind kind, void* block, const void* site)
{
    const egb_misuse_event event = {
        .kind        = kind,
        .pool_name   = "a shared pool",
        .pool        = shared,
        .address     = block,
        .block_index = EGB_NO_INDEX,
        .site        = site
    };
    egb_misuse(&event);
}

// The misuse of a release or retain that was refused.
static egb_misuse_kind kind_of_refusal(const egb_shared* shared, const void* block)
{
    const size_t offset = (size_t)((uintptr_t)block - (uintptr_t)shared->payload);
    if (!shared->is_open) {
        return EGB_MISUSE_STALE;
    }
    if (egb_shared_index_(shared, block) < shared->count) {
        return EGB_MISUSE_DOUBLE_FREE;
    }
    return offset < shared->count * shared->stride ? EGB_MISUSE_INTERIOR : EGB_MISUSE_FOREIGN;
}

static bool change_hold(egb_shared* shared, void* block, bool is_more, egb_misuse_kind* kind)
{
    egb_os_lock_(&shared->lock);
    const size_t index = shared->is_open ? egb_shared_index_(shared, block) : shared->count;
    const bool   holds = index < shared->count && shared->held[index] != 0;
    if (holds && is_more) {
        shared->held[index]++;
    } else if (holds) {
        egb_shared_unhold_(shared, index);
    } else {
        *kind = kind_of_refusal(shared, block);
    }
    egb_os_unlock_(&shared->lock);
    return holds;
}

void egb_shared_retain(egb_shared* shared, void* block)
{
    egb_misuse_kind kind = EGB_MISUSE_NO_POOL;
    if (shared == NULL || !change_hold(shared, block, true, &kind)) {
        report_shared(shared, kind, block, EGB_CALLER());
    }
}

void egb_shared_release(egb_shared* shared, void* block)
{
    egb_misuse_kind kind = EGB_MISUSE_NO_POOL;
    if (block != NULL && (shared == NULL || !change_hold(shared, block, false, &kind))) {
        report_shared(shared, kind, block, EGB_CALLER());
    }
}

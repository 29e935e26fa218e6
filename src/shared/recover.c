// SPDX-License-Identifier: MIT
// Attachments: a slot is claimed by a lock on its byte, and the same lock protects the recovery of
// a dead one. If the process that recovers dies, the slot can be recovered again.
#include "shared_private.h"

// Takes each bit of `dead` in turn. The owner of the bit is dead or is this attachment, and this
// process has locked the owner's byte.
static void recover_block(egb_shared* shared, size_t index, uint64_t dead)
{
    egb_shared_block_* const block = &shared->blocks[index];
    uint64_t                 left  = atomic_load(&block->word) & dead;
    for (; left != 0; left &= left - 1) {
        if (egb_shared_word_recover_(block, left & (~left + 1))) {
            egb_shared_freed_(shared, index);
        }
    }
}

void egb_shared_clean_(egb_shared* shared, uint64_t dead)
{
    for (size_t index = 0; index < shared->count; index++) {
        if ((atomic_load(&shared->blocks[index].word) & dead) != 0) {
            recover_block(shared, index, dead);
        }
    }
    (void)atomic_fetch_and(&shared->state->attached, ~dead);
}

// The slots that anything speaks of.
static uint64_t known_slots(const egb_shared* shared)
{
    uint64_t known = atomic_load(&shared->state->attached);
    for (size_t index = 0; index < shared->count; index++) {
        known |= atomic_load_explicit(&shared->blocks[index].word, memory_order_relaxed);
    }
    return known & EGB_SHARED_SLOTS_ & ~egb_shared_bit_(shared->slot);
}

size_t egb_shared_recover_locked_(egb_shared* shared)
{
    const int lock_file = shared->lock_file;
    uint64_t  dead      = 0;
    size_t    count     = 0;
    uint64_t  known     = known_slots(shared);
    for (unsigned slot = 0; known >> slot != 0; slot++) {
        if ((known & egb_shared_bit_(slot)) != 0 && egb_os_shared_lock_(lock_file, slot, 1)) {
            dead |= egb_shared_bit_(slot);
            count++;
        }
    }
    if (dead != 0) {
        egb_shared_clean_(shared, dead);
        (void)atomic_fetch_add(&shared->state->recovered, count);
    }
    for (unsigned slot = 0; dead >> slot != 0; slot++) {
        if ((dead & egb_shared_bit_(slot)) != 0) {
            egb_os_shared_unlock_(lock_file, slot, 1);
        }
    }
    egb_shared_repair_feed_(shared);
    return count;
}

size_t egb_shared_recover(egb_shared* handle)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    if (shared == NULL) {
        return 0;
    }
    const size_t count = egb_shared_recover_locked_(shared);
    egb_shared_leave_(shared);
    return count;
}

void egb_shared_pause_(void)
{
    const uint64_t millisecond = 1000000;
    uint32_t       nobody      = 0;
    egb_os_shared_wait_(&nobody, 0, millisecond);
}

// A dead attachment may have had the slot.
static void begin_slot(egb_shared* shared, int lock_file, unsigned slot)
{
    const uint64_t bit = egb_shared_bit_(slot);
    if ((atomic_load(&shared->state->attached) & bit) != 0) {
        (void)atomic_fetch_add(&shared->state->recovered, 1);
    }
    egb_shared_clean_(shared, bit);
    (void)atomic_fetch_or(&shared->state->attached, bit);
    egb_os_shared_keep_(lock_file, slot);
}

// Another process may have a byte for a moment, to recover it, or all, to see whether anyone is
// alive: this is worth a few looks. It may be done with that between a look and the question: two
// looks are full if all bytes are kept both times.
egb_status egb_shared_claim_slot_(egb_shared* shared, int lock_file, unsigned* slot)
{
    enum { LOOKS = 20 };
    bool was_full = false;
    for (unsigned look = 0; look < LOOKS; look++) {
        for (unsigned at = 0; at < EGB_SHARED_ATTACHMENTS_MAX; at++) {
            if (egb_os_shared_lock_(lock_file, at, 1)) {
                begin_slot(shared, lock_file, at);
                *slot = at;
                return EGB_OK;
            }
        }
        const bool is_full =
            !egb_os_shared_is_locked_briefly_(lock_file, 0, EGB_SHARED_ATTACHMENTS_MAX);
        if (is_full && was_full) {
            break;
        }
        was_full = is_full;
        if (!is_full) {
            egb_shared_pause_();
        }
    }
    return EGB_LIMIT;
}

// Enters who the attachment is.
void egb_shared_sign_(egb_shared* shared)
{
    char                    path[256];
    egb_shared_card_* const card   = &shared->state->cards[shared->slot];
    const size_t            length = egb_os_program_(path, sizeof path);
    const size_t            most   = sizeof card->program - 1;
    size_t                  start  = length;
    while (start > 0 && path[start - 1] != '/' && length - start < most) {
        start--;
    }
    for (size_t i = 0; i <= most; i++) {
        card->program[i] = '\0';
    }
    for (size_t i = 0; start + i < length; i++) {
        card->program[i] = path[start + i];
    }
    atomic_store(&card->missed, 0);
    atomic_store(&card->waiting, 0);
    atomic_store(&card->pid, egb_os_process_number_());
}

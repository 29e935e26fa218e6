// SPDX-License-Identifier: MIT
// The pools that this process has open, and forks. Before a fork each gets a second attachment,
// which holds all that the first one holds; the child goes on as that one. The lock of an
// attachment belongs to an opening of the file, and a child shares its parent's openings: with only
// one, the death of either would not be seen until the other ends.
#include "shared_private.h"

static egb_os_mutex records_lock;
static egb_shared*  all_records;  // never unmapped
static bool         knows_forks;

enum { NO_SLOT = EGB_SHARED_ATTACHMENTS_MAX };

static void make_twin(egb_shared* shared)
{
    shared->twin_slot = NO_SLOT;
    if (egb_os_shared_again_(&shared->twin_file, shared->file) != EGB_OK) {
        return;
    }
    if (egb_shared_claim_slot_(shared, shared->twin_file, &shared->twin_slot) != EGB_OK) {
        egb_os_shared_close_(shared->twin_file);
        shared->twin_slot = NO_SLOT;
        return;
    }
    const uint64_t twin = egb_shared_bit_(shared->twin_slot);
    for (size_t index = 0; index < shared->count; index++) {
        if (shared->held[index] != 0) {
            (void)atomic_fetch_or(&shared->blocks[index].word, twin);
        }
    }
}

static void before_fork(void)
{
    egb_os_lock_(&records_lock);
    for (egb_shared* one = all_records; one != NULL; one = one->next) {
        egb_os_lock_(&one->lock);
        if (one->is_open) {
            make_twin(one);
        }
    }
}

// A fork that failed leaves a dead twin.
static void after_fork_in_parent(void)
{
    for (egb_shared* one = all_records; one != NULL; one = one->next) {
        if (one->is_open && one->twin_slot != NO_SLOT) {
            egb_os_shared_close_(one->twin_file);
            if (!egb_os_shared_is_locked_(one->lock_file, one->twin_slot, 1)) {
                (void)egb_shared_recover_locked_(one);
            }
        }
        egb_os_unlock_(&one->lock);
    }
    egb_os_unlock_(&records_lock);
}

// Without a twin the child has the pool no more: it is closed there.
static void become_twin(egb_shared* shared)
{
    egb_os_shared_close_(shared->lock_file);
    if (shared->twin_slot == NO_SLOT) {
        egb_os_shared_close_(shared->file);
        shared->is_open = false;
        return;
    }
    shared->lock_file    = shared->twin_file;
    shared->slot         = shared->twin_slot;
    shared->is_publisher = false;
    egb_shared_sign_(shared);
}

static void after_fork_in_child(void)
{
    for (egb_shared* one = all_records; one != NULL; one = one->next) {
        if (one->is_open) {
            become_twin(one);
        }
        egb_os_lock_reset_(&one->lock);
    }
    egb_os_lock_reset_(&records_lock);
}

// ---- records ------------------------------------------------------------------------------------

static egb_shared* map_record(void)
{
    const size_t range  = EGB_SHARED_RECORD_BYTES_;
    const size_t page   = egb_os_page_bytes_();
    const size_t used   = (sizeof(egb_shared) + page - 1) / page * page;
    void* const  memory = egb_os_reserve_(range, range);
    if (memory != NULL && egb_os_commit_(memory, used, 0, NULL) != EGB_OK) {
        egb_os_release_(memory, range);
        return NULL;
    }
    return memory;
}

// The next handle of a record; NULL: it had all of them.
static egb_shared* next_handle_of(egb_shared* record)
{
    if (record->handle == NULL) {
        return record;
    }
    char* const next = (char*)record->handle + EGB_SHARED_HANDLE_BYTES_;
    return next - (char*)record < EGB_SHARED_RECORD_BYTES_ ? (egb_shared*)(void*)next : NULL;
}

static egb_shared* make_locked(void)
{
    egb_shared* one = all_records;
    while (one != NULL && (one->is_used || next_handle_of(one) == NULL)) {
        one = one->next;
    }
    if (one == NULL) {
        one = map_record();
        if (one == NULL) {
            return NULL;
        }
        one->next   = all_records;
        all_records = one;
    }
    one->is_used = true;
    one->handle  = next_handle_of(one);
    return one;
}

egb_shared* egb_shared_record_make_(void)
{
    egb_os_prepare_();
    egb_os_lock_(&records_lock);
    const bool knew = knows_forks;
    knows_forks     = true;
    egb_os_unlock_(&records_lock);
    if (!knew && !egb_os_at_fork_(before_fork, after_fork_in_parent, after_fork_in_child)) {
        knows_forks = false;
        return NULL;
    }
    egb_os_lock_(&records_lock);
    egb_shared* const one = make_locked();
    egb_os_unlock_(&records_lock);
    if (one != NULL) {
        egb_os_lock_(&one->lock);
    }
    return one;
}

void egb_shared_record_give_(egb_shared* shared)
{
    egb_os_unlock_(&shared->lock);  // a fork takes the two in the other order
    egb_os_lock_(&records_lock);
    shared->is_used = false;
    egb_os_unlock_(&records_lock);
}

// SPDX-License-Identifier: MIT
// Layer shared: the layout of a shared pool, and a pool as this process has it open. Private.
//
// Nothing in shared memory is a pointer, and nothing read from it is trusted: an attachment checks
// the shape once and uses its own copy; every index is compared.
#ifndef EGGBOX_SRC_SHARED_SHARED_PRIVATE_H
#define EGGBOX_SRC_SHARED_SHARED_PRIVATE_H

#include "eggbox/shared.h"

#include "../os/os.h"

#include <stdatomic.h>

// A lock of one process would not do: without these words there is no shared pool.
#if ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2
  #define EGB_SHARED_HAS_WORDS_ true
#else
  #define EGB_SHARED_HAS_WORDS_ false
#endif

#define EGB_SHARED_FEED_     ((uint64_t)1 << 62)
#define EGB_SHARED_RETIRING_ ((uint64_t)1 << 63)
#define EGB_SHARED_SLOTS_    (EGB_SHARED_FEED_ - 1)

// The numbers of the bytes to lock: one for each attachment, then the publisher's, which only a
// publisher locks, and the one that a repair of the feed locks for a moment. These numbers have
// nothing to do with the bits 62 and 63 above.
enum { EGB_SHARED_PUBLISHER_BYTE_ = EGB_SHARED_ATTACHMENTS_MAX, EGB_SHARED_REPAIR_BYTE_ };

#define EGB_SHARED_FOLDER_ "/dev/shm"
#define EGB_SHARED_PREFIX_ "eggbox-"

// Never changes after create.
typedef struct egb_shared_shape_ {
    uint64_t magic;
    uint32_t version;
    uint32_t pool;
    uint64_t bytes;  // size of the whole file
    uint64_t block_bytes;
    uint64_t stride;
    uint64_t count;
    uint64_t feed_count;
    uint64_t note_bytes;
    uint64_t wait_ns;
    uint64_t about_bytes;
    uint64_t on_full;
    uint64_t blocks_at;  // offsets in the file
    uint64_t hints_at;
    uint64_t ring_at;
    uint64_t notes_at;
    uint64_t payload_at;
    char     path[EGB_SHARED_NAME_BYTES_MAX + 24];
    uint8_t  about[EGB_SHARED_ABOUT_BYTES_MAX];
    uint64_t sum;  // the checksum of all before
} egb_shared_shape_;

// The identity of an attachment, for people only: its lock tells whether it is alive.
typedef struct egb_shared_card_ {
    _Atomic uint64_t pid;
    _Atomic uint64_t missed;
    _Atomic uint64_t waiting;  // threads
    char             program[32];
} egb_shared_card_;

// A wake word is a number that moves with each event, times two, and a bit: someone waits.
typedef struct egb_shared_state_ {
    egb_shared_shape_ shape;
    EGB_ALIGNAS_(64) _Atomic uint64_t attached;  // a hint: a bit for each slot
    _Atomic uint64_t dropped;
    _Atomic uint64_t failures;
    _Atomic uint64_t recovered;
    EGB_ALIGNAS_(64) _Atomic uint32_t freed;  // wake word
    EGB_ALIGNAS_(64) _Atomic uint32_t news;   // wake word
    _Atomic uint64_t head;                    // number of the newest frame in the feed
    EGB_ALIGNAS_(64) egb_shared_card_ cards[EGB_SHARED_ATTACHMENTS_MAX];
} egb_shared_state_;

// `word` is the truth about a block: its holders. `sequence` is its number in the feed, 0: it was
// not published since it was allocated.
typedef struct egb_shared_block_ {
    EGB_ALIGNAS_(64) _Atomic uint64_t word;
    _Atomic uint64_t generation;
    _Atomic uint64_t sequence;
} egb_shared_block_;

typedef struct egb_shared_entry_ {
    _Atomic uint64_t sequence;  // 0: being written
    _Atomic uint64_t index;
    _Atomic uint64_t generation;
} egb_shared_entry_;

// A record: a pool as this process has it open. `lock` protects `held` and every change of a word
// by this process, so that a fork finds both in step.
//
// Programs have its handle, an address in the range of the record. Each time the record is opened
// it gets the next address, and never one that it had: a call with the handle of a pool that was
// closed is therefore refused for certain. A record without a next address is not opened again. No
// record is unmapped.
struct egb_shared {
    egb_os_mutex       lock;
    bool               is_used;  // the record is; the lock of all records protects this
    bool               is_open;
    egb_shared*        handle;  // the one given out last
    bool               is_read_only;
    bool               is_publisher;
    unsigned           slot;
    int                file;       // mapped, and handed on: without locks
    int                lock_file;  // an opening of its own, for the locks of this attachment
    egb_shared_state_* state;
    egb_shared_block_* blocks;
    _Atomic uint64_t*  hints;
    egb_shared_entry_* ring;
    unsigned char*     notes;
    char*              payload;
    uint32_t*          held;   // how often this process holds each block
    size_t             count;  // blocks; the shape has it, too
    size_t             stride;
    uint64_t           taken;  // no frame up to this number is for take any more
    _Atomic uint32_t   cancels;
    int                twin_file;  // during a fork: the child's
    unsigned           twin_slot;
    egb_shared*        next;
    egb_shared_shape_  shape;
};

// The bytes of addresses of a record, aligned to themselves, and the distance of its handles.
enum { EGB_SHARED_RECORD_BYTES_ = 65536, EGB_SHARED_HANDLE_BYTES_ = 16 };

static inline egb_shared* egb_shared_record_of_(const egb_shared* handle)
{
    return (egb_shared*)((uintptr_t)handle & ~((uintptr_t)EGB_SHARED_RECORD_BYTES_ - 1));
}

static inline uint64_t egb_shared_bit_(unsigned slot)
{
    return (uint64_t)1 << slot;
}

// Every function that a program calls gets a handle, and enters: the record, locked, until it
// leaves. NULL: the pool was closed, and nothing is locked.
static inline egb_shared* egb_shared_enter_(const egb_shared* handle)
{
    egb_shared* const shared = egb_shared_record_of_(handle);
    egb_os_lock_(&shared->lock);
    if (shared->is_open && shared->handle == handle) {
        return shared;
    }
    egb_os_unlock_(&shared->lock);
    return NULL;
}

static inline void egb_shared_leave_(egb_shared* shared)
{
    egb_os_unlock_(&shared->lock);
}

// ---- words.c: the protocol of one block ---------------------------------------------------------

bool egb_shared_word_take_(egb_shared_block_* block, uint64_t mine);
bool egb_shared_word_open_(
    egb_shared_block_* block, uint64_t mine, uint64_t also, uint64_t generation, bool* is_freed
);
bool egb_shared_word_drop_(egb_shared_block_* block, uint64_t bit, uint64_t by);
bool egb_shared_word_recover_(egb_shared_block_* block, uint64_t dead);
bool egb_shared_word_evict_(egb_shared_block_* block, uint64_t mine);
bool egb_shared_word_claim_(egb_shared_block_* block);

// ---- blocks.c; all with the lock held -----------------------------------------------------------

// The block became free.
void egb_shared_freed_(egb_shared* shared, size_t index);
// Holds block `index` once more, if it has this generation and also the bits `also`.
bool egb_shared_hold_(egb_shared* shared, size_t index, uint64_t generation, uint64_t also);
void egb_shared_unhold_(egb_shared* shared, size_t index);
// The number of the block at this address; `count` of the pool: there is none.
size_t egb_shared_index_(const egb_shared* shared, const void* block);

// ---- recover.c; all with the lock held ----------------------------------------------------------

// Gives back all that the slots held whose bits are in `dead`.
void   egb_shared_clean_(egb_shared* shared, uint64_t dead);
size_t egb_shared_recover_locked_(egb_shared* shared);
// Locks a slot for the opening `lock_file`, and cleans it. EGB_LIMIT: there is none.
egb_status egb_shared_claim_slot_(egb_shared* shared, int lock_file, unsigned* slot);
void       egb_shared_sign_(egb_shared* shared);
// Waits a millisecond: another process holds a byte for a moment.
void egb_shared_pause_(void);

// ---- feed.c -------------------------------------------------------------------------------------

// Makes words and ring agree after a publisher's death, if there is no publisher; with the lock.
void egb_shared_repair_feed_(egb_shared* shared);
bool egb_shared_drop_oldest_(egb_shared* shared, size_t* index);

// ---- wait.c -------------------------------------------------------------------------------------

// EGB_BUSY: it is worth another attempt.
typedef egb_status (*egb_shared_attempt_)(egb_shared* shared, void* what);
// Tries, with the lock held each time, as long as the answer is EGB_BUSY and the time is not over.
// `is_news`: a publish may help; else a block that becomes free. EGB_STALE: the pool was closed.
egb_status egb_shared_until_(
    egb_shared* handle, bool is_news, uint64_t timeout_ns, egb_shared_attempt_ attempt, void* what
);
// Wakes those who wait for `word`, if there are any.
void egb_shared_tell_(_Atomic uint32_t* word);

// ---- shape.c ------------------------------------------------------------------------------------

egb_status egb_shared_plan_(egb_shared_shape_* out, const egb_shared_options* options);
// The path of a pool's name. False: it can be no name.
bool egb_shared_path_(char* out, size_t bytes, const char* name);
void egb_shared_seal_shape_(egb_shared_shape_* shape);
// A copy of the shape in the file, which was checked.
egb_status egb_shared_read_shape_(int file, egb_shared_shape_* out);

// ---- ask.c; all with the lock held --------------------------------------------------------------

egb_shared_numbers egb_shared_numbers_of_(const egb_shared* shared);
// False: no attachment has this slot.
bool egb_shared_show_(const egb_shared* shared, unsigned slot, egb_shared_attachment* out);

// ---- gc.c ---------------------------------------------------------------------------------------

// Removes the file of this name if it is a pool whose attachments are all dead.
bool egb_shared_remove_dead_(const char* path);
// Whether it is worth another try to allocate `bytes`. Removes dead pools if `bytes` may be had
// then, and no other way: that of `path`, if this is enough, else all in the folder of pools,
// unless `path` is the caller's.
bool egb_shared_make_room_(const char* path, bool is_callers, uint64_t bytes);

// ---- attach.c -----------------------------------------------------------------------------------

// Memory of this process; NULL: refused.
void* egb_shared_own_memory_(size_t bytes);

// ---- records.c ----------------------------------------------------------------------------------

// An open pool is known to forks. make: a record that is not open and has a new handle, with its
// lock held, so that no fork comes before it is; NULL: refused. give: with the lock held, unlocks
// the record, and returns it for the next pool.
egb_shared* egb_shared_record_make_(void);
void        egb_shared_record_give_(egb_shared* shared);

#endif  // EGGBOX_SRC_SHARED_SHARED_PRIVATE_H

// SPDX-License-Identifier: MIT
// Batches, and the batch slabs that they come from: growing pools of the library's own, for each
// lane one with batches of each length. Data of threads of different lanes is therefore not side
// by side: a processor that reads one batch fetches ahead the bytes behind it, and would take them
// from another processor.
#include "batch.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "../region/obtain.h"
#include "depot.h"

typedef struct egb_batch_slab {
    EGB_ALIGNAS_(128) egb_os_mutex lock;
    bool        is_used;
    egb_growing batches;
} egb_batch_slab;

// 128, 256, 640 and 2,112 bytes. A thread that uses few blocks of a pool has a short batch.
const uint16_t egb_batch_rooms_[EGB_BATCH_LENGTHS] = {4, 12, 36, EGB_MAGAZINE_BLOCKS_MAX};

// From the start of a page on: the first lanes share it, wherever the linker puts the table.
EGB_ALIGNAS_(4096) static egb_batch_slab slabs[EGB_LANES][EGB_BATCH_LENGTHS];

// Neighbours are parted within groups of this size; the last group may be almost twice as large.
enum { GROUP_BLOCKS = 8, LAST_GROUP_BLOCKS_MAX = 2 * GROUP_BLOCKS - 1 };

// Fills unused entries; no caller has its address. Read as a state it is not live.
static unsigned char    no_block = EGB_STATE_FREE_;
static const egb_entry_ no_entry = {&no_block, &no_block};

const egb_entry_* egb_no_entry_(void)
{
    return &no_entry;
}

// As many as a thread with one pool needs. Later chunks are longer.
enum { FIRST_BATCHES = 4 };

static bool is_open(egb_batch_slab* slab, size_t length)
{
    if (slab->batches.options.block_bytes != 0) {
        return true;
    }
    const size_t bytes =
        offsetof(egb_batch, entries) + (egb_batch_rooms_[length] + (size_t)1) * sizeof(egb_entry_);
    const size_t              block_bytes = egb_round_up_(bytes, EGB_ALIGNOF_(egb_batch));
    const egb_growing_options options     = {
            .block_bytes = block_bytes,
            .block_align = EGB_ALIGNOF_(egb_batch),
            .chunk_bytes = FIRST_BATCHES * block_bytes,
            .backing     = egb_plain_backing_(),
    };
    return egb_growing_init(&slab->batches, &options) == EGB_OK;
}

size_t egb_batch_length_for_(size_t blocks, size_t length)
{
    const size_t last  = egb_smaller_(length, EGB_BATCH_LENGTHS - 1);
    size_t       least = 0;
    while (least < last && egb_batch_rooms_[least] < blocks) {
        least++;
    }
    return least;
}

egb_batch* egb_batch_new_(size_t lane, size_t blocks, size_t length)
{
    const size_t          least = egb_batch_length_for_(blocks, length);
    egb_batch_slab* const slab  = &slabs[lane][least];
    // A page that is read first comes twice: for the read, and for the write that follows.
    EGB_STORE_(slab->is_used, true);
    egb_os_lock_(&slab->lock);
    egb_growing* const batches = &slab->batches;
    const bool         can_get = egb_growing_has_free_(batches) || !egb_is_frozen_();
    egb_batch* const   batch = can_get && is_open(slab, least) ? egb_growing_alloc(batches) : NULL;
    egb_os_unlock_(&slab->lock);
    if (batch != NULL) {
        batch->front.aside = no_entry;
        batch->count       = 0;
        batch->room        = (uint16_t)egb_smaller_(blocks, egb_batch_rooms_[least]);
        batch->lane        = (uint8_t)lane;
        batch->length      = (uint8_t)least;
        for (size_t i = 0; i <= batch->room; i++) {
            batch->entries[i] = no_entry;
        }
    }
    return batch;
}

void egb_batch_drop_(egb_batch* batch)
{
    if (batch != NULL) {
        egb_batch_slab* const slab = &slabs[batch->lane][batch->length];
        egb_os_lock_(&slab->lock);
        egb_growing_free(&slab->batches, batch);
        egb_os_unlock_(&slab->lock);
    }
}

// If the number is odd, the last even block would be right in front of the next run.
static void part_group(void** blocks, size_t count)
{
    void*        group[LAST_GROUP_BLOCKS_MAX];
    const bool   is_odd = count % 2 != 0;
    const size_t half   = is_odd ? 0 : count / 2;
    for (size_t i = 0; i < count; i++) {
        group[i] = blocks[i];
    }
    for (size_t i = 0; i < half; i++) {
        blocks[i] = group[2 * i + 1];
    }
    for (size_t i = half; i < count; i++) {
        blocks[i] = group[is_odd ? count - 1 - i : 2 * (i - half)];
    }
}

void egb_part_neighbours_(void** run, size_t count)
{
    while (count > LAST_GROUP_BLOCKS_MAX) {
        part_group(run, GROUP_BLOCKS);
        run += GROUP_BLOCKS;
        count -= GROUP_BLOCKS;
    }
    part_group(run, count);
}

void egb_batch_turn_around_(egb_batch* batch)
{
    for (uint32_t low = 0, high = batch->count; low + 1 < high; low++) {
        const egb_entry_ entry = batch->entries[low];
        batch->entries[low]    = batch->entries[--high];
        batch->entries[high]   = entry;
    }
}

void egb_batch_fetch_(const egb_batch* batch)
{
    enum { ENTRIES_IN_LINE = 64 / sizeof(egb_entry_) };
    for (uint32_t i = 0; i < batch->count; i += ENTRIES_IN_LINE) {
        __builtin_prefetch(&batch->entries[batch->count - 1 - i]);
    }
}

// ---- all slabs ----------------------------------------------------------------------------------

enum { SLABS = EGB_LANES * EGB_BATCH_LENGTHS };

static egb_batch_slab* slab_at(size_t index)
{
    return &slabs[index / EGB_BATCH_LENGTHS][index % EGB_BATCH_LENGTHS];
}

size_t egb_batch_slabs_trim_(void)
{
    size_t given = 0;
    for (size_t i = 0; i < SLABS; i++) {
        egb_os_lock_(&slab_at(i)->lock);
        given += egb_growing_trim(&slab_at(i)->batches, 0);
        egb_os_unlock_(&slab_at(i)->lock);
    }
    return given;
}

void egb_batch_slabs_lock_(void)
{
    for (size_t i = 0; i < SLABS; i++) {
        egb_os_lock_(&slab_at(i)->lock);
    }
}

void egb_batch_slabs_unlock_(void)
{
    for (size_t i = 0; i < SLABS; i++) {
        egb_os_unlock_(&slab_at(i)->lock);
    }
}

void egb_batch_slabs_reset_(void)
{
    for (size_t i = 0; i < SLABS; i++) {
        egb_os_lock_reset_(&slab_at(i)->lock);
    }
}

// SPDX-License-Identifier: MIT
// Batches, and the workshops that make them: growing pools of the library's own, one a lane. So
// what threads of different lanes use is not side by side. A processor that reads one batch in a
// row fetches ahead what follows it: were that another's, it would take it from that processor.
// And what batches remember of blocks that they do not hold.
#include "pool_private.h"
#include "seal.h"

typedef struct egb_workshop {
    EGB_ALIGNAS_(128) egb_os_mutex lock;
    egb_growing batches;
} egb_workshop;

static egb_workshop workshops[EGB_LANES];

// Blocks are parted within so many, or at the end within less than twice as many.
enum { GROUP_BLOCKS = 8, LAST_GROUP_BLOCKS_MAX = 2 * GROUP_BLOCKS - 1 };

// Stands in the entries that are no block's; no caller has its address. As a state it is not live.
static unsigned char    no_block = EGB_STATE_FREE_;
static const egb_entry_ no_entry = {&no_block, &no_block};

const egb_entry_* egb_no_entry(void)
{
    return &no_entry;
}

static bool is_open(egb_workshop* workshop)
{
    if (workshop->batches.options.block_bytes != 0) {
        return true;
    }
    const egb_growing_options options = {
        .block_bytes = sizeof(egb_batch),
        .block_align = EGB_ALIGNOF_(egb_batch),
        .backing     = egb_plain_backing(),
    };
    return egb_growing_init(&workshop->batches, &options) == EGB_OK;
}

egb_batch* egb_batch_new(size_t lane, size_t blocks)
{
    egb_workshop* const workshop = &workshops[lane];
    egb_os_lock(&workshop->lock);
    egb_growing* const batches = &workshop->batches;
    const bool         can_get = egb_growing_has_free(batches) || !egb_is_sealed();
    egb_batch* const   batch   = can_get && is_open(workshop) ? egb_growing_alloc(batches) : NULL;
    egb_os_unlock(&workshop->lock);
    if (batch != NULL) {
        batch->next  = NULL;
        batch->count = 0;
        batch->lane  = (uint32_t)lane;
        for (size_t i = 0; i <= blocks; i++) {
            batch->entries[i] = no_entry;
        }
    }
    return batch;
}

void egb_batch_drop(egb_batch* batch)
{
    if (batch != NULL) {
        egb_workshop* const workshop = &workshops[batch->lane];
        egb_os_lock(&workshop->lock);
        egb_growing_free(&workshop->batches, batch);
        egb_os_unlock(&workshop->lock);
    }
}

// Of an odd number the last of the even ones would be the one in front of the next run.
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

void egb_part_neighbours(void** run, size_t count)
{
    while (count > LAST_GROUP_BLOCKS_MAX) {
        part_group(run, GROUP_BLOCKS);
        run += GROUP_BLOCKS;
        count -= GROUP_BLOCKS;
    }
    part_group(run, count);
}

void egb_batch_turn_around(egb_batch* batch)
{
    for (uint32_t low = 0, high = batch->count; low + 1 < high; low++) {
        const egb_entry_ entry = batch->entries[low];
        batch->entries[low]    = batch->entries[--high];
        batch->entries[high]   = entry;
    }
}

void egb_batch_fetch(const egb_batch* batch)
{
    enum { ENTRIES_IN_LINE = 64 / sizeof(egb_entry_) };
    for (uint32_t i = 0; i < batch->count; i += ENTRIES_IN_LINE) {
        __builtin_prefetch(&batch->entries[batch->count - 1 - i]);
    }
}

size_t egb_workshops_trim(void)
{
    size_t given = 0;
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_lock(&workshops[lane].lock);
        given += egb_growing_trim(&workshops[lane].batches, 0);
        egb_os_unlock(&workshops[lane].lock);
    }
    return given;
}

void egb_workshops_lock(void)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_lock(&workshops[lane].lock);
    }
}

void egb_workshops_unlock(void)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_unlock(&workshops[lane].lock);
    }
}

void egb_workshops_reset(void)
{
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        egb_os_lock_reset(&workshops[lane].lock);
    }
}

// ---- what a batch remembers ---------------------------------------------------------------------

static void strike(const egb_control* control, egb_entry_* entry)
{
    void*                   block = EGB_LOAD_(entry->block);
    const egb_chunk_* const chunk =
        block == egb_no_entry()->block ? NULL : egb_chunk_in(control, block);
    if (chunk != NULL && chunk->in_use == 0) {
        // Unless the thread just puts another block there. This one it will not: it is free.
        (void)__atomic_compare_exchange_n(
            &entry->block, &block, egb_no_entry()->block, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
        );
    }
}

// Strikes what a batch remembers but does not hold: it holds the entries from `first` to `end`.
static void strike_around(
    const egb_control* control, egb_batch* batch, const egb_entry_* first, const egb_entry_* end
)
{
    for (size_t i = 0; i < control->batch_blocks; i++) {
        egb_entry_* const entry = &batch->entries[i];
        if (entry < first || entry >= end) {
            strike(control, entry);
        }
    }
}

void egb_magazine_strike(const egb_control* control, egb_magazine_* magazine)
{
    strike_around(
        control,
        magazine->loaded,
        (const egb_entry_*)magazine->lowest,
        (const egb_entry_*)EGB_LOAD_(magazine->top)
    );
    if (magazine->spare != NULL) {
        const egb_entry_* const first = magazine->spare->entries;
        strike_around(control, magazine->spare, first, first + magazine->spare->count);
    }
    if (magazine->away != NULL) {  // it may be the one that is loaded, in time
        strike_around(
            control,
            magazine->away,
            &magazine->away->entries[magazine->away_first],
            (const egb_entry_*)EGB_LOAD_(magazine->away_top)
        );
    }
}

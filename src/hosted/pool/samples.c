// SPDX-License-Identifier: MIT
// Hash tables with linear probing: D. Knuth, "The Art of Computer Programming", volume 3, 6.4. An
// entry that goes is replaced by those behind it, Algorithm R there: no place is lost.
#include "samples.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "../region/obtain.h"
#include "../region/pages.h"
#include "eggbox/atomic_hot.h"

enum { PLACES_FIRST = 64 };

egb_samples egb_large_samples_;

static bool has_samples;  // atomic

void egb_samples_begin_(void)
{
    EGB_STORE_(has_samples, true);
}

bool egb_has_samples_(void)
{
    return EGB_LOAD_(has_samples);
}

static size_t hash_place(const void* key, size_t places)
{
    return (size_t)(egb_mix_((uintptr_t)key) >> 32) & (places - 1);
}

static bool is_crowded(size_t used, size_t places)
{
    return used >= places / 4 * 3;
}

static size_t more_places(size_t places)
{
    return places == 0 ? PLACES_FIRST : 2 * places;
}

// ---- records ------------------------------------------------------------------------------------

// The place of a block's record, or the free one for it.
static egb_sample* record_place(egb_sample* records, size_t places, const void* block)
{
    size_t at = hash_place(block, places);
    while (records[at].block != NULL && records[at].block != block) {
        at = (at + 1) & (places - 1);
    }
    return &records[at];
}

// A frozen process asks for no memory. NULL: none.
static void* sample_table(size_t places, size_t bytes)
{
    return egb_is_frozen_() ? NULL : egb_pages_(places * bytes);
}

static void release_sample_table(void* table, size_t places, size_t bytes)
{
    if (table != NULL) {
        egb_pages_release_(table, places * bytes);
    }
}

// False: no memory.
static bool make_room_for_record(egb_samples* all)
{
    if (!is_crowded(all->records_used, all->record_places)) {
        return true;
    }
    const size_t      places = more_places(all->record_places);
    egb_sample* const wider  = sample_table(places, sizeof(egb_sample));
    if (wider == NULL) {
        return false;
    }
    for (size_t i = 0; i < all->record_places; i++) {
        if (all->records[i].block != NULL) {
            *record_place(wider, places, all->records[i].block) = all->records[i];
        }
    }
    release_sample_table(all->records, all->record_places, sizeof(egb_sample));
    all->records       = wider;
    all->record_places = places;
    return true;
}

const egb_sample* egb_samples_find_(const egb_samples* all, const void* block)
{
    const egb_sample* const one =
        all->records == NULL ? NULL : record_place(all->records, all->record_places, block);
    return one == NULL || one->block == NULL ? NULL : one;
}

void egb_samples_remove_(egb_samples* all, const void* block)
{
    const egb_sample* const gone = egb_samples_find_(all, block);
    if (gone == NULL) {
        return;
    }
    const size_t last = all->record_places - 1;
    size_t       hole = (size_t)(gone - all->records);
    for (size_t at = (hole + 1) & last; all->records[at].block != NULL; at = (at + 1) & last) {
        const size_t first = hash_place(all->records[at].block, all->record_places);
        if (((at - first) & last) >= ((at - hole) & last)) {
            all->records[hole] = all->records[at];
            hole               = at;
        }
    }
    all->records[hole].block = NULL;
    all->records_used--;
}

// ---- sums ---------------------------------------------------------------------------------------

static egb_sample_sum* sum_place(egb_sample_sum* table, size_t places, const void* site)
{
    size_t at = hash_place(site, places);
    while (table[at].samples != 0 && table[at].site != site) {
        at = (at + 1) & (places - 1);
    }
    return &table[at];
}

static bool make_room_for_sum(egb_samples* all)
{
    if (!is_crowded(all->sums_used, all->sum_places)) {
        return true;
    }
    const size_t          places = more_places(all->sum_places);
    egb_sample_sum* const wider  = sample_table(places, sizeof(egb_sample_sum));
    if (wider == NULL) {
        return false;
    }
    for (size_t i = 0; i < all->sum_places; i++) {
        if (all->sums[i].samples != 0) {
            *sum_place(wider, places, all->sums[i].site) = all->sums[i];
        }
    }
    release_sample_table(all->sums, all->sum_places, sizeof(egb_sample_sum));
    all->sums       = wider;
    all->sum_places = places;
    return true;
}

void egb_samples_sum_up_(egb_samples* all, const egb_sample* sample)
{
    if (!make_room_for_sum(all)) {
        all->lost++;
        return;
    }
    egb_sample_sum* const sum = sum_place(all->sums, all->sum_places, sample->site);
    all->sums_used += sum->samples == 0 ? 1 : 0;
    sum->site = sample->site;
    sum->samples++;
    sum->blocks += sample->scale;
    sum->bytes += sample->scale * (double)sample->bytes;
}

// ---- both ---------------------------------------------------------------------------------------

void egb_samples_add_(egb_samples* all, const egb_sample* sample)
{
    if (!make_room_for_record(all)) {
        all->lost++;
        return;
    }
    egb_sample* const record = record_place(all->records, all->record_places, sample->block);
    all->records_used += record->block == NULL ? 1 : 0;
    *record        = *sample;
    record->serial = ++all->serial;
    egb_samples_sum_up_(all, sample);
}

void egb_samples_restart_(egb_samples* all)
{
    for (size_t i = 0; i < all->sum_places; i++) {
        all->sums[i].samples = 0;
        all->sums[i].blocks = all->sums[i].bytes = 0;
    }
    all->sums_used     = 0;
    all->serial_before = all->serial;
    all->lost          = 0;
}

void egb_samples_end_(const egb_samples* all)
{
    release_sample_table(all->records, all->record_places, sizeof(egb_sample));
    release_sample_table(all->sums, all->sum_places, sizeof(egb_sample_sum));
}

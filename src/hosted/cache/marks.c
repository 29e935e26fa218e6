// SPDX-License-Identifier: MIT
#include "marks.h"

enum { WORD_BITS = 32, FIRED_MAX = 64, THINNED_MAX = 20 };

EGB_STATIC_ASSERT(EGB_BATCH_MARK_WORDS* WORD_BITS >= EGB_MAGAZINE_BLOCKS_MAX, "a bit for each");

static void draw(const egb_depot* depot, egb_batch* batch)
{
    const size_t room = batch->room;
    for (size_t i = 0; i < EGB_BATCH_MARK_WORDS; i++) {
        batch->marks[i] = 0;
    }
    batch->fired = batch->thinned = 0;
    size_t place                  = 0;
    for (;;) {
        place += egb_sampler_pass_(depot->sampler, depot->block_bytes, room - place);
        if (place >= room) {
            break;
        }
        batch->marks[place / WORD_BITS] |= (uint32_t)1 << place % WORD_BITS;
        place++;
    }
    batch->halvings = (uint16_t)depot->sampler->halvings;
}

// The bits of a word of marks below a place, which may be in another word.
static uint32_t bits_below(size_t word, size_t place)
{
    const size_t first = word * WORD_BITS;
    return place >= first + WORD_BITS ? UINT32_MAX
           : place <= first           ? 0
                                      : ((uint32_t)1 << (place - first)) - 1;
}

size_t egb_marks_below_(const egb_batch* batch, size_t place)
{
    for (size_t i = EGB_BATCH_MARK_WORDS; i-- > 0;) {
        const uint32_t bits = batch->marks[i] & bits_below(i, place);
        if (bits != 0) {
            return (i + 1) * WORD_BITS - (size_t)__builtin_clz(bits);
        }
    }
    return 0;
}

size_t egb_marks_from_(const egb_batch* batch, size_t place)
{
    for (size_t i = 0; i < EGB_BATCH_MARK_WORDS; i++) {
        const uint32_t bits = batch->marks[i] & ~bits_below(i, place);
        if (bits != 0) {
            return i * WORD_BITS + (size_t)__builtin_ctz(bits);
        }
    }
    return batch->room;
}

// A mark stays with the ratio of the probabilities of a sample in the two periods.
void egb_marks_thin_(const egb_depot* depot, egb_batch* batch)
{
    const size_t bytes  = depot->block_bytes;
    const double before = egb_sampling_scale_(bytes, batch->halvings);
    const double after  = egb_sampling_scale_(bytes, batch->halvings + (uint32_t)1);
    const double stays  = before / after * ((double)UINT32_MAX + 1);
    for (size_t place = egb_marks_from_(batch, 0); place < batch->room;
         place        = egb_marks_from_(batch, place + 1)) {
        if (egb_sampler_random_(depot->sampler) >= stays) {
            batch->marks[place / WORD_BITS] &= ~((uint32_t)1 << place % WORD_BITS);
        }
    }
    batch->halvings++;
    batch->thinned++;
    batch->fired = 0;
}

// A loop at one place does not make the samples of the whole pool rare.
double egb_marks_fire_(const egb_depot* depot, egb_batch* batch)
{
    const double scale = egb_sampling_scale_(depot->block_bytes, batch->halvings);
    if (batch->thinned == 0) {
        egb_sampling_note_();
    }
    batch->fired++;
    if (batch->fired >> batch->thinned == FIRED_MAX && batch->thinned < THINNED_MAX) {
        egb_marks_thin_(depot, batch);
    }
    return scale;
}

// ---- as far as a magazine goes without a call ---------------------------------------------------

// Entries above the blocks are remembered ones: none of them is left in a marked place, or a free
// could put its block back there by itself.
void egb_marks_draw_(const egb_depot* depot, egb_batch* batch)
{
    if (depot->sampler == NULL) {
        return;
    }
    draw(depot, batch);
    for (size_t place = egb_marks_from_(batch, batch->count); place < batch->room;
         place        = egb_marks_from_(batch, place + 1)) {
        EGB_STORE_(batch->entries[place].block, egb_no_entry_()->block);
    }
}

static size_t place_of_top(const egb_magazine_* magazine)
{
    return (EGB_LOAD_(magazine->top) - (uintptr_t)magazine->loaded->entries) / sizeof(egb_entry_);
}

static bool magazine_has_room(const egb_magazine_* magazine)
{
    return EGB_LOAD_(magazine->full) != EGB_NO_ROOM;
}

// From entry `lowest` of its batch to entry `end`; not below those that another thread took.
static void set_span(const egb_depot* depot, egb_magazine_* magazine, size_t lowest, size_t end)
{
    egb_entry_* const entries = magazine->loaded->entries;
    if (magazine_has_room(magazine)) {
        EGB_STORE_(magazine->full, (uintptr_t)(entries + end));
    }
    egb_magazine_set_bottom_(
        depot, magazine, egb_larger_(magazine->lowest, (uintptr_t)(entries + lowest))
    );
}

void egb_magazine_open_(const egb_depot* depot, egb_magazine_* magazine)
{
    const egb_batch* const batch = magazine->loaded;
    if (depot->sampler != NULL) {
        const size_t place = place_of_top(magazine);
        set_span(depot, magazine, egb_marks_below_(batch, place), egb_marks_from_(batch, place));
    } else {
        egb_magazine_set_bottom_(depot, magazine, magazine->lowest);
    }
}

// Whether the entry below `top` is in a marked place, and is a block of its own.
bool egb_magazine_is_at_mark_(const egb_depot* depot, const egb_magazine_* magazine)
{
    return depot->sampler != NULL && EGB_LOAD_(magazine->top) > magazine->lowest &&
           egb_marks_below_(magazine->loaded, place_of_top(magazine)) == place_of_top(magazine);
}

// A free must come by here again, so that the place is marked for the next block there, too: no
// block is left in the entry that it could find by itself.
double egb_magazine_take_marked_(const egb_depot* depot, egb_magazine_* magazine, egb_entry_* out)
{
    egb_entry_* const entry = (egb_entry_*)EGB_LOAD_(magazine->top) - 1;
    *out                    = *entry;
    EGB_STORE_(entry->block, egb_no_entry_()->block);
    __atomic_store_n(&magazine->top, (uintptr_t)entry, __ATOMIC_RELEASE);
    const double scale = egb_marks_fire_(depot, magazine->loaded);
    egb_magazine_open_(depot, magazine);
    return scale;
}

bool egb_magazine_pass_mark_(const egb_depot* depot, egb_magazine_* magazine)
{
    const egb_batch* const batch = magazine->loaded;
    if (depot->sampler == NULL || !magazine_has_room(magazine) ||
        place_of_top(magazine) >= batch->room) {
        return false;
    }
    const size_t behind = place_of_top(magazine) + 1;
    set_span(depot, magazine, behind, egb_marks_from_(batch, behind));
    return true;
}

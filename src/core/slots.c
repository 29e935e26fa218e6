// SPDX-License-Identifier: MIT
// Slots: init, fresh slots, limbo, misuse, and the questions. Their hot halves are in slots.h.
#include "eggbox/slots.h"

#include "fixed_private.h"

static bool slots_are_made(const egb_slots* table)
{
    return table != NULL && table->elements != NULL;
}

// Whether `count` slots need at most SIZE_MAX bytes.
static bool slots_are_possible(size_t element_bytes, size_t count)
{
    const size_t beside = 4u * sizeof(uint32_t);  // 12 bytes and a bit, rounded up
    return element_bytes <= SIZE_MAX - 4u * sizeof(size_t) - beside &&
           count <= (SIZE_MAX - 4u * sizeof(size_t)) / (element_bytes + beside);
}

static bool slots_overlap(uintptr_t start, size_t bytes, const egb_slots* table)
{
    return start < (uintptr_t)table + sizeof *table && (uintptr_t)table < start + bytes;
}

egb_status egb_slots_init(
    egb_slots* table, void* memory, size_t memory_bytes, size_t element_bytes, size_t count
)
{
    const uintptr_t start = (uintptr_t)memory;
    if (table == NULL || memory == NULL || element_bytes == 0 || count == 0 ||
        start % sizeof(size_t) != 0 || memory_bytes > UINTPTR_MAX - start) {
        return EGB_INVALID;
    }
    if (count > EGB_SLOTS_COUNT_MAX || !slots_are_possible(element_bytes, count)) {
        return EGB_LIMIT;
    }
    if (memory_bytes < EGB_SLOTS_BYTES(element_bytes, count) ||
        slots_overlap(start, memory_bytes, table)) {
        return EGB_INVALID;
    }
    // Through void*: the sum is aligned for a size_t, as `memory` is.
    unsigned char* const  elements    = memory;
    void* const           behind      = elements + EGB_SLOTS_ROUND_(element_bytes * count);
    egb_live_word_* const live        = behind;
    egb_word* const       generations = (egb_word*)(live + EGB_SLOTS_LIVE_WORDS_(count));

    // One by one: a copy of the whole would need memcpy(), which core does not have.
    table->elements    = elements;
    table->live        = live;
    table->generations = generations;
    table->links       = generations + count;
    table->frames      = generations + 2u * count;
    table->stride      = element_bytes;
    table->count       = (uint32_t)count;
    table->touched     = 0;
    table->free        = 0;
    table->in_use      = 0;
    table->given_up    = 0;
    table->base        = 0;
    table->limbo       = 0;
    table->limbo_first = 0;
    table->limbo_last  = 0;
    table->oldest      = 0;
    table->newest      = 0;
    return EGB_OK;
}

egb_status egb_slots_start_at(egb_slots* table, uint32_t lives)
{
    if (!slots_are_made(table) || lives >= EGB_SLOT_LIVES_MAX) {
        return EGB_INVALID;
    }
    if (table->touched != 0) {
        return EGB_BUSY;
    }
    table->base = lives * 2u;
    return EGB_OK;
}

uint32_t egb_slots_take_cold_(egb_slots* table, const void* site)
{
    if (!slots_are_made(table)) {
        egb_report_(EGB_MISUSE_NO_POOL, table, NULL, EGB_NO_INDEX, site);
        return EGB_SLOTS_NO_INDEX_;
    }
    if (table->touched == table->count) {
        return EGB_SLOTS_NO_INDEX_;
    }
    const uint32_t index = table->touched++;
    if (index % EGB_LIVE_BITS_ == 0) {
        table->live[index / EGB_LIVE_BITS_] = 0;
    }
    table->generations[index] = table->base;
    return index;
}

// A generation that the slot has now or had before. It is odd, as that of every handle.
static bool was_given_out(const egb_slots* table, egb_slot handle)
{
    return handle.index < table->touched && handle.generation % 2u == 1u &&
           handle.generation > table->base && handle.generation <= table->generations[handle.index];
}

void egb_slots_refuse_(const egb_slots* table, egb_slot handle, const void* site)
{
    if (!slots_are_made(table)) {
        egb_report_(EGB_MISUSE_NO_POOL, table, NULL, EGB_NO_INDEX, site);
    } else if (handle.generation == 0 && handle.index == 0) {
        return;  // no element
    } else if (was_given_out(table, handle)) {
        egb_report_(
            EGB_MISUSE_DOUBLE_FREE, table, egb_slots_at_(table, handle.index), handle.index, site
        );
    } else {
        egb_report_(EGB_MISUSE_FOREIGN, table, NULL, EGB_NO_INDEX, site);
    }
}

// ---- limbo ----------------------------------------------------------------------------------

// Limbo is a queue by frame. A slot in it knows how many frames it comes after the one before it.
static void put_in_limbo(egb_slots* table, uint32_t index, uint64_t frame)
{
    table->links[index]  = 0;
    table->frames[index] = 0;
    if (table->limbo == 0) {
        table->limbo_first = index + 1u;
        table->oldest      = frame;
    } else {
        table->links[table->limbo_last - 1u] = index + 1u;
        table->frames[index]                 = (uint32_t)(frame - table->newest);
    }
    table->limbo_last = index + 1u;
    table->newest     = frame;
    table->limbo++;
}

egb_status egb_slots_retire(egb_slots* table, egb_slot handle, uint64_t frame)
{
    if (!egb_slots_contains(table, handle)) {
        egb_slots_refuse_(table, handle, EGB_CALLER());
        return slots_are_made(table) ? EGB_STALE : EGB_INVALID;
    }
    if (table->limbo != 0 && frame < table->newest) {
        frame = table->newest;
    }
    if (table->limbo != 0 && frame - table->newest > UINT32_MAX) {
        return EGB_LIMIT;
    }
    egb_slots_hide_(table, handle.index);
    put_in_limbo(table, handle.index, frame);
    return EGB_OK;
}

uint32_t egb_slots_due_(egb_slots* table, uint64_t frame)
{
    if (table->limbo == 0 || table->oldest >= frame) {
        return EGB_SLOTS_NO_INDEX_;
    }
    const uint32_t index = table->limbo_first - 1u;
    table->limbo--;
    table->limbo_first = table->links[index];
    if (table->limbo != 0) {
        table->oldest += table->frames[table->limbo_first - 1u];
    }
    return index;
}

size_t egb_slots_advance(egb_slots* table, uint64_t frame, egb_slots_visit_fn visit, void* user)
{
    size_t freed = 0;
    if (!slots_are_made(table)) {
        return freed;
    }
    for (uint32_t index; (index = egb_slots_due_(table, frame)) != EGB_SLOTS_NO_INDEX_; freed++) {
        if (visit != NULL) {
            visit(egb_slots_at_(table, index), user);
        }
        egb_slots_give_(table, index);
    }
    return freed;
}

// ---- questions ------------------------------------------------------------------------------

egb_slot egb_slots_handle(const egb_slots* table, const void* element)
{
    if (slots_are_made(table)) {
        const uintptr_t distance = (uintptr_t)element - (uintptr_t)table->elements;
        const uintptr_t index    = distance / table->stride;
        if (index < table->touched && index * table->stride == distance &&
            table->generations[index] % 2u == 1u) {
            return (egb_slot){(uint32_t)index, table->generations[index]};
        }
    }
    return EGB_SLOT_NONE;
}

size_t egb_slots_in_use(const egb_slots* table)
{
    return table != NULL ? table->in_use : 0;
}

size_t egb_slots_in_limbo(const egb_slots* table)
{
    return table != NULL ? table->limbo : 0;
}

size_t egb_slots_given_up(const egb_slots* table)
{
    return table != NULL ? table->given_up : 0;
}

size_t egb_slots_capacity(const egb_slots* table)
{
    return table != NULL ? table->count - table->given_up : 0;
}

// The length of a list of slots that are not live and not given up; SIZE_MAX if it is damaged.
static size_t length_of_slots(const egb_slots* table, uint32_t first)
{
    size_t length = 0;
    for (uint32_t at = first; at != 0; at = table->links[at - 1u]) {
        if (at > table->touched || table->generations[at - 1u] % 2u != 0 ||
            length++ == table->touched) {
            return SIZE_MAX;
        }
    }
    return length;
}

bool egb_slots_whole(const egb_slots* table)
{
    if (!slots_are_made(table) || table->touched > table->count) {
        return false;
    }
    size_t live = 0;
    for (uint32_t index = 0; index < table->touched; index++) {
        const size_t bit = table->live[index / EGB_LIVE_BITS_] >> index % EGB_LIVE_BITS_ & 1u;
        if (bit != table->generations[index] % 2u || table->generations[index] < table->base) {
            return false;
        }
        live += bit;
    }
    const uint32_t first = table->limbo != 0 ? table->limbo_first : 0;
    const size_t   free  = length_of_slots(table, table->free);
    return live == table->in_use && free != SIZE_MAX &&
           length_of_slots(table, first) == table->limbo &&
           live + free + table->limbo + table->given_up == table->touched;
}

// SPDX-License-Identifier: MIT
// Slots: init, fresh slots, limbo, misuse, and the questions. Their hot halves are in slots.h.
#include "eggbox/slots.h"

#include "fixed_private.h"

static bool slots_are_made(const egb_slots* slots)
{
    return slots != NULL && slots->elements != NULL;
}

// Whether `count` slots need at most SIZE_MAX bytes.
static bool slots_are_possible(size_t element_bytes, size_t count)
{
    const size_t beside = 4u * sizeof(uint32_t);  // 12 bytes and a bit, and what is rounded up
    return element_bytes <= SIZE_MAX - 4u * sizeof(size_t) - beside &&
           count <= (SIZE_MAX - 4u * sizeof(size_t)) / (element_bytes + beside);
}

static bool slots_overlap(uintptr_t start, size_t bytes, const egb_slots* slots)
{
    return start < (uintptr_t)slots + sizeof *slots && (uintptr_t)slots < start + bytes;
}

egb_status egb_slots_init(
    egb_slots* slots, void* memory, size_t memory_bytes, size_t element_bytes, size_t count
)
{
    const uintptr_t start = (uintptr_t)memory;
    if (slots == NULL || memory == NULL || element_bytes == 0 || count == 0 ||
        start % sizeof(size_t) != 0 || memory_bytes > UINTPTR_MAX - start) {
        return EGB_INVALID;
    }
    if (count > EGB_SLOTS_COUNT_MAX || !slots_are_possible(element_bytes, count)) {
        return EGB_LIMIT;
    }
    if (memory_bytes < EGB_SLOTS_BYTES(element_bytes, count) ||
        slots_overlap(start, memory_bytes, slots)) {
        return EGB_INVALID;
    }
    // Through void*: the sum is aligned for a size_t, as `memory` is.
    unsigned char* const  elements    = memory;
    void* const           behind      = elements + EGB_SLOTS_ROUND_(element_bytes * count);
    egb_live_word_* const live        = behind;
    egb_word* const       generations = (egb_word*)(live + EGB_SLOTS_LIVE_WORDS_(count));

    // One by one: a copy of the whole would need memcpy(), which core does not have.
    slots->elements    = elements;
    slots->live        = live;
    slots->generations = generations;
    slots->links       = generations + count;
    slots->frames      = generations + 2u * count;
    slots->stride      = element_bytes;
    slots->count       = (uint32_t)count;
    slots->touched     = 0;
    slots->free        = 0;
    slots->in_use      = 0;
    slots->given_up    = 0;
    slots->base        = 0;
    slots->limbo       = 0;
    slots->limbo_first = 0;
    slots->limbo_last  = 0;
    slots->oldest      = 0;
    slots->newest      = 0;
    return EGB_OK;
}

egb_status egb_slots_start_at(egb_slots* slots, uint32_t lives)
{
    if (!slots_are_made(slots) || lives >= EGB_SLOT_LIVES_MAX) {
        return EGB_INVALID;
    }
    if (slots->touched != 0) {
        return EGB_BUSY;
    }
    slots->base = lives * 2u;
    return EGB_OK;
}

uint32_t egb_slots_take_cold_(egb_slots* slots, const void* site)
{
    if (!slots_are_made(slots)) {
        egb_report_(EGB_MISUSE_NO_POOL, slots, NULL, EGB_NO_INDEX, site);
        return EGB_SLOTS_NO_INDEX_;
    }
    if (slots->touched == slots->count) {
        return EGB_SLOTS_NO_INDEX_;
    }
    const uint32_t index = slots->touched++;
    if (index % EGB_LIVE_BITS_ == 0) {
        slots->live[index / EGB_LIVE_BITS_] = 0;
    }
    slots->generations[index] = slots->base;
    return index;
}

// A generation that the slot has now or had before. It is odd, as that of every handle.
static bool was_given_out(const egb_slots* slots, egb_slot handle)
{
    return handle.index < slots->touched && handle.generation % 2u == 1u &&
           handle.generation > slots->base && handle.generation <= slots->generations[handle.index];
}

void egb_slots_refuse_(const egb_slots* slots, egb_slot handle, const void* site)
{
    if (!slots_are_made(slots)) {
        egb_report_(EGB_MISUSE_NO_POOL, slots, NULL, EGB_NO_INDEX, site);
    } else if (handle.generation == 0 && handle.index == 0) {
        return;  // no element
    } else if (was_given_out(slots, handle)) {
        egb_report_(
            EGB_MISUSE_DOUBLE_FREE, slots, egb_slots_at_(slots, handle.index), handle.index, site
        );
    } else {
        egb_report_(EGB_MISUSE_FOREIGN, slots, NULL, EGB_NO_INDEX, site);
    }
}

// ---- limbo ----------------------------------------------------------------------------------

// Limbo is a queue by frame. A slot in it knows how many frames it comes after the one before it.
static void put_in_limbo(egb_slots* slots, uint32_t index, uint64_t frame)
{
    slots->links[index]  = 0;
    slots->frames[index] = 0;
    if (slots->limbo == 0) {
        slots->limbo_first = index + 1u;
        slots->oldest      = frame;
    } else {
        slots->links[slots->limbo_last - 1u] = index + 1u;
        slots->frames[index]                 = (uint32_t)(frame - slots->newest);
    }
    slots->limbo_last = index + 1u;
    slots->newest     = frame;
    slots->limbo++;
}

egb_status egb_slots_retire(egb_slots* slots, egb_slot handle, uint64_t frame)
{
    if (!egb_slots_contains(slots, handle)) {
        egb_slots_refuse_(slots, handle, EGB_CALLER());
        return slots_are_made(slots) ? EGB_STALE : EGB_INVALID;
    }
    if (slots->limbo != 0 && frame < slots->newest) {
        frame = slots->newest;
    }
    if (slots->limbo != 0 && frame - slots->newest > UINT32_MAX) {
        return EGB_LIMIT;
    }
    egb_slots_hide_(slots, handle.index);
    put_in_limbo(slots, handle.index, frame);
    return EGB_OK;
}

uint32_t egb_slots_due_(egb_slots* slots, uint64_t frame)
{
    if (slots->limbo == 0 || slots->oldest >= frame) {
        return EGB_SLOTS_NO_INDEX_;
    }
    const uint32_t index = slots->limbo_first - 1u;
    slots->limbo--;
    slots->limbo_first = slots->links[index];
    if (slots->limbo != 0) {
        slots->oldest += slots->frames[slots->limbo_first - 1u];
    }
    return index;
}

size_t egb_slots_advance(egb_slots* slots, uint64_t frame, egb_slots_visit_fn visit, void* user)
{
    size_t freed = 0;
    if (!slots_are_made(slots)) {
        return freed;
    }
    for (uint32_t index; (index = egb_slots_due_(slots, frame)) != EGB_SLOTS_NO_INDEX_; freed++) {
        if (visit != NULL) {
            visit(egb_slots_at_(slots, index), user);
        }
        egb_slots_give_(slots, index);
    }
    return freed;
}

// ---- questions ------------------------------------------------------------------------------

egb_slot egb_slots_handle(const egb_slots* slots, const void* element)
{
    if (slots_are_made(slots)) {
        const uintptr_t distance = (uintptr_t)element - (uintptr_t)slots->elements;
        const uintptr_t index    = distance / slots->stride;
        if (index < slots->touched && index * slots->stride == distance &&
            slots->generations[index] % 2u == 1u) {
            return (egb_slot){(uint32_t)index, slots->generations[index]};
        }
    }
    return EGB_SLOT_NONE;
}

size_t egb_slots_in_use(const egb_slots* slots)
{
    return slots != NULL ? slots->in_use : 0;
}

size_t egb_slots_in_limbo(const egb_slots* slots)
{
    return slots != NULL ? slots->limbo : 0;
}

size_t egb_slots_given_up(const egb_slots* slots)
{
    return slots != NULL ? slots->given_up : 0;
}

size_t egb_slots_capacity(const egb_slots* slots)
{
    return slots != NULL ? slots->count - slots->given_up : 0;
}

// The length of a list of slots that are not live and not given up; SIZE_MAX if it is damaged.
static size_t length_of_slots(const egb_slots* slots, uint32_t first)
{
    size_t length = 0;
    for (uint32_t at = first; at != 0; at = slots->links[at - 1u]) {
        if (at > slots->touched || slots->generations[at - 1u] % 2u != 0 ||
            length++ == slots->touched) {
            return SIZE_MAX;
        }
    }
    return length;
}

bool egb_slots_whole(const egb_slots* slots)
{
    if (!slots_are_made(slots) || slots->touched > slots->count) {
        return false;
    }
    size_t live = 0;
    for (uint32_t index = 0; index < slots->touched; index++) {
        const size_t bit = slots->live[index / EGB_LIVE_BITS_] >> index % EGB_LIVE_BITS_ & 1u;
        if (bit != slots->generations[index] % 2u || slots->generations[index] < slots->base) {
            return false;
        }
        live += bit;
    }
    const uint32_t first = slots->limbo != 0 ? slots->limbo_first : 0;
    const size_t   free  = length_of_slots(slots, slots->free);
    return live == slots->in_use && free != SIZE_MAX &&
           length_of_slots(slots, first) == slots->limbo &&
           live + free + slots->limbo + slots->given_up == slots->touched;
}

// SPDX-License-Identifier: MIT
// Layer core: slots, equal elements that are named by generational handles, for one owner at a
// time.
//
//     memory: | element 0 | ... | element n-1 | live bits | generations | links | frames |
//
// A handle is an index and a generation, 8 bytes. The generation of a slot counts up by one when
// an element is inserted and again when the element is erased: odd generations are live. One
// comparison therefore finds a stale handle, for ever, because a slot is given up before its
// generation would start again: after 2^31 - 1 elements (EGB_SLOT_LIVES_MAX). Each slot that is
// given up makes the capacity smaller by one.
//
// Elements never move: pointers to an element are valid until the element is erased. A live bit
// for each slot makes the walk over live elements skip the others, a machine word at a time.
// Nothing is kept inside or around an element. A write to a dead element harms nobody.
//
// Limbo is for elements that someone else still reads, as a GPU reads those of the last frames. A
// retired element is no longer found, but its bytes stay until egb_slots_advance() has passed the
// frame.
//
// Threads  One at a time per egb_slots, for every call here.
// Cost     O(1), with no loop, lock, recursion or system call, unless a function says otherwise.
#ifndef EGGBOX_SLOTS_H
#define EGGBOX_SLOTS_H

#include "base.h"
#include "fixed.h"

EGB_C_BEGIN_

/// A handle: names an element for as long as the element lives, and nothing afterwards. All zero
/// (EGB_SLOT_NONE): no element. Two handles name the same element if both fields are equal.
typedef struct egb_slot {
    uint32_t index;
    uint32_t generation;
} egb_slot;

#if defined(__cplusplus)
  #define EGB_SLOT_NONE (egb_slot{0, 0})
#else
  #define EGB_SLOT_NONE ((egb_slot){0, 0})
#endif

/// The most slots of one egb_slots.
#define EGB_SLOTS_COUNT_MAX (UINT32_MAX - 1u)

/// How many elements a slot can hold one after another before it is given up.
#define EGB_SLOT_LIVES_MAX UINT32_C(0x7FFFFFFF)

/// How many bytes of memory `count` slots for elements of `element_bytes` need: the elements, 12
/// bytes and one bit for each, rounded up to machine words.
///
/// A constant expression. It is right if the number fits in a size_t: egb_slots_init() refuses
/// other arguments.
#define EGB_SLOTS_BYTES(element_bytes, count)                                        \
    (EGB_SLOTS_ROUND_(EGB_CAST_(size_t, element_bytes) * EGB_CAST_(size_t, count)) + \
     EGB_SLOTS_LIVE_WORDS_(count) * sizeof(size_t) +                                 \
     3u * sizeof(uint32_t) * EGB_CAST_(size_t, count))

/// Private: a machine word of live bits.
typedef EGB_MAY_ALIAS size_t egb_live_word_;

/// Slots. The struct is public so that the program can place it anywhere, and the compiler can
/// inline the hot path. Treat every field as private.
///
/// It refers to its memory by address. A program may copy or move it, and must then use only one
/// of the copies.
typedef struct egb_slots {
    unsigned char*  elements;     // NULL: not initialised
    egb_live_word_* live;         // a bit per touched slot
    egb_word*       generations;  // one for each touched slot: odd if live
    egb_word*       links;     // 1 + index of the next slot on the list of free ones, or in limbo
    egb_word*       frames;    // for slots in limbo: how many frames after the one before it
    size_t          stride;    // bytes from one element to the next
    uint32_t        count;     // slots
    uint32_t        touched;   // slots that were used at least once
    uint32_t        free;      // 1 + index of the slot freed last; 0: none
    uint32_t        in_use;    // live elements
    uint32_t        given_up;  // slots without a generation left
    uint32_t        base;      // generation of a slot before its first element; even
    uint32_t        limbo;     // elements in limbo
    uint32_t        limbo_first;  // 1 + index of the oldest in limbo
    uint32_t        limbo_last;   // 1 + index of the newest in limbo
    uint64_t        oldest;       // frame of limbo_first
    uint64_t        newest;       // frame of limbo_last
} egb_slots;

/// Makes `count` slots in `memory`, all empty.
///
/// `memory`         aligned for a size_t, and for the elements; stays the caller's.
/// `element_bytes`  the size of an element, a multiple of its alignment.
/// Returns  EGB_OK;
///          EGB_INVALID if `table` or `memory` is NULL, `memory` is not aligned for a size_t,
///          wraps around the address space or overlaps `*table`; `element_bytes` or `count` is 0;
///          `memory_bytes` is less than EGB_SLOTS_BYTES(element_bytes, count);
///          EGB_LIMIT if `count` is over EGB_SLOTS_COUNT_MAX, or the slots need more than SIZE_MAX
///          bytes. On anything but EGB_OK `*table` is unchanged.
/// Cost     O(1): neither reads nor writes `memory`. There is nothing to undo.
EGB_NODISCARD egb_status egb_slots_init(
    egb_slots* table, void* memory, size_t memory_bytes, size_t element_bytes, size_t count
);

/// Lets the generations start behind `lives` elements, as if each slot had held so many before. A
/// handle of other slots that started elsewhere is then stale here, until the generations meet.
///
/// Returns  EGB_OK; EGB_INVALID if `table` is not initialised, or `lives` is over
///          EGB_SLOT_LIVES_MAX - 1; EGB_BUSY if an element was inserted before.
EGB_NODISCARD egb_status egb_slots_start_at(egb_slots* table, uint32_t lives);

/// Inserts an element with unspecified contents: into the slot that was freed last, else into a
/// fresh one.
///
/// `handle`  set to the element's handle, or to EGB_SLOT_NONE. Not NULL.
/// Returns   the element; NULL when every slot is live, in limbo or given up.
/// Misuse    EGB_MISUSE_NO_POOL: returns NULL.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_slots_insert(egb_slots* table, egb_slot* handle);

/// The element; NULL if the handle is stale or none.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_slots_get(const egb_slots* table, egb_slot handle);

/// Says whether egb_slots_get() would find the element.
EGB_INLINE_PUBLIC bool egb_slots_contains(const egb_slots* table, egb_slot handle);

/// Erases the element. EGB_SLOT_NONE: no effect.
///
/// Returns  true if the element was there.
/// Misuse   refused, and nothing changes: EGB_MISUSE_NO_POOL; EGB_MISUSE_DOUBLE_FREE if the handle
///          is stale, its element in limbo included; EGB_MISUSE_FOREIGN if these slots never gave
///          out such a handle. A handle of other slots with the index and the generation of an
///          element here cannot be told from the handle of that element.
EGB_INLINE_PUBLIC bool egb_slots_erase(egb_slots* table, egb_slot handle);

/// Erases the element, but leaves its bytes in limbo until egb_slots_advance() passes `frame`, the
/// last frame that reads them. A frame before that of an earlier retire counts as that one.
///
/// Returns  EGB_OK; EGB_STALE if the handle is stale or none; EGB_LIMIT if `frame` is more than
///          2^32 - 1 after the newest frame in limbo. On anything but EGB_OK nothing changes.
/// Misuse   as egb_slots_erase(): the answer is then EGB_STALE, or EGB_INVALID for NO_POOL.
EGB_NODISCARD egb_status egb_slots_retire(egb_slots* table, egb_slot handle, uint64_t frame);

/// Called with each element that leaves limbo. May use the slots.
typedef void (*egb_slots_visit_fn)(void* element, void* user);

/// Says that every frame before `frame` is over: frees the slots of all elements that were retired
/// for these. `visit` sees each element before; NULL: nobody does.
///
/// Returns  how many slots it freed. `table` not initialised: 0.
/// Cost     O(slots freed).
size_t egb_slots_advance(egb_slots* table, uint64_t frame, egb_slots_visit_fn visit, void* user);

/// The live element behind `*at`, in order of index, and its handle in `*at`; NULL behind the last,
/// and `*at` is then EGB_SLOT_NONE. Begin with EGB_SLOT_NONE:
///
///     egb_slot at = EGB_SLOT_NONE;
///     for (bullet* b; (b = egb_slots_next(&bullets, &at)) != NULL;) { ... }
///
/// Any element may be erased or retired meanwhile, that of `*at` included. An element that is
/// inserted meanwhile is found in this walk if its index is behind that of `*at`, else not.
/// Cost     O(slots / bits of a machine word) for a whole walk, and O(1) for each element.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_slots_next(const egb_slots* table, egb_slot* at);

/// The handle of a live element, from its address; EGB_SLOT_NONE if no live element begins there.
/// Never reads through `element`. One division.
egb_slot egb_slots_handle(const egb_slots* table, const void* element);

/// Live elements; elements in limbo; slots given up; slots that can be used, live or not. All 0 if
/// `table` is not initialised.
size_t egb_slots_in_use(const egb_slots* table);
size_t egb_slots_in_limbo(const egb_slots* table);
size_t egb_slots_given_up(const egb_slots* table);
size_t egb_slots_capacity(const egb_slots* table);

/// Checks every invariant, for tests and debugging: false if one does not hold, or `table` is not
/// initialised. O(touched slots).
bool egb_slots_whole(const egb_slots* table);

// ---- private: the hot halves ----------------------------------------------------------------

#define EGB_LIVE_BITS_         (sizeof(size_t) * 8u)
#define EGB_SLOTS_ROUND_(size) (((size) + sizeof(size_t) - 1u) / sizeof(size_t) * sizeof(size_t))
#define EGB_SLOTS_LIVE_WORDS_(count)                                                               \
    (EGB_CAST_(size_t, count) / EGB_LIVE_BITS_ + (EGB_CAST_(size_t, count) % EGB_LIVE_BITS_ != 0))

// The generation of a slot that is given up: even, and no handle's.
#define EGB_SLOT_GIVEN_UP_ (EGB_SLOT_LIVES_MAX * 2u)

#define EGB_SLOTS_NO_INDEX_ UINT32_MAX

EGB_COLD uint32_t egb_slots_take_cold_(egb_slots* table, const void* site);
EGB_COLD void     egb_slots_refuse_(const egb_slots* table, egb_slot handle, const void* site);

// The oldest slot in limbo whose frame is before `frame`, taken out of limbo; or none.
uint32_t egb_slots_due_(egb_slots* table, uint64_t frame);

// An element is inserted in two steps: take, and publish when the element is made. Between them the
// slot is on no list and not live. An element is erased in two steps, too: hide, and give back.

EGB_INLINE void* egb_slots_at_(const egb_slots* table, uint32_t index)
{
    return table->elements + (size_t)index * table->stride;
}

EGB_INLINE uint32_t egb_slots_take_(egb_slots* table)
{
    if (EGB_UNLIKELY(table->free == 0)) {
        return egb_slots_take_cold_(table, EGB_CALLER());
    }
    const uint32_t index = table->free - 1u;
    table->free          = table->links[index];
    return index;
}

EGB_INLINE egb_slot egb_slots_publish_(egb_slots* table, uint32_t index)
{
    const uint32_t generation = table->generations[index] + 1u;
    table->generations[index] = generation;
    table->live[index / EGB_LIVE_BITS_] |= (size_t)1 << index % EGB_LIVE_BITS_;
    table->in_use++;
    const egb_slot handle = {index, generation};
    return handle;
}

// From now on the handle is stale.
EGB_INLINE void egb_slots_hide_(egb_slots* table, uint32_t index)
{
    table->generations[index]++;
    table->live[index / EGB_LIVE_BITS_] &= ~((size_t)1 << index % EGB_LIVE_BITS_);
    table->in_use--;
}

EGB_INLINE void egb_slots_give_(egb_slots* table, uint32_t index)
{
    if (EGB_UNLIKELY(table->generations[index] == EGB_SLOT_GIVEN_UP_)) {
        table->given_up++;
        return;
    }
    table->links[index] = table->free;
    table->free         = index + 1u;
}

// One comparison tells live handles from stale ones. The lowest bit also refuses even generations,
// which no handle has.
EGB_INLINE bool egb_slots_has_(const egb_slots* table, egb_slot handle)
{
    return handle.index < table->touched &&
           ((table->generations[handle.index] ^ handle.generation) | (~handle.generation & 1u)) ==
               0;
}

EGB_INLINE unsigned egb_lowest_bit_(size_t bits)
{
#if EGB_HAS_GNU_C_
    return (unsigned)(sizeof bits > sizeof(unsigned) ? __builtin_ctzll(bits)
                                                     : __builtin_ctz((unsigned)bits));
#else
    unsigned bit = 0;
    while ((bits >> bit & 1u) == 0) {
        bit++;
    }
    return bit;
#endif
}

// The first live slot at or behind `index`, or none.
EGB_INLINE uint32_t egb_slots_live_from_(const egb_slots* table, uint32_t index)
{
    if (index >= table->touched) {
        return EGB_SLOTS_NO_INDEX_;
    }
    size_t       word = index / EGB_LIVE_BITS_;
    const size_t last = (table->touched - 1u) / EGB_LIVE_BITS_;
    size_t       bits = table->live[word] & ~(size_t)0 << index % EGB_LIVE_BITS_;
    while (bits == 0) {
        if (word == last) {
            return EGB_SLOTS_NO_INDEX_;
        }
        bits = table->live[++word];
    }
    return (uint32_t)(word * EGB_LIVE_BITS_ + egb_lowest_bit_(bits));
}

EGB_INLINE_PUBLIC void* egb_slots_insert(egb_slots* table, egb_slot* handle)
{
    const uint32_t index =
        EGB_LIKELY(table != NULL) ? egb_slots_take_(table) : egb_slots_take_cold_(table, NULL);
    if (EGB_UNLIKELY(index == EGB_SLOTS_NO_INDEX_)) {
        *handle = EGB_SLOT_NONE;
        return NULL;
    }
    *handle = egb_slots_publish_(table, index);
    return egb_slots_at_(table, index);
}

EGB_INLINE_PUBLIC bool egb_slots_contains(const egb_slots* table, egb_slot handle)
{
    return table != NULL && egb_slots_has_(table, handle);
}

EGB_INLINE_PUBLIC void* egb_slots_get(const egb_slots* table, egb_slot handle)
{
    return egb_slots_contains(table, handle) ? egb_slots_at_(table, handle.index) : NULL;
}

EGB_INLINE_PUBLIC bool egb_slots_erase(egb_slots* table, egb_slot handle)
{
    if (EGB_UNLIKELY(!egb_slots_contains(table, handle))) {
        egb_slots_refuse_(table, handle, EGB_CALLER());
        return false;
    }
    egb_slots_hide_(table, handle.index);
    egb_slots_give_(table, handle.index);
    return true;
}

EGB_INLINE_PUBLIC void* egb_slots_next(const egb_slots* table, egb_slot* at)
{
    const uint32_t from  = (at->generation & 1u) == 0 ? 0 : at->index + 1u;
    const uint32_t index = table != NULL ? egb_slots_live_from_(table, from) : EGB_SLOTS_NO_INDEX_;
    if (index == EGB_SLOTS_NO_INDEX_) {
        *at = EGB_SLOT_NONE;
        return NULL;
    }
    at->index      = index;
    at->generation = table->generations[index];
    return egb_slots_at_(table, index);
}

EGB_C_END_

#endif  // EGGBOX_SLOTS_H

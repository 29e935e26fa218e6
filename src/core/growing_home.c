// SPDX-License-Identifier: MIT
// The free blocks of a chunk with states. No list leads from one to the next: a bit in the state of
// a block says that it is at home, with its chunk, and those that are at home are handed out in
// order of address, however they came back. A list hands them out in the order of the frees, which
// after a while is no order at all: a program that walks what it made then misses every cache.
// jemalloc finds the free regions of a slab in order, too, by a bitmap (Evans, BSDCan 2006).
//
// The blocks of a chunk stand in equal groups, no more than a word has bits, and one word says in
// which groups some are at home: so only groups that blocks are taken from are looked through.
#include "growing_private.h"

// ---- marks --------------------------------------------------------------------------------------

// A block at home is marked as one of a list is, so that a write to it is noticed: in both words
// where a list has a link and a mark, or in the only one. They are zero when it leaves: so a block
// that was zero, and that nobody had, is zero again.
static void set_marks(egb_word* words, size_t stride, egb_word mark)
{
    words[0] = mark;
    if (stride != 1) {
        words[1] = mark;
    }
}

static bool has_marks(const egb_word* words, size_t stride)
{
    return words[0] == EGB_FIXED_MARK_ && (stride == 1 || words[1] == EGB_FIXED_MARK_);
}

// ---- states -------------------------------------------------------------------------------------

// A byte is written by who has the pool while its bit is set, by others while it is not; and they
// write next to each other. So each access is atomic, also those to several bytes at once.
static void set_state(const egb_shape_* shape, size_t index, unsigned state)
{
    __atomic_store_n(&shape->states[index], (unsigned char)state, __ATOMIC_RELAXED);
}

typedef size_t __attribute__((may_alias)) egb_states;

// Whether none of the states of this word has the bit. It may reach behind the last one, but not
// into the header, which starts where a word does.
static bool is_nobody_home(const unsigned char* states)
{
    const size_t bits = SIZE_MAX / 0xff * EGB_STATE_HOME_;
    return (__atomic_load_n((const egb_states*)(const void*)states, __ATOMIC_RELAXED) & bits) == 0;
}

// The first block from `index` on that is at home; if there is none, `end` or more.
static size_t next_home(const egb_shape_* shape, size_t index, size_t end)
{
    while (index < end) {
        const unsigned char* const state   = shape->states + index;
        const bool                 is_word = (uintptr_t)state % sizeof(egb_states) == 0;
        if (is_word && is_nobody_home(state)) {
            index += sizeof(egb_states);
        } else if (egb_is_home(shape, index)) {
            return index;
        } else {
            index++;
        }
    }
    return index;
}

// ---- groups -------------------------------------------------------------------------------------

// Of 8 blocks: their states are looked at as one word anyway.
enum { LEAST_GROUP = 3 };

void egb_home_plan(egb_shape_* shape)
{
    const size_t groups = sizeof(size_t) * 8;
    shape->group        = LEAST_GROUP;
    while (((size_t)shape->blocks - 1) >> shape->group >= groups) {
        shape->group++;
    }
}

static size_t group_bit(const egb_shape_* shape, size_t index)
{
    return (size_t)1 << (index >> shape->group);
}

// The first group that has blocks at home: there is one.
static size_t first_group(const egb_chunk_* chunk)
{
    return (size_t)EGB_FIXED_SHIFT_(chunk->groups);
}

static size_t end_of_group(const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched(&chunk->fixed);
    return egb_smaller((first_group(chunk) + 1) << chunk->shape.group, touched);
}

// No block of the first group in front of this one is at home any more. Behind its end: none is.
static void go_on_at(egb_chunk_* chunk, size_t index, size_t end)
{
    chunk->lowest = index;
    if (index >= end) {
        chunk->groups &= chunk->groups - 1;
    }
}

// ---- blocks in and out --------------------------------------------------------------------------

size_t egb_home_put(egb_chunk_* chunk, void* const* blocks, size_t count)
{
    const egb_shape_ shape   = chunk->shape;  // a copy is in registers: no block can be part of it
    const size_t     stride  = chunk->fixed.stride;
    const size_t     touched = egb_fixed_count_touched(&chunk->fixed);
    size_t           groups  = chunk->groups;
    size_t           lowest  = groups == 0 ? touched : chunk->lowest;
    size_t           put     = 0;
    for (size_t i = 0; i < count && put < chunk->in_use; i++) {
        const size_t index = egb_shape_index_(&shape, blocks[i]);
        if (index >= touched || egb_is_home(&shape, index)) {
            continue;
        }
        set_marks((egb_word*)blocks[i], stride, EGB_FIXED_MARK_);
        set_state(&shape, index, egb_state_at(&shape, index) | EGB_STATE_HOME_);
        groups |= group_bit(&shape, index);
        lowest = egb_smaller(lowest, index);
        put++;
    }
    chunk->groups = groups;
    chunk->lowest = lowest;
    return put;
}

// Takes blocks of the first group that has some, and leaves it if it has no more.
//
// The marks go, or a block that nobody has written to could be taken for one at home when a write
// behind the last block has set its bit.
static size_t take_of_group(egb_chunk_* chunk, void** blocks, size_t count)
{
    const egb_shape_ shape  = chunk->shape;
    const size_t     stride = chunk->fixed.stride;
    egb_word* const  first  = chunk->fixed.first;
    const size_t     group  = first_group(chunk);
    const size_t     end    = end_of_group(chunk);
    size_t           index  = egb_larger(chunk->lowest, group << shape.group);
    size_t           taken  = 0;
    while ((index = next_home(&shape, index, end)) < end && taken < count) {
        egb_word* const words = first + index * stride;
        if (!has_marks(words, stride)) {
            break;
        }
        set_marks(words, stride, 0);
        set_state(&shape, index, egb_state_at(&shape, index));
        blocks[taken++] = words;
        index++;
    }
    go_on_at(chunk, index, end);
    return taken;
}

// Where groups are long there is none after the first that has some: a call looks through one.
size_t egb_home_take(egb_chunk_* chunk, void** blocks, size_t count)
{
    size_t taken = 0;
    while (taken < count && chunk->groups != 0) {
        const size_t groups = chunk->groups;
        taken += take_of_group(chunk, blocks + taken, count - taken);
        if (chunk->groups == groups) {
            break;  // it has more: that is enough, or the next one was written to
        }
        if (taken != 0 && egb_has_long_groups(chunk)) {
            break;
        }
    }
    return taken;
}

size_t egb_home_strike(egb_chunk_* chunk, const void** first)
{
    *first = NULL;
    if (chunk->groups == 0) {
        return 0;
    }
    const egb_shape_ shape  = chunk->shape;
    const size_t     stride = chunk->fixed.stride;
    const size_t     end    = end_of_group(chunk);
    size_t           index  = chunk->lowest;
    size_t           struck = 0;
    *first                  = chunk->fixed.first + index * stride;
    do {
        set_state(&shape, index, egb_state_at(&shape, index));
        struck++;
        index = next_home(&shape, index + 1, end);
    } while (index < end && !has_marks(chunk->fixed.first + index * stride, stride));
    go_on_at(chunk, index, end);
    return struck;
}

// Nothing is written to a block that is zero, as its page may not be there yet. Another one could
// have marks from an earlier life.
void* egb_home_take_fresh(egb_chunk_* chunk)
{
    egb_fixed* const fixed  = &chunk->fixed;
    const uint32_t   index  = egb_fixed_count_touched(fixed);
    egb_word* const  block  = egb_fixed_take_fresh(fixed, index);
    const size_t     before = (uintptr_t)block - (uintptr_t)chunk->region;
    if (block == NULL) {
        return NULL;
    }
    if (before < chunk->touched_before) {
        block[0] = 0;
    }
    if (fixed->mode == EGB_FIXED_MARKED_) {
        fixed->limit++;
    }
    set_state(&chunk->shape, index, 0);  // not read before: that would be a page fault more
    return block;
}

size_t egb_home_count(const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched(&chunk->fixed);
    size_t       count   = 0;
    for (size_t index = next_home(&chunk->shape, 0, touched); index < touched;
         index        = next_home(&chunk->shape, index + 1, touched)) {
        count++;
    }
    return count;
}

bool egb_home_whole(const egb_chunk_* chunk)
{
    const egb_shape_* const shape   = &chunk->shape;
    const size_t            touched = egb_fixed_count_touched(&chunk->fixed);
    const size_t            stride  = chunk->fixed.stride;
    size_t                  index   = next_home(shape, 0, touched);
    bool                    whole   = index >= touched || index >= chunk->lowest;
    for (; whole && index < touched; index = next_home(shape, index + 1, touched)) {
        whole = (chunk->groups & group_bit(shape, index)) != 0 &&
                has_marks(chunk->fixed.first + index * stride, stride);
    }
    return whole;
}

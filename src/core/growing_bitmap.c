// SPDX-License-Identifier: MIT
// The free blocks of a chunk with states. No list leads from one to the next: a bit in the state of
// a block says that it is at home, with its chunk, and those that are at home are handed out in
// order of address, however they came back. A list hands them out in the order of the frees, which
// after a while is no order at all. A program that walks its objects then misses every cache.
// jemalloc finds the free regions of a slab in order, too, by a bitmap (Evans, BSDCan 2006).
//
// The blocks of a chunk stand in equal groups, no more than a word has bits, and one word says in
// which groups some are at home: so only groups that blocks are taken from are looked through.
#include "growing_private.h"

// ---- marks --------------------------------------------------------------------------------------

// Larger ones are not touched, see egb_touches_free_().
static bool wants_marks(size_t stride)
{
    return stride < EGB_UNMARKED_BYTES / sizeof(egb_word);
}

// A block at home is marked as one of a list is, so that a write to it is noticed: in both words
// where a list has a link and a mark, or in the only one. They are zero when it leaves: so a block
// that was zero, and that nobody had, is zero again.
static void set_marks(egb_word* words, size_t stride, egb_word mark)
{
    if (!wants_marks(stride)) {
        return;
    }
    words[0] = mark;
    if (stride != 1) {
        words[1] = mark;
    }
}

// If the pages of a block went, either word of it may be zero.
static bool is_mark(egb_word word, bool is_gone)
{
    return word == EGB_FIXED_MARK_ || (is_gone && word == 0);
}

static bool has_marks(const egb_word* words, size_t stride, bool is_gone)
{
    return !wants_marks(stride) ||
           (is_mark(words[0], is_gone) && (stride == 1 || is_mark(words[1], is_gone)));
}

// ---- states -------------------------------------------------------------------------------------

// The owner of the pool writes a byte while its bit is set, other threads while it is not, and they
// write next to each other. Each access is therefore atomic, also the accesses to several bytes at
// once.
static void set_state(const egb_shape_* shape, size_t index, unsigned state)
{
    __atomic_store_n(&shape->states[index], (unsigned char)state, __ATOMIC_RELAXED);
}

static unsigned get_state(const egb_shape_* shape, size_t index)
{
    return __atomic_load_n(&shape->states[index], __ATOMIC_RELAXED);
}

// A block that nobody had since it was fresh is zero, and its page may not be there: it gets no
// marks.
static const unsigned UNTOUCHED = EGB_STATE_IN_CHUNK_ | EGB_STATE_UNUSED_;

// Whether a block with this state may be handed out, which is at home. If someone wrote to it or to
// its state it may not: it could be in use.
static bool is_sound(unsigned state, const egb_word* words, size_t stride)
{
    const unsigned home    = EGB_STATE_IN_CHUNK_;
    const bool     is_gone = (state & EGB_STATE_GONE_) != 0;
    return state == UNTOUCHED || ((state & EGB_STATE_OWN_ & ~EGB_STATE_GONE_) == home &&
                                  has_marks(words, stride, is_gone));
}

// A page that the system has taken would come back twice if it were read first: for the read of the
// marks, and for a write. A word behind them is therefore written, which means nothing in a free
// block.
static void bring_back(unsigned state, egb_word* words, size_t stride)
{
    enum { MARKED_WORDS = 2 };
    if ((state & EGB_STATE_GONE_) != 0 && wants_marks(stride) && stride > MARKED_WORDS) {
        *(volatile egb_word*)&words[MARKED_WORDS] = 0;
    }
}

bool egb_bitmap_is_sound_(const egb_chunk_* chunk, size_t index)
{
    const size_t stride = chunk->fixed.stride;
    return is_sound(get_state(&chunk->shape, index), chunk->fixed.first + index * stride, stride);
}

// The position of the lowest set bit. At least one is set.
static inline size_t lowest_bit(size_t bits)
{
    return (size_t)(sizeof bits == 8 ? __builtin_ctzll(bits) : __builtin_ctz((unsigned)bits));
}

// A word that was loaded: the byte with the lowest address becomes the one with the lowest bits.
static inline size_t first_byte_lowest(size_t word)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        return word;
    }
    return sizeof word == 8 ? (size_t)__builtin_bswap64(word) : __builtin_bswap32((uint32_t)word);
}

// A walk along the states that finds the blocks at home, a word of them at a time.
typedef struct egb_homes {
    const unsigned char* states;
    size_t               end;    // looks no further than the word that this index is in
    size_t               index;  // index of the first state in the current word
    size_t               width;  // states in it
    size_t               left;   // a bit in a byte for each that is still to be found
} egb_homes;

static egb_homes homes_from(const egb_shape_* shape, size_t index, size_t end)
{
    const egb_homes walk = {shape->states, end, index, 0, 0};
    return walk;
}

typedef size_t __attribute__((may_alias)) egb_states;

// In front of the first word there are single states. The last word ends where the header starts.
EGB_INLINE void check_word(egb_homes* walk)
{
    const unsigned char* const state = walk->states + walk->index;
    size_t                     word;
    if ((uintptr_t)state % sizeof(egb_states) != 0) {
        word        = __atomic_load_n(state, __ATOMIC_RELAXED);
        walk->width = 1;
    } else {
        word        = __atomic_load_n((const egb_states*)(const void*)state, __ATOMIC_RELAXED);
        word        = first_byte_lowest(word);
        walk->width = sizeof(egb_states);
    }
    walk->left = word & SIZE_MAX / 0xff * EGB_STATE_IN_CHUNK_;
}

// The next block that is at home; if there is none, the walk's end or more.
EGB_INLINE size_t next_home(egb_homes* walk)
{
    while (walk->left == 0) {
        walk->index += walk->width;
        if (walk->index >= walk->end) {
            walk->width = 0;
            return walk->end;
        }
        check_word(walk);
    }
    const size_t index = walk->index + lowest_bit(walk->left) / 8;
    walk->left &= walk->left - 1;
    return index;
}

// ---- groups -------------------------------------------------------------------------------------

// A group has at least 8 blocks, because their states are read as one word anyway.
enum { LEAST_GROUP = 3 };

void egb_bitmap_plan_(egb_shape_* shape)
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
    return lowest_bit(chunk->groups);
}

static size_t end_of_group(const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched_(&chunk->fixed);
    return egb_smaller_((first_group(chunk) + 1) << chunk->shape.group, touched);
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

size_t egb_bitmap_put_(egb_chunk_* chunk, void* const* blocks, size_t count)
{
    const egb_shape_ shape   = chunk->shape;  // a copy is in registers: no block can be part of it
    const size_t     stride  = chunk->fixed.stride;
    const size_t     touched = egb_fixed_count_touched_(&chunk->fixed);
    size_t           groups  = chunk->groups;
    size_t           lowest  = groups == 0 ? touched : chunk->lowest;
    size_t           put     = 0;
    for (size_t i = 0; i < count && put < chunk->in_use; i++) {
        const size_t index = egb_shape_index_(&shape, blocks[i]);
        if (index >= touched) {
            continue;
        }
        const unsigned state = get_state(&shape, index);
        if ((state & EGB_STATE_IN_CHUNK_) != 0) {
            continue;
        }
        if ((state & EGB_STATE_UNUSED_) == 0) {
            set_marks((egb_word*)blocks[i], stride, EGB_FIXED_MARK_);
        }
        set_state(&shape, index, state | EGB_STATE_IN_CHUNK_);
        groups |= group_bit(&shape, index);
        lowest = egb_smaller_(lowest, index);
        put++;
    }
    chunk->groups = groups;
    chunk->lowest = lowest;
    return put;
}

// Notes that `gone` blocks, whose pages went, are at home no more. Their states were in the
// program's reach.
static void count_back(const egb_chunk_* chunk, size_t gone)
{
    chunk->owner->gone -= egb_smaller_(gone, chunk->owner->gone);
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
    egb_homes walk  = homes_from(&shape, egb_larger_(chunk->lowest, group << shape.group), end);
    size_t    index = next_home(&walk);
    size_t    taken = 0;
    size_t    gone  = 0;
    while (index < end && taken < count) {
        egb_word* const words = first + index * stride;
        const unsigned  state = get_state(&shape, index);
        bring_back(state, words, stride);
        if (!is_sound(state, words, stride)) {
            break;
        }
        if (state != UNTOUCHED) {
            set_marks(words, stride, 0);
        }
        set_state(&shape, index, state & ~(EGB_STATE_IN_CHUNK_ | EGB_STATE_GONE_));
        gone += state / EGB_STATE_GONE_ % 2;
        blocks[taken++] = words;
        index           = next_home(&walk);
    }
    go_on_at(chunk, index, end);
    count_back(chunk, gone);
    return taken;
}

// If groups are long, a call looks through one group only.
size_t egb_bitmap_take_(egb_chunk_* chunk, void** blocks, size_t count)
{
    size_t taken = 0;
    while (taken < count && chunk->groups != 0) {
        const size_t groups = chunk->groups;
        taken += take_of_group(chunk, blocks + taken, count - taken);
        if (chunk->groups == groups) {
            break;  // it has more: that is enough, or the next one was written to
        }
        if (taken != 0 && egb_has_long_groups_(chunk)) {
            break;
        }
    }
    return taken;
}

void egb_bitmap_note_use_(const egb_shape_* shape, const void* block)
{
    const size_t index = egb_shape_index_(shape, block);
    set_state(shape, index, get_state(shape, index) & ~EGB_STATE_UNUSED_);
}

size_t egb_bitmap_write_off_(egb_chunk_* chunk, const void** first)
{
    *first = NULL;
    if (chunk->groups == 0) {
        return 0;
    }
    const egb_shape_ shape  = chunk->shape;
    const size_t     stride = chunk->fixed.stride;
    egb_word* const  at     = chunk->fixed.first;
    const size_t     end    = end_of_group(chunk);
    size_t           index  = chunk->lowest;
    egb_homes        walk   = homes_from(&shape, index + 1, end);
    size_t           struck = 0;
    size_t           gone   = 0;
    *first                  = at + index * stride;
    do {
        gone += get_state(&shape, index) / EGB_STATE_GONE_ % 2;
        set_state(&shape, index, egb_state_at_(&shape, index));
        struck++;
        index = next_home(&walk);
    } while (index < end && !is_sound(get_state(&shape, index), at + index * stride, stride));
    go_on_at(chunk, index, end);
    count_back(chunk, gone);
    return struck;
}

// Nothing is written to a block that is zero, as its page may not be there yet. Another one could
// have marks from an earlier life. States are not read before: that would be a page fault more.
size_t egb_bitmap_take_fresh_(egb_chunk_* chunk, void** blocks, size_t count, unsigned state)
{
    egb_fixed* const fixed   = &chunk->fixed;
    const egb_shape_ shape   = chunk->shape;  // a copy is in registers: no block can be part of it
    const size_t     stride  = fixed->stride;
    const size_t     touched = egb_fixed_count_touched_(fixed);
    const uintptr_t  region  = (uintptr_t)chunk->range.start;
    const size_t     before  = wants_marks(stride) ? chunk->touched_before : 0;
    egb_word*        block   = fixed->first + touched * stride;
    size_t           taken   = 0;
    for (; taken < count && touched + taken < shape.blocks; taken++) {
        if ((uintptr_t)block - region < before) {
            block[0] = 0;
        }
        set_state(&shape, touched + taken, state);
        blocks[taken] = block;
        block += stride;
    }
    egb_fixed_touch_(fixed, touched + taken);
    return taken;
}

size_t egb_bitmap_count_(const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched_(&chunk->fixed);
    egb_homes    walk    = homes_from(&chunk->shape, 0, touched);
    size_t       count   = 0;
    while (next_home(&walk) < touched) {
        count++;
    }
    return count;
}

size_t egb_bitmap_gone_(const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched_(&chunk->fixed);
    egb_homes    walk    = homes_from(&chunk->shape, 0, touched);
    size_t       gone    = 0;
    for (size_t index = next_home(&walk); index < touched; index = next_home(&walk)) {
        gone += get_state(&chunk->shape, index) / EGB_STATE_GONE_ % 2;
    }
    return gone;
}

bool egb_bitmap_whole_(const egb_chunk_* chunk)
{
    const egb_shape_* const shape   = &chunk->shape;
    const size_t            stride  = chunk->fixed.stride;
    const size_t            touched = egb_fixed_count_touched_(&chunk->fixed);
    egb_homes               walk    = homes_from(shape, 0, touched);
    size_t                  index   = next_home(&walk);
    bool                    whole   = index >= touched || index >= chunk->lowest;
    for (; whole && index < touched; index = next_home(&walk)) {
        whole = (chunk->groups & group_bit(shape, index)) != 0 &&
                is_sound(get_state(shape, index), chunk->fixed.first + index * stride, stride);
    }
    return whole;
}

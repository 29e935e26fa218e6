// SPDX-License-Identifier: MIT
// Every sequence of STEPS calls on a small pool of the shipped code, against a model of it.
//
// Given by -D: MODE (as in fixed.h), BLOCKS, WORDS (of a block), STEPS; DAMAGE: users also write to
// blocks after their free, and the model promises less.
#include "eggbox/fixed.h"

enum { has_bits = MODE == 2 || MODE == 3 };

enum { guard = 2, tail = WORDS > 1 ? 1 : 0, region = BLOCKS * WORDS + tail };

enum { all = guard + region + guard, all_bytes = all * 4 };

typedef enum block_state { fresh, freed, used } block_state;

// The region, with memory of others on both sides.
static egb_word memory[all];
static uint32_t live[EGB_FIXED_OUTSIDE_BYTES(BLOCKS) / 4];
static int      elsewhere;

// One word, any one, is watched: no call may write to a block in use, fresh memory, or around; if
// the list is outside, to no block at all.
static unsigned watched;
static uint32_t before;

static egb_fixed        pool;
static block_state      model[BLOCKS];
static unsigned         stack[BLOCKS];  // the free blocks, the newest last
static unsigned         free_count, touched_count;
static unsigned         events;
static egb_misuse_event last;

unsigned nondet_unsigned(void);
uint32_t nondet_word(void);

// The address of the caller: any address.
void* __builtin_return_address(unsigned level)
{
    (void)level;
    return &elsewhere;
}

void egb_misuse(const egb_misuse_event* event)
{
    events++;
    last = *event;
}

// Any number below `end`.
static unsigned pick(unsigned end)
{
    const unsigned number = nondet_unsigned();
    __CPROVER_assume(number < end);
    return number;
}

static egb_word* block_at(unsigned index)
{
    return memory + guard + index * WORDS;
}

static void check(bool truth)
{
    __CPROVER_assert(truth, "the pool is as the model");
}

static void check_untouched(void)
{
    check(MODE != 3 || memory[watched] == before);
}

static void check_event(egb_misuse_kind kind, const void* address, size_t index)
{
    check(events == 1 && last.kind == kind && last.pool == &pool);
    check(last.address == address && last.block_index == index);
}

static void alloc(void)
{
    egb_word* const block =
        (egb_word*)(MODE == 4 ? egb_fixed_alloc_unchecked(&pool) : egb_fixed_alloc(&pool));
    check_untouched();
#if DAMAGE
    if (block != NULL) {
        const size_t offset = (size_t)(block - (memory + guard));
        check(offset % WORDS == 0 && offset / WORDS < BLOCKS);
        // Only live bits know which blocks are free, whatever was written.
        check(!has_bits || model[offset / WORDS] != used);
        if (model[offset / WORDS] == freed) {
            free_count--;
        }
        model[offset / WORDS] = used;
    } else {
        check(!has_bits || (free_count == 0 && egb_fixed_touched(&pool) == BLOCKS));
    }
    check(events == 0 || (events == 1 && last.kind == EGB_MISUSE_OVERWRITTEN));
#else
    check(events == 0);
    if (free_count == 0 && touched_count == BLOCKS) {
        check(block == NULL);
        return;
    }
    const unsigned index = free_count > 0 ? stack[--free_count] : touched_count++;
    check(block == block_at(index));
    check(model[index] != used);
    model[index] = used;
#endif
    if (block != NULL) {
        for (unsigned i = 0; i < WORDS; i++) {
            block[i] = nondet_word();  // its user writes anything
        }
    }
}

static void release(unsigned index)
{
    model[index]        = freed;
    stack[free_count++] = index;
}

static void free_valid(void)
{
    const unsigned index = pick(BLOCKS);
    if (model[index] != used) {
        return;
    }
    egb_fixed_free_unchecked(&pool, block_at(index));
    release(index);
}

// The free of any address: every byte in and around the region, NULL, another object.
static void free_anything(void)
{
    const unsigned at    = pick(all_bytes + 2);
    void* const    where = at < all_bytes    ? (void*)((char*)memory + at)
                           : at == all_bytes ? NULL
                                             : (void*)&elsewhere;
    const unsigned byte  = at - guard * 4;  // a large number if it is before block 0
    const unsigned index = byte / (WORDS * 4);
    const bool     block = byte < BLOCKS * WORDS * 4 && byte % (WORDS * 4) == 0;

    egb_fixed_free(&pool, where);
    check_untouched();
    if (where == NULL) {
        check(events == 0);
    } else if (at >= all_bytes || byte >= BLOCKS * WORDS * 4) {
        check_event(EGB_MISUSE_FOREIGN, where, EGB_NO_INDEX);
    } else if (!block) {
        check_event(EGB_MISUSE_INTERIOR, where, EGB_NO_INDEX);
    } else if (model[index] == fresh) {
        check_event(EGB_MISUSE_NEVER_ALLOCATED, where, index);
    } else if (model[index] == used && !DAMAGE) {
        check(events == 0);
        release(index);
    } else if (!DAMAGE) {
        check_event(EGB_MISUSE_DOUBLE_FREE, where, index);
    } else if (has_bits) {
        check(events == (model[index] == freed));
        if (model[index] == used) {
            release(index);
        }
    } else if (events == 0) {
        model[index] = freed;
    }
}

static void clear(void)
{
    egb_fixed_clear(&pool);
    check_untouched();
    check(events == 0);
    free_count    = 0;
    touched_count = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        model[i] = fresh;
    }
}

static void damage(void)
{
    const unsigned index = pick(BLOCKS);
    if (model[index] == freed) {
        block_at(index)[pick(WORDS)] = nondet_word();
    }
}

static egb_status init(void)
{
    void* const start = memory + guard;
    switch (MODE) {
        case 2:
            return egb_fixed_init_checked(&pool, start, region * 4, WORDS * 4, live, sizeof live);
        case 3:
            return egb_fixed_init_outside(&pool, start, region * 4, WORDS * 4, live, sizeof live);
        case 4: return egb_fixed_init_unchecked(&pool, start, region * 4, WORDS * 4);
        default: return egb_fixed_init(&pool, start, region * 4, WORDS * 4);
    }
}

int main(void)
{
    __CPROVER_havoc_object(memory);
    __CPROVER_havoc_object(live);
    check(init() == EGB_OK && pool.mode == MODE);
    check(egb_fixed_whole(&pool) && egb_fixed_capacity(&pool) == BLOCKS);

    watched              = pick(all);
    const unsigned word  = watched - guard;
    const unsigned block = word / WORDS;

    for (unsigned step = 0; step < STEPS; step++) {
        const bool inside = word < BLOCKS * WORDS;
        const bool kept   = !inside || model[block] == used;

        before = memory[watched];
        events = 0;
        switch (pick(3 + DAMAGE)) {
            case 0: alloc(); break;
            case 1: MODE == 4 ? free_valid() : free_anything(); break;
            case 2: clear(); break;
            default: damage(); break;
        }
        if (kept && (!inside || model[block] == used)) {
            check(memory[watched] == before);
        }
#if !DAMAGE
        check(egb_fixed_in_use(&pool) == touched_count - free_count);
        check(egb_fixed_touched(&pool) == touched_count);
        check(egb_fixed_whole(&pool));
#else
        (void)egb_fixed_whole(&pool);
#endif
    }
    return 0;
}

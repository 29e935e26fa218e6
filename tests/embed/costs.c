// SPDX-License-Identifier: MIT
// The instructions of each call of the core, in the worst state for it, in pools of 8 and of 64.
//
// Goal:   calls that are O(1) take the same number whatever the size; the others are shown with
//         both numbers. The safety manual has the table: scripts/cost_table.py.
// Method: each row brings its pool into a state, and counts one call from its first instruction to
//         its return, included, as bench.c does. The handler of misuse is a return only.
#include "board.h"
#include "eggbox/growing.h"
#include "eggbox/slots.h"

enum { few = 8, many = 64, block_bytes = 16, header_bytes = 256 };

typedef enum pool_mode { MARKED, TINY, LIVE, OUTSIDE, UNCHECKED } pool_mode;

// Fresh: no block was handed out. Half: half of the blocks are in use, one is free, others are
// fresh. Full: no block is left. Freed: all were handed out, and are free. Spoilt: as freed, and
// the newest free block was overwritten.
typedef enum pool_state { FRESH, HALF, FULL, FREED, SPOILT } pool_state;

static unsigned        count;
static pool_mode       mode;
static egb_fixed       pool;
static egb_growing     growing;
static egb_slots       slots;
static egb_slot        slot;
static void*           block;  // in use, or free: the argument of the call
static volatile size_t answer;
static uint64_t        region[(many * block_bytes + header_bytes + many) / 8];
static uint32_t        outside[EGB_FIXED_OUTSIDE_BYTES(many) / 4];
static size_t          memory[EGB_SLOTS_BYTES(block_bytes, many) / sizeof(size_t)];

__attribute__((naked)) void egb_misuse(const egb_misuse_event* event __attribute__((unused)))
{
    __asm__("bx lr");
}

// ---- states -----------------------------------------------------------------------------------

static size_t bytes_of_block(void)
{
    return mode == TINY ? EGB_WORD_BYTES : block_bytes;
}

static void call_init(void)
{
    const size_t bytes = bytes_of_block();
    const size_t all   = count * bytes;
    switch (mode) {
        case LIVE:
            answer = egb_fixed_init_checked(&pool, region, all, bytes, outside, sizeof outside);
            break;
        case OUTSIDE:
            answer = egb_fixed_init_outside(&pool, region, all, bytes, outside, sizeof outside);
            break;
        case UNCHECKED: answer = egb_fixed_init_unchecked(&pool, region, all, bytes); break;
        default: answer = egb_fixed_init(&pool, region, all, bytes); break;
    }
}

static void* take(void)
{
    return mode == UNCHECKED ? egb_fixed_alloc_unchecked(&pool) : egb_fixed_alloc(&pool);
}

static void give(void* it)
{
    mode == UNCHECKED ? egb_fixed_free_unchecked(&pool, it) : egb_fixed_free(&pool, it);
}

static void* block_at(unsigned index)
{
    return (char*)region + index * bytes_of_block();
}

static void prepare_fixed(pool_state state)
{
    call_init();
    CHECK(answer == EGB_OK);
    const unsigned taken = state == FRESH ? 0 : state == HALF ? count / 2 + 1 : count;
    for (unsigned i = 0; i < taken; i++) {
        block = take();
        CHECK(block == block_at(i));
    }
    for (unsigned i = 0; i < taken && state >= FREED; i++) {
        give(block_at(i));
    }
    if (state == HALF) {
        give(block_at(0));
    }
    if (state == SPOILT) {
        // Away from its own mark, its neighbours, and any list of addresses.
        *(uint32_t*)block = mode == UNCHECKED ? 0 : 0xEEEEEEEEu;
        (void)!take();  // it is handed out; the next call meets the damage
    }
    block = block_at(state == FREED ? 0 : 1);
}

static void prepare_growing(pool_state state)
{
    static egb_static_region   on;
    static egb_growing_options wanted;  // static: as a local one compilers clear it with memset()
    on.region          = region;
    on.bytes           = sizeof region;
    on.is_out          = false;
    wanted.block_bytes = block_bytes;
    wanted.max_blocks  = count;
    wanted.backing     = egb_static_backing(&on);
    CHECK(egb_growing_init(&growing, &wanted) == EGB_OK);
    const unsigned taken = state == FULL ? count : count / 2 + 1;
    void*          first = NULL;
    for (unsigned i = 0; i < taken; i++) {
        block = egb_growing_alloc(&growing);
        first = i == 0 ? block : first;
        CHECK(block != NULL);
    }
    if (state == HALF) {
        egb_growing_free(&growing, first);
    }
}

static void prepare_slots(pool_state state)
{
    CHECK(egb_slots_init(&slots, memory, sizeof memory, block_bytes, count) == EGB_OK);
    const unsigned taken = state == FRESH ? 0 : state == HALF ? count / 2 + 1 : count;
    egb_slot       first = EGB_SLOT_NONE;
    for (unsigned i = 0; i < taken; i++) {
        block = egb_slots_insert(&slots, &slot);
        first = i == 0 ? slot : first;
        CHECK(block != NULL);
    }
    if (state == HALF) {
        CHECK(egb_slots_erase(&slots, first));
    }
    if (state == FREED) {  // the first is in limbo
        CHECK(egb_slots_retire(&slots, first, 1) == EGB_OK);
    }
}

// ---- calls ------------------------------------------------------------------------------------

static void call_alloc(void)
{
    block = egb_fixed_alloc(&pool);
}

static void call_free(void)
{
    egb_fixed_free(&pool, block);
}

static void call_free_null(void)
{
    egb_fixed_free(&pool, NULL);
}

static void call_free_foreign(void)
{
    egb_fixed_free(&pool, &pool);
}

static void call_free_interior(void)
{
    egb_fixed_free(&pool, (char*)region + 2);
}

static void call_alloc_unchecked(void)
{
    block = egb_fixed_alloc_unchecked(&pool);
}

static void call_free_unchecked(void)
{
    egb_fixed_free_unchecked(&pool, block);
}

static void call_resize(void)
{
    answer = egb_fixed_resize(&pool, count * bytes_of_block());
}

static void call_clear(void)
{
    egb_fixed_clear(&pool);
}

static void call_owns(void)
{
    answer = egb_fixed_owns(&pool, block);
}

static void call_is_live(void)
{
    answer = egb_fixed_is_live(&pool, block);
}

static void call_peak(void)
{
    answer = egb_fixed_peak(&pool);
}

static void call_in_use(void)
{
    answer = egb_fixed_in_use(&pool);
}

static void call_growing_alloc(void)
{
    block = egb_growing_alloc(&growing);
}

static void call_growing_free(void)
{
    egb_growing_free(&growing, block);
}

static void call_slots_init(void)
{
    answer = egb_slots_init(&slots, memory, sizeof memory, block_bytes, count);
}

static void call_insert(void)
{
    block = egb_slots_insert(&slots, &slot);
}

static void call_get(void)
{
    block = egb_slots_get(&slots, slot);
}

static void call_erase(void)
{
    answer = egb_slots_erase(&slots, slot);
}

static void call_retire(void)
{
    answer = egb_slots_retire(&slots, slot, 1);
}

static void call_advance(void)
{
    answer = egb_slots_advance(&slots, 2, NULL, NULL);
}

static void call_handle(void)
{
    slot = egb_slots_handle(&slots, block);
}

// ---- the table --------------------------------------------------------------------------------

// A call that divides takes a bounded number more if the processor has no instruction for that.
typedef enum growth { SAME, DIVIDES, GROWS } growth;

typedef struct row {
    const char* name;
    void (*prepare)(pool_state state);
    pool_mode  mode;
    pool_state state;
    void (*call)(void);
    growth with_size;
} row;

#if defined(__ARM_FEATURE_IDIV)
enum { division_steps_max = 0 };
#else
enum { division_steps_max = 300 };  // in libgcc
#endif

static const row rows[] = {
    {"marks: init", prepare_fixed, MARKED, FRESH, call_init, DIVIDES},
    {"marks: alloc, recycled", prepare_fixed, MARKED, HALF, call_alloc, SAME},
    {"marks: alloc, fresh", prepare_fixed, MARKED, FRESH, call_alloc, SAME},
    {"marks: alloc, none left", prepare_fixed, MARKED, FULL, call_alloc, SAME},
    {"marks: alloc, list overwritten", prepare_fixed, MARKED, SPOILT, call_alloc, SAME},
    {"marks: free", prepare_fixed, MARKED, HALF, call_free, SAME},
    {"marks: free, NULL", prepare_fixed, MARKED, HALF, call_free_null, SAME},
    {"marks: free, foreign", prepare_fixed, MARKED, HALF, call_free_foreign, SAME},
    {"marks: free, interior", prepare_fixed, MARKED, HALF, call_free_interior, SAME},
    {"marks: free, second time", prepare_fixed, MARKED, FREED, call_free, GROWS},
    {"marks: resize", prepare_fixed, MARKED, HALF, call_resize, DIVIDES},
    {"marks: clear", prepare_fixed, MARKED, HALF, call_clear, SAME},
    {"marks: owns", prepare_fixed, MARKED, HALF, call_owns, SAME},
    {"marks: is_live", prepare_fixed, MARKED, HALF, call_is_live, SAME},
    {"marks: peak", prepare_fixed, MARKED, HALF, call_peak, SAME},
    {"marks: in_use", prepare_fixed, MARKED, FREED, call_in_use, GROWS},
    {"4 bytes: alloc, recycled", prepare_fixed, TINY, HALF, call_alloc, SAME},
    {"4 bytes: alloc, fresh", prepare_fixed, TINY, FRESH, call_alloc, SAME},
    {"4 bytes: free", prepare_fixed, TINY, HALF, call_free, SAME},
    {"4 bytes: free, second time", prepare_fixed, TINY, FREED, call_free, GROWS},
    {"live bits: init", prepare_fixed, LIVE, FRESH, call_init, DIVIDES},
    {"live bits: alloc, recycled", prepare_fixed, LIVE, HALF, call_alloc, SAME},
    {"live bits: alloc, fresh", prepare_fixed, LIVE, FRESH, call_alloc, SAME},
    {"live bits: alloc, none left", prepare_fixed, LIVE, FULL, call_alloc, SAME},
    {"live bits: alloc, list overwritten", prepare_fixed, LIVE, SPOILT, call_alloc, GROWS},
    {"live bits: free", prepare_fixed, LIVE, HALF, call_free, SAME},
    {"live bits: free, foreign", prepare_fixed, LIVE, HALF, call_free_foreign, SAME},
    {"live bits: free, second time", prepare_fixed, LIVE, FREED, call_free, SAME},
    {"live bits: in_use", prepare_fixed, LIVE, FREED, call_in_use, SAME},
    {"outside: init", prepare_fixed, OUTSIDE, FRESH, call_init, DIVIDES},
    {"outside: alloc, recycled", prepare_fixed, OUTSIDE, HALF, call_alloc, SAME},
    {"outside: free", prepare_fixed, OUTSIDE, HALF, call_free, SAME},
    {"outside: free, second time", prepare_fixed, OUTSIDE, FREED, call_free, SAME},
    {"unchecked: alloc, recycled", prepare_fixed, UNCHECKED, HALF, call_alloc_unchecked, SAME},
    {"unchecked: alloc, fresh", prepare_fixed, UNCHECKED, FRESH, call_alloc_unchecked, SAME},
    {"unchecked: alloc, none left", prepare_fixed, UNCHECKED, FULL, call_alloc_unchecked, SAME},
    {"unchecked: free", prepare_fixed, UNCHECKED, HALF, call_free_unchecked, SAME},
    {"growing: alloc, recycled", prepare_growing, MARKED, HALF, call_growing_alloc, SAME},
    {"growing: alloc, none left", prepare_growing, MARKED, FULL, call_growing_alloc, SAME},
    {"growing: free, one chunk", prepare_growing, MARKED, HALF, call_growing_free, SAME},
    {"slots: init", prepare_slots, MARKED, FRESH, call_slots_init, SAME},
    {"slots: insert, recycled", prepare_slots, MARKED, HALF, call_insert, SAME},
    {"slots: insert, fresh", prepare_slots, MARKED, FRESH, call_insert, SAME},
    {"slots: insert, none left", prepare_slots, MARKED, FULL, call_insert, SAME},
    {"slots: get", prepare_slots, MARKED, HALF, call_get, SAME},
    {"slots: erase", prepare_slots, MARKED, HALF, call_erase, SAME},
    {"slots: retire", prepare_slots, MARKED, HALF, call_retire, SAME},
    {"slots: advance, one in limbo", prepare_slots, MARKED, FREED, call_advance, SAME},
    {"slots: handle", prepare_slots, MARKED, HALF, call_handle, DIVIDES},
};

__attribute__((naked)) static void call_nothing(void)
{
    __asm__("bx lr");
}

__attribute__((noinline)) static uint32_t measure(void (*call)(void))
{
    const uint32_t before = BOARD_SYSTICK->current;
    call();
    const uint32_t after = BOARD_SYSTICK->current;
    return board_instructions(before, after);
}

static uint32_t cost_of(const row* it, unsigned blocks, uint32_t measuring)
{
    count = blocks;
    mode  = it->mode;
    it->prepare(it->state);
    return measure(it->call) - measuring;
}

static bool is_as_said(growth with_size, uint32_t small, uint32_t large)
{
    switch (with_size) {
        case GROWS: return small < large;
        case DIVIDES: return small <= large && large - small <= division_steps_max;
        default: return small == large;
    }
}

void board_main(void)
{
    board_count_start();
    const uint32_t measuring = measure(call_nothing) - 1;  // a return is one instruction
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t small = cost_of(&rows[i], few, measuring);
        const uint32_t large = cost_of(&rows[i], many, measuring);
        CHECK(small > 1 && is_as_said(rows[i].with_size, small, large));
        board_print_text(rows[i].name, 36);
        board_print_number(small, 8);
        board_print_number(large, 8);
        board_print("\n");
    }
}

// SPDX-License-Identifier: MIT
// The fixed pool on a machine without a system, in every mode, from static memory: fill, exhaust,
// free in several orders, and every kind of misuse.
//
// The argument `fail` adds a check that is not true, and `fault` an instruction that
// does not exist, so that it
// is known that a failure would be reported.
#include "board.h"
#include "eggbox/fixed.h"

enum { block_count = 33, block_bytes_max = 20, held_max = block_count };

// ---- the handler ------------------------------------------------------------------------------

static unsigned         event_count;
static egb_misuse_event last_event;

void egb_misuse(const egb_misuse_event* event)
{
    event_count++;
    last_event = *event;
}

// Exactly one misuse since the last call of this function, and this one.
static void
expect(egb_misuse_kind kind, const egb_fixed* pool, const void* address, size_t block_index)
{
    CHECK(event_count == 1);
    CHECK(last_event.kind == kind);
    CHECK(last_event.pool == pool);
    CHECK(last_event.address == address);
    CHECK(last_event.block_index == block_index);
    CHECK(last_event.site != NULL);
    event_count = 0;
}

// ---- the pools --------------------------------------------------------------------------------

typedef struct big {
    uint32_t words[block_bytes_max / 4];
} big;

EGB_FIXED_DEFINE(static_pool, big, block_count);

typedef enum way { way_marked, way_live, way_static, way_unchecked } way;

typedef struct shape {
    const char* name;
    way         made;
    uint32_t    block_bytes;
} shape;

static const shape shapes[] = {
    {"default check, 8 bytes", way_marked, 8},
    {"default check, 16 bytes", way_marked, 16},
    {"default check, 20 bytes", way_marked, 20},
    {"default check, 4 bytes", way_marked, 4},
    {"live bits, 16 bytes", way_live, 16},
    {"live bits, 12 bytes", way_live, 12},
    {"live bits, 4 bytes", way_live, 4},
    {"static, 20 bytes", way_static, 20},
    {"unchecked, 16 bytes", way_unchecked, 16},
    {"unchecked, 4 bytes", way_unchecked, 4},
};

// A pool under test: the same calls whatever its mode.
typedef struct subject {
    egb_fixed* pool;
    char*      first;
    uint32_t   block_bytes;
    way        made;
} subject;

static egb_fixed pool_object;
static uint32_t  region[EGB_FIXED_BYTES(block_bytes_max, block_count) / 4];
static uint32_t  live_bits[EGB_FIXED_LIVE_BYTES(block_count) / 4];

static egb_status make(const shape* wanted, size_t region_bytes)
{
    egb_fixed* const pool = &pool_object;
    switch (wanted->made) {
        case way_live:
            return egb_fixed_init_checked(
                pool, region, region_bytes, wanted->block_bytes, live_bits, sizeof live_bits
            );
        case way_unchecked:
            return egb_fixed_init_unchecked(pool, region, region_bytes, wanted->block_bytes);
        default: return egb_fixed_init(pool, region, region_bytes, wanted->block_bytes);
    }
}

static subject subject_of(const shape* wanted)
{
    if (wanted->made == way_static) {
        egb_fixed_clear(&static_pool);
        char* const first = egb_fixed_alloc(&static_pool);  // the first fresh block is block 0
        egb_fixed_clear(&static_pool);
        return (subject){&static_pool, first, wanted->block_bytes, wanted->made};
    }
    CHECK(make(wanted, (size_t)block_count * wanted->block_bytes) == EGB_OK);
    return (subject){&pool_object, (char*)region, wanted->block_bytes, wanted->made};
}

static void* take(const subject* it)
{
    return it->made == way_unchecked ? egb_fixed_alloc_unchecked(it->pool)
                                     : egb_fixed_alloc(it->pool);
}

static void give(const subject* it, void* block)
{
    if (it->made == way_unchecked) {
        egb_fixed_free_unchecked(it->pool, block);
    } else {
        egb_fixed_free(it->pool, block);
    }
    CHECK(egb_fixed_whole(it->pool));
}

static char* block_at(const subject* it, uint32_t index)
{
    return it->first + (size_t)index * it->block_bytes;
}

// ---- fill, exhaust, free in several orders ----------------------------------------------------

static void* held[held_max];

static uint32_t fill_word(uint32_t index, uint32_t word)
{
    return (index + 1) * UINT32_C(0x01010101) + word;
}

static void write_fill(const subject* it, uint32_t index)
{
    volatile uint32_t* const words = held[index];
    for (uint32_t word = 0; word < it->block_bytes / 4; word++) {
        words[word] = fill_word(index, word);
    }
}

// The caller's data is still there: no block overlaps another, and no call touched a block in use.
static void check_fill(const subject* it, uint32_t index)
{
    const volatile uint32_t* const words = held[index];
    for (uint32_t word = 0; word < it->block_bytes / 4; word++) {
        CHECK(words[word] == fill_word(index, word));
    }
}

static void take_all(const subject* it)
{
    for (uint32_t i = 0; i < block_count; i++) {
        held[i] = take(it);
        CHECK(held[i] != NULL && egb_fixed_owns(it->pool, held[i]));
        CHECK(egb_fixed_is_live(it->pool, held[i]));
        CHECK(egb_fixed_in_use(it->pool) == i + 1 && egb_fixed_whole(it->pool));
        write_fill(it, i);
    }
    CHECK(take(it) == NULL && take(it) == NULL);  // exhaustion is no misuse
    CHECK(event_count == 0 && egb_fixed_whole(it->pool));
    CHECK(egb_fixed_available(it->pool) == 0 && egb_fixed_peak(it->pool) == block_count);
}

// The order in which blocks are freed: forwards, backwards, even ones first, scattered.
enum { order_count = 4 };

static uint32_t in_order(unsigned order, uint32_t i)
{
    switch (order) {
        case 0: return i;
        case 1: return block_count - 1 - i;
        case 2: return i <= block_count / 2 ? 2 * i : 2 * (i - block_count / 2) - 1;
        default: return (i * 7 + 5) % block_count;  // 7 and 33 have no common divisor
    }
}

static void give_all(const subject* it, unsigned order)
{
    for (uint32_t i = 0; i < block_count; i++) {
        const uint32_t index = in_order(order, i);
        check_fill(it, index);
        give(it, held[index]);
        CHECK(it->made == way_unchecked || !egb_fixed_is_live(it->pool, held[index]));
        CHECK(egb_fixed_in_use(it->pool) == block_count - 1 - i);
    }
}

static void blocks_freed_last_come_first(const subject* it, unsigned order)
{
    for (uint32_t i = block_count; i-- > 0;) {
        void* const block = take(it);
        CHECK(block == held[in_order(order, i)]);
    }
    CHECK(take(it) == NULL && egb_fixed_in_use(it->pool) == block_count);
    for (uint32_t i = 0; i < block_count; i++) {
        give(it, held[i]);
    }
}

static void fills_and_empties(const subject* it)
{
    CHECK(egb_fixed_capacity(it->pool) == block_count);
    CHECK(egb_fixed_touched(it->pool) == 0 && egb_fixed_whole(it->pool));
    for (unsigned order = 0; order < order_count; order++) {
        take_all(it);
        give_all(it, order);
        blocks_freed_last_come_first(it, order);
    }
    egb_fixed_clear(it->pool);
    CHECK(egb_fixed_touched(it->pool) == 0 && take(it) == it->first);
    give(it, it->first);
    give(it, NULL);
    CHECK(event_count == 0);
}

// ---- misuse -----------------------------------------------------------------------------------

static void refused(const subject* it, void* address, egb_misuse_kind kind, size_t block_index)
{
    const size_t in_use = egb_fixed_in_use(it->pool);
    CHECK(!egb_fixed_is_live(it->pool, address) && event_count == 0);
    egb_fixed_free(it->pool, address);
    expect(kind, it->pool, address, block_index);
    CHECK(egb_fixed_whole(it->pool) && egb_fixed_in_use(it->pool) == in_use);
}

static void bad_frees_are_refused(const subject* it)
{
    static uint32_t elsewhere[4];
    egb_fixed_clear(it->pool);
    char* const a = take(it);
    char* const b = take(it);
    CHECK(a == it->first && b == block_at(it, 1));
    refused(it, elsewhere, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(it, it->first - 4, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(it, block_at(it, block_count), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(it, (void*)4, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(it, a + 1, EGB_MISUSE_INTERIOR, EGB_NO_INDEX);
    refused(it, b + it->block_bytes - 2, EGB_MISUSE_INTERIOR, EGB_NO_INDEX);
    refused(it, block_at(it, block_count) - 1, EGB_MISUSE_INTERIOR, EGB_NO_INDEX);
    if (it->block_bytes > 4) {
        refused(it, b + 4, EGB_MISUSE_INTERIOR, EGB_NO_INDEX);
    }
    refused(it, block_at(it, 2), EGB_MISUSE_NEVER_ALLOCATED, 2);
    refused(it, block_at(it, block_count - 1), EGB_MISUSE_NEVER_ALLOCATED, block_count - 1);
    give(it, a);
    give(it, b);
    CHECK(event_count == 0);
}

static void double_frees_are_refused(const subject* it)
{
    egb_fixed_clear(it->pool);
    void* const a = take(it);
    void* const b = take(it);
    give(it, a);
    refused(it, a, EGB_MISUSE_DOUBLE_FREE, 0);
    give(it, b);
    refused(it, a, EGB_MISUSE_DOUBLE_FREE, 0);  // no longer the newest
    refused(it, b, EGB_MISUSE_DOUBLE_FREE, 1);
    CHECK(take(it) == b && take(it) == a);
    CHECK(event_count == 0);
}

// A block in use may hold any bytes, those of a free block too.
static void copies_of_a_free_block_are_data(const subject* it)
{
    egb_fixed_clear(it->pool);
    volatile uint32_t* const a = take(it);
    volatile uint32_t* const b = take(it);
    give(it, (void*)(uintptr_t)a);
    for (uint32_t word = 0; word < it->block_bytes / 4; word++) {
        b[word] = a[word];
    }
    CHECK(egb_fixed_is_live(it->pool, (const void*)(uintptr_t)b));
    give(it, (void*)(uintptr_t)b);
    CHECK(event_count == 0 && egb_fixed_in_use(it->pool) == 0);
}

// Live bits find it whatever was written in between, and lose nothing.
static void double_free_after_a_write(const subject* it)
{
    egb_fixed_clear(it->pool);
    volatile uint32_t* const a = take(it);
    give(it, (void*)(uintptr_t)a);
    for (uint32_t word = 0; word < it->block_bytes / 4; word++) {
        a[word] = 0;
    }
    egb_fixed_free(it->pool, (void*)(uintptr_t)a);
    expect(EGB_MISUSE_DOUBLE_FREE, it->pool, (const void*)(uintptr_t)a, 0);
}

// A stray write may change the link of a free block, the mark behind it, or both.
typedef enum damage { damage_link, damage_mark, damage_both, damage_link_to_fresh } damage;

static void damage_block(const subject* it, void* block, damage kind)
{
    enum { garbage = 0x7EADBEEF };
    volatile uint32_t* const words = block;
    if (kind == damage_link || kind == damage_both) {
        words[0] = garbage;
    }
    if (kind == damage_mark || (kind == damage_both && it->block_bytes > 4)) {
        words[1] = garbage;
    }
    if (kind == damage_link_to_fresh) {
        volatile uint32_t* const fresh = (volatile void*)block_at(it, 2);
        fresh[0]                       = UINT32_MAX;  // as if the list ended here
        words[0]                       = 2 * it->block_bytes / 4;
    }
}

// A write to the newest free block; the alloc that meets it, the first or the second, says so.
static void write_after_free_is_reported(const subject* it, damage kind)
{
    egb_fixed_clear(it->pool);
    void* const a = take(it);
    void* const b = take(it);
    give(it, a);
    give(it, b);
    damage_block(it, b, kind);
    CHECK(!egb_fixed_whole(it->pool));
    void* const first  = take(it);
    void* const second = take(it);
    CHECK(event_count == 1 && last_event.kind == EGB_MISUSE_OVERWRITTEN);
    CHECK(last_event.pool == it->pool);
    event_count = 0;
    CHECK(first != NULL && second != NULL && first != second);
    CHECK(egb_fixed_owns(it->pool, first) && egb_fixed_owns(it->pool, second));
    CHECK(egb_fixed_whole(it->pool));
    // Blocks that the pool cannot give any more count as in use. With live bits nothing is lost.
    CHECK(it->made == way_marked || egb_fixed_in_use(it->pool) == 2);
    size_t given = 0;
    while (take(it) != NULL) {
        given++;
    }
    CHECK(given >= block_count - 4 && event_count == 0 && egb_fixed_whole(it->pool));
    CHECK(it->made == way_marked || given == block_count - 2);
}

static void writes_after_free_are_reported(const subject* it)
{
    write_after_free_is_reported(it, damage_link);
    write_after_free_is_reported(it, damage_both);
    write_after_free_is_reported(it, damage_link_to_fresh);
    if (it->made == way_marked && it->block_bytes > 4) {  // with live bits there is no mark
        write_after_free_is_reported(it, damage_mark);
    }
}

static void misuse_is_refused(const subject* it)
{
    bad_frees_are_refused(it);
    double_frees_are_refused(it);
    copies_of_a_free_block_are_data(it);
    if (it->made != way_marked) {
        double_free_after_a_write(it);
    }
    writes_after_free_are_reported(it);
}

static void pool_that_was_never_made(egb_fixed* pool)
{
    uint32_t block[2] = {0, 0};
    CHECK(egb_fixed_alloc(pool) == NULL);
    expect(EGB_MISUSE_NO_POOL, pool, NULL, EGB_NO_INDEX);
    egb_fixed_free(pool, block);
    expect(EGB_MISUSE_NO_POOL, pool, block, EGB_NO_INDEX);
    egb_fixed_clear(pool);
    expect(EGB_MISUSE_NO_POOL, pool, NULL, EGB_NO_INDEX);
    egb_fixed_free(pool, NULL);
    CHECK(event_count == 0 && block[0] == 0 && block[1] == 0);
    CHECK(!egb_fixed_owns(pool, block) && !egb_fixed_is_live(pool, block));
    CHECK(egb_fixed_capacity(pool) == 0 && egb_fixed_in_use(pool) == 0);
    CHECK(egb_fixed_available(pool) == 0 && egb_fixed_peak(pool) == 0);
    CHECK(!egb_fixed_whole(pool) && egb_fixed_resize(pool, sizeof region) == EGB_INVALID);
}

// ---- the rest ---------------------------------------------------------------------------------

static void grows_and_shrinks(const shape* wanted)
{
    const size_t all = (size_t)block_count * wanted->block_bytes;
    CHECK(make(wanted, all / 2) == EGB_OK);
    const subject it   = {&pool_object, (char*)region, wanted->block_bytes, wanted->made};
    const size_t  half = egb_fixed_capacity(it.pool);
    for (size_t i = 0; i < half; i++) {
        held[i] = take(&it);
    }
    CHECK(take(&it) == NULL && egb_fixed_resize(it.pool, all) == EGB_OK);
    CHECK(egb_fixed_capacity(it.pool) == block_count && egb_fixed_whole(it.pool));
    void* const another = take(&it);
    CHECK(another == block_at(&it, (uint32_t)half));
    CHECK(egb_fixed_resize(it.pool, all / 2) == EGB_BUSY && egb_fixed_whole(it.pool));
    give(&it, another);
    egb_fixed_clear(it.pool);
    CHECK(egb_fixed_resize(it.pool, wanted->block_bytes) == EGB_OK);
    CHECK(take(&it) != NULL && take(&it) == NULL && egb_fixed_whole(it.pool));
    CHECK(event_count == 0);
}

static void init_refuses_what_cannot_work(void)
{
    egb_fixed* const pool = &pool_object;
    CHECK(egb_fixed_init(NULL, region, sizeof region, 8) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, NULL, sizeof region, 8) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, (char*)region + 2, sizeof region - 2, 8) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, region, sizeof region, 0) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, region, sizeof region, 6) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, region, 7, 8) == EGB_INVALID);
    CHECK(egb_fixed_init(pool, region, SIZE_MAX, 8) == EGB_INVALID);
    CHECK(egb_fixed_bytes(8, SIZE_MAX / 4) == 0 && egb_fixed_bytes(6, 1) == 0);
    CHECK(egb_fixed_init_checked(pool, region, sizeof region, 8, live_bits, 12) == EGB_INVALID);
}

static void texts_differ(void)
{
    for (int kind = EGB_MISUSE_NO_POOL; kind < EGB_MISUSE_OVERWRITTEN; kind++) {
        CHECK(
            egb_misuse_text((egb_misuse_kind)kind) != egb_misuse_text((egb_misuse_kind)(kind + 1))
        );
    }
    for (int status = EGB_OK; status < EGB_CANCELLED; status++) {
        CHECK(egb_status_text((egb_status)status) != egb_status_text((egb_status)(status + 1)));
    }
}

static void test_shape(const shape* wanted)
{
    board_print(wanted->name);
    board_print("\n");
    const subject it = subject_of(wanted);
    fills_and_empties(&it);
    if (wanted->made != way_unchecked) {
        misuse_is_refused(&it);
    }
    if (wanted->made != way_static) {
        grows_and_shrinks(wanted);
    }
}

void board_main(void)
{
    static egb_fixed never_made;
    CHECK(egb_fixed_whole(&static_pool));  // before any call
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        test_shape(&shapes[i]);
    }
    pool_that_was_never_made(NULL);
    pool_that_was_never_made(&never_made);
    init_refuses_what_cannot_work();
    texts_differ();
    CHECK(!board_argument_is("fail"));
    if (board_argument_is("fault")) {
        __builtin_trap();
    }
}

// SPDX-License-Identifier: MIT
// The whole public interface of core in a program without a C library: that it links is the test.
// All of the library is linked in, also the parts that this file forgets.
#include "board.h"
#include "eggbox/growing.h"
#include "eggbox/slots.h"

typedef struct packet {
    uint64_t time;
    char     text[13];
} packet;

enum { block_bytes = 16, block_count = 8 };

EGB_FIXED_DEFINE(packets, packet, 4);

static egb_fixed pool;
static uint32_t  region[EGB_FIXED_BYTES(block_bytes, block_count) / 4];
static uint32_t  live_bits[EGB_FIXED_LIVE_BYTES(block_count) / 4];
static unsigned  misuses;

// A lamp would do.
void egb_misuse(const egb_misuse_event* event)
{
    misuses++;
    board_print(egb_misuse_text(event->kind));
    board_print("\n");
}

static void blocks_come_and_go(egb_fixed* some)
{
    void* const block = egb_fixed_alloc(some);
    CHECK(block != NULL && egb_fixed_owns(some, block) && egb_fixed_is_live(some, block));
    CHECK(egb_fixed_in_use(some) == 1 && egb_fixed_peak(some) == 1);
    CHECK(egb_fixed_available(some) == egb_fixed_capacity(some) - 1);
    egb_fixed_free(some, block);
    CHECK(!egb_fixed_is_live(some, block) && egb_fixed_in_use(some) == 0);
    CHECK(egb_fixed_touched(some) == 1 && egb_fixed_whole(some));
    egb_fixed_clear(some);
    CHECK(egb_fixed_touched(some) == 0 && egb_fixed_whole(some));
}

static void slots_work(void)
{
    static size_t memory[EGB_SLOTS_BYTES(block_bytes, block_count) / sizeof(size_t) + 1];
    egb_slots     slots;
    egb_slot      one, at = EGB_SLOT_NONE;
    CHECK(egb_slots_init(&slots, memory, sizeof memory, block_bytes, block_count) == EGB_OK);
    void* const element = egb_slots_insert(&slots, &one);
    CHECK(element != NULL && egb_slots_get(&slots, one) == element);
    CHECK(egb_slots_next(&slots, &at) == element && egb_slots_next(&slots, &at) == NULL);
    CHECK(egb_slots_retire(&slots, one, 1) == EGB_OK && !egb_slots_contains(&slots, one));
    CHECK(egb_slots_advance(&slots, 2, NULL, NULL) == 1 && egb_slots_whole(&slots));
}

static void every_kind_of_pool_works(void)
{
    slots_work();
    CHECK(egb_fixed_bytes(block_bytes, block_count) == sizeof region);
    CHECK(egb_fixed_init(&pool, region, sizeof region, block_bytes) == EGB_OK);
    blocks_come_and_go(&pool);
    CHECK(egb_fixed_resize(&pool, sizeof region / 2) == EGB_OK);
    CHECK(egb_fixed_capacity(&pool) == block_count / 2);
    CHECK(
        egb_fixed_init_checked(
            &pool, region, sizeof region, block_bytes, live_bits, sizeof live_bits
        ) == EGB_OK
    );
    blocks_come_and_go(&pool);
    blocks_come_and_go(&packets);
}

static void unchecked_pool_works(void)
{
    CHECK(egb_fixed_init_unchecked(&pool, region, sizeof region, block_bytes) == EGB_OK);
    void* const block = egb_fixed_alloc_unchecked(&pool);
    CHECK(block == region);
    egb_fixed_free_unchecked(&pool, block);
    CHECK(egb_fixed_in_use(&pool) == 0);
}

static void count_block(void* block, void* user)
{
    (void)block;
    ++*(unsigned*)user;
}

static void growing_pool_works(void)
{
    static uint32_t            memory[128];
    static egb_growing         growing;
    static egb_growing_options options;  // static, so that no memset makes it zero
    egb_static_region          only = {memory, sizeof memory, false};
    options.block_bytes             = 12;
    options.with_states             = true;
    options.backing                 = egb_static_backing(&only);
    unsigned visited                = 0;
    CHECK(egb_growing_init(&growing, &options) == EGB_OK);
    CHECK(egb_growing_reserve(&growing, 8) == EGB_OK && only.is_out);
    void* const block = egb_growing_alloc(&growing);
    CHECK(egb_growing_owns(&growing, block) && egb_growing_in_use(&growing) == 1);
    egb_growing_each(&growing, count_block, &visited);
    CHECK(visited == 1 && egb_growing_whole(&growing));
    egb_growing_free(&growing, block);
    CHECK(egb_growing_peak(&growing) == 1 && egb_growing_capacity(&growing) >= 8);
    CHECK(egb_growing_trim(&growing, 0) == sizeof memory && egb_growing_held(&growing) == 0);
    CHECK(egb_growing_alloc(&growing) != NULL);
    egb_growing_destroy(&growing);
    CHECK(!only.is_out && !egb_growing_whole(&growing));
}

void board_main(void)
{
    every_kind_of_pool_works();
    unchecked_pool_works();
    growing_pool_works();
    egb_fixed_free(&packets, region);
    CHECK(misuses == 1);
    CHECK(egb_status_text(EGB_OK)[0] == 'o');
}

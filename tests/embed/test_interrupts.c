// SPDX-License-Identifier: MIT
// An interrupt at every instruction of allocs and frees, whose handler allocs and frees from the
// same pool.
//
// Goal:   a pool shared with interrupts stays whole if every call stands in a critical section: one
//         of the program's around the calls of fixed.h, or one of a port of fixed_shared.h.
// Method: sweep.h. The argument `unlocked` leaves the critical sections out: then the sweep must
//         find damage, or it would prove nothing.
#include "sweep.h"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/cortex_m.h"
#include "eggbox/port/none.h"

enum { block_bytes = 16, block_count = 6 };

static egb_fixed        pool;
static egb_fixed_shared shared;
static uint32_t         region[EGB_FIXED_BYTES(block_bytes, block_count) / 4];
static uint32_t         live_bits[EGB_FIXED_LIVE_BYTES(block_count) / 4];
static unsigned         misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

// ---- the calls ----------------------------------------------------------------------------------

// `port` is NULL where the program has its own critical section around the calls of fixed.h.
typedef struct variant {
    const char*     name;
    bool            has_live_bits;
    bool            is_recycled;  // every block was in use before, so no call takes a fresh one
    const egb_port* port;
} variant;

static const variant*  now;
static const egb_port* own_section;
static void*           mine;
static void*           old_block;  // held from before, freed by the interrupt
static void*           new_block;  // allocated by the interrupt, and kept

static void* take(void)
{
    if (now->port != NULL) {
        return egb_fixed_shared_alloc(&shared);
    }
    const uintptr_t before = own_section->enter(own_section);
    void* const     block  = egb_fixed_alloc(&pool);
    own_section->leave(own_section, before);
    return block;
}

static void give(void* block)
{
    if (now->port != NULL) {
        egb_fixed_shared_free(&shared, block);
        return;
    }
    const uintptr_t before = own_section->enter(own_section);
    egb_fixed_free(&pool, block);
    own_section->leave(own_section, before);
}

// Leaves one block in `mine`.
static void interrupted_calls(void)
{
    void* const a = take();
    mine          = take();
    give(a);
}

// Leaves the free list other than it was: the block that was its newest is kept.
static void interrupt(void)
{
    give(old_block);
    void* const a = take();
    new_block     = take();
    give(a);
}

static void prepare(void)
{
    const egb_status status =
        now->has_live_bits
            ? egb_fixed_init_checked(
                  &pool, region, sizeof region, block_bytes, live_bits, sizeof live_bits
              )
            : egb_fixed_init(&pool, region, sizeof region, block_bytes);
    CHECK(status == EGB_OK);
    void* blocks[block_count];
    for (unsigned i = 0; i < block_count && now->is_recycled; i++) {
        blocks[i] = egb_fixed_alloc(&pool);
    }
    for (unsigned i = 0; i < block_count && now->is_recycled; i++) {
        egb_fixed_free(&pool, blocks[i]);
    }
    old_block = egb_fixed_alloc(&pool);
    new_block = NULL;
    misuses   = 0;
    if (now->port != NULL) {
        CHECK(egb_fixed_shared_init(&shared, &pool, now->port, 0) == EGB_OK);
    }
}

// `mine` and the handler's new block are out, all others can be had, and none twice.
static bool is_sound(void)
{
    bool sound = misuses == 0 && egb_fixed_whole(&pool) && egb_fixed_in_use(&pool) == 2 &&
                 egb_fixed_is_live(&pool, mine) && egb_fixed_is_live(&pool, new_block) &&
                 mine != new_block && (now->port == NULL || egb_fixed_shared_whole(&shared));
    void* blocks[block_count];
    blocks[0] = mine;
    blocks[1] = new_block;
    for (unsigned i = 2; i < block_count; i++) {
        blocks[i] = egb_fixed_alloc(&pool);
        sound     = sound && blocks[i] != NULL;
        for (unsigned k = 0; k < i; k++) {
            sound = sound && blocks[i] != blocks[k];
        }
    }
    return sound && egb_fixed_alloc(&pool) == NULL && misuses == 0;
}

static unsigned sweep_all(const variant* variants, size_t count, bool is_masked)
{
    unsigned damaged = 0;
    for (size_t i = 0; i < count; i++) {
        now                     = &variants[i];
        const sweep_scene scene = {
            now->name, prepare, interrupted_calls, interrupt, is_sound, is_masked
        };
        damaged += sweep(&scene);
    }
    return damaged;
}

#if __ARM_ARCH >= 7
enum { tick_priority = 0x80 };
static const egb_cortex_m_port by_basepri = EGB_PORT_BASEPRI(tick_priority);
#endif

void board_main(void)
{
    const bool is_locked = !board_argument_is("unlocked");
    own_section          = is_locked ? &egb_port_primask : &egb_port_none;
    board_print(is_locked ? "calls in a critical section\n" : "calls without a lock\n");
    sweep_print_heading();
    const variant variants[] = {
        {"default check, recycled", false, true, NULL},
        {"default check, fresh", false, false, NULL},
        {"live bits, recycled", true, true, NULL},
        {"live bits, fresh", true, false, NULL},
        {"shared, default, recycled", false, true, own_section},
        {"shared, default, fresh", false, false, own_section},
        {"shared, live bits, recycled", true, true, own_section},
        {"shared, live bits, fresh", true, false, own_section},
#if __ARM_ARCH >= 7
        {"BASEPRI, recycled", false, true, is_locked ? &by_basepri.port : own_section},
        {"BASEPRI, live bits, fresh", true, false, is_locked ? &by_basepri.port : own_section},
#endif
    };
#if __ARM_ARCH >= 7
    BOARD_TICK_PRIORITY = tick_priority;
#endif
    const unsigned damaged = sweep_all(variants, sizeof variants / sizeof variants[0], is_locked);
    CHECK(is_locked ? damaged == 0 : damaged > 0);
}

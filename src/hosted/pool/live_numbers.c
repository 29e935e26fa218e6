// SPDX-License-Identifier: MIT
#include "live_numbers.h"

#include "../../os/os.h"
#include "../cache/split.h"
#include "../cache/threads.h"
#include "../report/text.h"
#include "eggbox/lock.h"
#include "registry.h"

EGB_AMONG_DATA_ egb_live_slot* egb_live_slot_;

// The key last: whoever reads a key finds the name of that pool.
static void describe_live(egb_live_pool* place, const egb_control* control, uint64_t key)
{
    __atomic_store_n(&place->key, 0, __ATOMIC_RELEASE);
    EGB_STORE_(place->block_bytes, control->block_bytes);
    EGB_STORE_(place->failures_before, control->exhaustion.failures);
    egb_text_copy_(place->name, sizeof place->name, control->name);
    __atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
}

// Two pools at once may leave the lower place: it is a hint for a person.
static void note_beyond(egb_live_slot* live, size_t index)
{
    if (live != NULL && index > EGB_LOAD_(live->pools_beyond)) {
        EGB_STORE_(live->pools_beyond, (uint32_t)index);
    }
}

// The blocks that magazines may hold, as stats.h says it: three batches each.
static uint32_t in_magazines_max(const egb_depot* depot)
{
    return (uint32_t)egb_smaller_(3 * depot->attached * depot->batch_blocks, UINT32_MAX);
}

void egb_live_note_other_(const egb_control* control)
{
    egb_live_slot* const   live  = EGB_LOAD_(egb_live_slot_);
    const egb_depot* const depot = &control->depot;
    const size_t           index = (size_t)(control - egb_registry_.controls);
    if (live == NULL || index >= EGB_LIVE_POOLS) {
        note_beyond(live, index);
        return;
    }
    egb_live_pool* const place = &live->pools[index];
    const egb_pool       pool  = egb_handle_of_(control);
    const uint64_t       key   = pool.generation == 0 ? 0 : egb_pool_key_(pool);
    if (key == 0) {
        __atomic_store_n(&place->key, 0, __ATOMIC_RELEASE);
        return;
    }
    if (EGB_LOAD_(place->key) != key) {
        describe_live(place, control, key);
    }
    const uint32_t most = in_magazines_max(depot);
    EGB_STORE_(place->in_use, egb_depot_out_(depot));
    EGB_STORE_(place->in_magazines_max, most);
    if (EGB_LOAD_(place->in_magazines) > most) {
        EGB_STORE_(place->in_magazines, most);  // threads ended since
    }
    EGB_STORE_(place->peak, egb_larger_(depot->peak, depot->most_out));
    EGB_STORE_(place->bytes_held, depot->growing.held);
    EGB_STORE_(place->failures, control->exhaustion.failures);
}

// ---- free blocks in magazines -------------------------------------------------------------------

// The least time between two counts; and a hundred times as long as one takes, by the number of
// pools and threads: a count that another program interrupts takes any time.
enum { COUNT_NANOSECONDS = 1000000, NANOSECONDS_PER_THREAD = 5000, POOL_AS_THREADS = 4 };

EGB_AMONG_DATA_ static uint64_t next_count;  // nanoseconds, atomic

static void add_magazine(egb_magazine_* magazine, void* user)
{
    *(size_t*)user += egb_magazine_count_(magazine);
}

static void count_pool(egb_live_slot* live, size_t index)
{
    size_t in_magazines = 0;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(egb_handle_of_(&egb_registry_.controls[index]));
    if (control != NULL) {
        egb_each_magazine_(&control->depot, add_magazine, &in_magazines);
        in_magazines = egb_smaller_(in_magazines, UINT32_MAX);
        EGB_STORE_(live->pools[index].in_magazines, (uint32_t)in_magazines);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
}

void egb_live_count_(void)
{
    egb_live_slot* const live = EGB_LOAD_(egb_live_slot_);
    if (live == NULL) {
        return;
    }
    const uint64_t now = egb_os_nanoseconds_();
    uint64_t       due = EGB_LOAD_(next_count);
    if (now < due || !__atomic_compare_exchange_n(
                         &next_count, &due, UINT64_MAX, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
                     )) {
        return;
    }
    const size_t slots = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    const size_t pools = egb_smaller_(slots, EGB_LIVE_POOLS);
    for (size_t i = 1; i < pools; i++) {
        count_pool(live, i);
    }
    const size_t   steps = pools * (EGB_LOAD_(egb_threads_.count) + POOL_AS_THREADS);
    const uint64_t rest  = (uint64_t)steps * NANOSECONDS_PER_THREAD;
    EGB_STORE_(next_count, now + (rest > COUNT_NANOSECONDS ? rest : COUNT_NANOSECONDS));
}

void egb_live_pools_to_(egb_live_slot* live)
{
    const egb_control* const controls = __atomic_load_n(&egb_registry_.controls, __ATOMIC_ACQUIRE);
    const size_t             slots    = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    EGB_STORE_(egb_split_is_off_, live != NULL);
    EGB_STORE_(next_count, 0);  // a child of a fork has no thread that was counting
    __atomic_store_n(&egb_live_slot_, live, __ATOMIC_RELEASE);
    for (size_t slot = 1; slot < slots && !egb_is_only_thread_(); slot++) {
        egb_control* const control = egb_pool_lock_(egb_handle_of_(&controls[slot]));
        if (control != NULL) {
            egb_pool_unlock_(control);
        }
    }
}

// SPDX-License-Identifier: MIT
#include "ended.h"

#include "../report/text.h"

enum { ENDED_MAX = 256 };

static egb_ended ended_pools[ENDED_MAX];  // kept by the registry lock, as the count
static size_t    ended_count;

static bool is_same_ended(const egb_ended* one, const egb_pool_stats* stats, const char* parent)
{
    return one->stats.block_bytes == stats->block_bytes &&
           __builtin_strcmp(one->stats.name, stats->name) == 0 &&
           __builtin_strcmp(one->parent, parent) == 0;
}

static void add_ended(egb_pool_stats* to, const egb_pool_stats* from)
{
    to->pools++;
    to->in_use += from->in_use;
    to->allocations += from->allocations;
    to->frees += from->frees;
    to->failures += from->failures;
    to->capacity   = to->capacity > from->capacity ? to->capacity : from->capacity;
    to->peak       = to->peak > from->peak ? to->peak : from->peak;
    to->chunks     = to->chunks > from->chunks ? to->chunks : from->chunks;
    to->bytes_held = to->bytes_held > from->bytes_held ? to->bytes_held : from->bytes_held;
}

// A pool that nobody used says nothing. When the table is full, other names are left out.
static void note_ended(const egb_pool_stats* stats, const char* parent, egb_level level)
{
    size_t index = 0;
    if (stats->allocations == 0 && stats->failures == 0) {
        return;
    }
    while (index < ended_count && !is_same_ended(&ended_pools[index], stats, parent)) {
        index++;
    }
    if (index < ended_count) {
        add_ended(&ended_pools[index].stats, stats);
    } else if (index < ENDED_MAX) {
        ended_pools[index].stats = *stats;
        ended_pools[index].level = level;
        egb_text_copy_(ended_pools[index].parent, sizeof ended_pools[index].parent, parent);
        ended_count++;
    }
}

void egb_ended_watch_(void)
{
    __atomic_store_n(&egb_registry_.on_end, note_ended, __ATOMIC_RELEASE);
}

void egb_ended_restart_(void)
{
    egb_os_lock_(&egb_threads_.lock);
    ended_count = 0;
    egb_os_unlock_(&egb_threads_.lock);
}

bool egb_ended_at_(size_t index, egb_ended* out)
{
    egb_os_lock_(&egb_threads_.lock);
    const bool is_there = index < ended_count;
    if (is_there) {
        *out = ended_pools[index];
    }
    egb_os_unlock_(&egb_threads_.lock);
    return is_there;
}

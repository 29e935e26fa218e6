// SPDX-License-Identifier: MIT
// Freed large regions that stay mapped for requests to come. Where the system lets a range be given
// back in parts, they are cut to what is asked for, and those side by side become one: so programs
// whose blocks are of all sizes find the pages of the last ones.
#include "heap_kept.h"

static egb_growing records;

// The oldest first, each with the quiet time in which it was freed.
static struct {
    egb_large* large;
    uint32_t   turn;
} kept[EGB_KEPT_MAX + 1];
static size_t kept_count;
static size_t kept_bytes;

size_t egb_kept_bytes(void)
{
    return kept_bytes;
}

size_t egb_kept_count(void)
{
    return kept_count;
}

// ---- records ------------------------------------------------------------------------------------

egb_large* egb_large_new_record(void)
{
    const egb_growing_options options = {
        .block_bytes = sizeof(egb_large),
        .block_align = sizeof(void*),
        .backing     = egb_plain_backing(),
    };
    egb_large* large = NULL;
    if (records.options.block_bytes != 0 || egb_growing_init(&records, &options) == EGB_OK) {
        large = egb_growing_alloc(&records);
    }
    if (large != NULL) {
        const egb_guarded none = {0};
        large->state           = EGB_LARGE_NEW;
        large->guard           = none;
    }
    return large;
}

void egb_large_drop_record(egb_large* large)
{
    egb_growing_free(&records, large);
}

void egb_large_each(egb_growing_visit_fn visit, void* user)
{
    egb_growing_each(&records, visit, user);
}

bool egb_large_enter(void* region, size_t bytes, egb_large* large)
{
    if (egb_chunk_map_set(region, bytes, (egb_chunk_*)(void*)large, EGB_LARGE_KEY, NULL)) {
        return true;
    }
    egb_chunk_map_clear(region, bytes);
    return false;
}

egb_large* egb_large_at(const void* address)
{
    const egb_control* const root = __atomic_load_n(&egb_the_world.controls, __ATOMIC_ACQUIRE);
    return root == NULL ? NULL : (egb_large*)(void*)egb_chunk_map_find(root, address);
}

static char* end_of(const egb_large* large)
{
    return (char*)large->region + large->bytes;
}

// ---- regions on their way to the system ---------------------------------------------------------

static void doom_range(egb_doomed* doomed, void* region, size_t bytes)
{
    egb_chunk_map_clear(region, bytes);
    egb_os_watch_open(region, bytes);
    doomed->list[doomed->count].region = region;
    doomed->list[doomed->count].bytes  = bytes;
    doomed->count++;
}

void egb_large_doom(egb_doomed* doomed, egb_large* large)
{
    doom_range(doomed, large->region, large->bytes);
    egb_large_drop_record(large);
}

size_t egb_doomed_release(const egb_doomed* doomed)
{
    size_t given = 0;
    for (size_t i = 0; i < doomed->count; i++) {
        egb_os_release(doomed->list[i].region, doomed->list[i].bytes);
        given += doomed->list[i].bytes;
    }
    return given;
}

// ---- in and out ---------------------------------------------------------------------------------

static egb_large* remove_kept(size_t index)
{
    egb_large* const large = kept[index].large;
    kept_count--;
    kept_bytes -= large->bytes;
    for (; index < kept_count; index++) {
        kept[index] = kept[index + 1];
    }
    large->state = EGB_LARGE_NEW;
    egb_os_watch_open(large->region, large->bytes);
    return large;
}

static void remove_this(const egb_large* large)
{
    size_t index = 0;
    while (kept[index].large != large) {
        index++;
    }
    (void)remove_kept(index);
}

// The kept region that an address is in, where such can be cut and joined; else NULL.
static egb_large* kept_at(const void* address)
{
    egb_large* const large = egb_os_can_split() ? egb_large_at(address) : NULL;
    return large != NULL && large->state == EGB_LARGE_KEPT ? large : NULL;
}

// The first bytes of a kept region become another's, which is still to be told.
static void give_front(egb_large* from, size_t bytes, egb_large* to)
{
    egb_chunk_map_pass_on(from->region, bytes, (egb_chunk_*)(void*)to);
    egb_os_watch_open(from->region, bytes);
    if (from->bytes == bytes) {
        remove_this(from);
        egb_large_drop_record(from);
        return;
    }
    from->region = (char*)from->region + bytes;
    from->bytes -= bytes;
    kept_bytes -= bytes;
}

static void join(egb_large* large, const void* beside)
{
    egb_large* const other = kept_at(beside);
    if (other != NULL) {
        char* const  region = other->region;
        const size_t bytes  = other->bytes;
        give_front(other, bytes, large);
        large->region = region < (char*)large->region ? region : large->region;
        large->bytes += bytes;
    }
}

void egb_kept_add(egb_large* large)
{
    join(large, (char*)large->region - 1);
    join(large, end_of(large));
    egb_os_watch_close(large->region, large->bytes);
    large->state           = EGB_LARGE_KEPT;
    kept[kept_count].large = large;
    kept[kept_count].turn  = egb_heap_turn();
    kept_count++;
    kept_bytes += large->bytes;
}

// Where regions are not cut: a quarter more than is asked for is addresses, and pages that are
// there anyway.
static bool is_fit(const egb_large* large, size_t align, size_t whole)
{
    return large->bytes >= whole && ((uintptr_t)large->region & (align - 1)) == 0 &&
           (egb_os_can_split() || large->bytes - whole <= whole / 4);
}

// The front of a kept region. NULL: there is no memory for its record.
static egb_large* cut(egb_large* large, size_t whole)
{
    egb_large* const front = egb_large_new_record();
    if (front != NULL) {
        front->region = large->region;
        front->bytes  = whole;
        give_front(large, whole, front);
    }
    return front;
}

// The shortest that fits; of these the newest, whose pages are most likely still in a cache.
egb_large* egb_kept_take(size_t align, size_t whole)
{
    size_t best = EGB_KEPT_MAX;
    for (size_t i = kept_count; i > 0; i--) {
        const egb_large* const one = kept[i - 1].large;
        if (is_fit(one, align, whole) &&
            (best == EGB_KEPT_MAX || one->bytes < kept[best].large->bytes)) {
            best = i - 1;
        }
    }
    if (best == EGB_KEPT_MAX) {
        return NULL;
    }
    egb_large* const large = kept[best].large;
    return large->bytes > whole && egb_os_can_split() ? cut(large, whole) : remove_kept(best);
}

bool egb_kept_give_behind(egb_large* large, size_t more)
{
    egb_large* const behind = kept_at(end_of(large));
    if (behind == NULL || behind->bytes < more) {
        return false;
    }
    give_front(behind, more, large);
    return true;
}

// ---- what goes ----------------------------------------------------------------------------------

static void doom_end(egb_doomed* doomed, egb_large* large, size_t bytes)
{
    large->bytes -= bytes;
    kept_bytes -= bytes;
    doom_range(doomed, end_of(large), bytes);
}

void egb_kept_limit(egb_doomed* doomed, size_t most)
{
    while (kept_count > EGB_KEPT_MAX || kept_bytes > most) {
        const size_t unit   = EGB_UNIT_BYTES;
        const size_t excess = kept_bytes > most ? (kept_bytes - most + unit - 1) & ~(unit - 1) : 0;
        if (excess != 0 && excess < kept[0].large->bytes && egb_os_can_split()) {
            doom_end(doomed, kept[0].large, excess);
        } else {
            egb_large_doom(doomed, remove_kept(0));
        }
    }
}

void egb_kept_expire(egb_doomed* doomed, uint32_t turn, size_t bytes)
{
    while (kept_count > 0 && kept[0].turn < turn && kept_bytes - kept[0].large->bytes >= bytes) {
        egb_large_doom(doomed, remove_kept(0));
    }
}

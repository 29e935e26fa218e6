// SPDX-License-Identifier: MIT
// Large blocks: each a region of whole units of addresses, which the chunk map knows as the root's,
// with a record where a chunk would be. Some freed ones stay mapped, for the next request of about
// their size.
#include "heap_private.h"

// Records are never given back to the system, so that a stale address can be looked up.
typedef struct large_record {
    void*  region;
    size_t bytes;
    bool   is_live;  // else it is kept
} large_record;

// What is kept. In bytes also no more than would make the heap hold more than ever was in use, and
// a little: then what is not of the sizes that are asked for now goes first.
enum { KEPT_MAX = 64, KEPT_BYTES_MAX = 32 << 20, KEPT_BYTES_OVER_PEAK = 8 << 20 };

// A kept region of up to so many bytes is made zero by writing to it: quicker than the page faults
// of a fresh one, if its pages are used.
enum { ZEROED_BYTES_MAX = 1 << 20 };

// A freed region, and the quiet time in which it was freed.
typedef struct kept_region {
    large_record* large;
    uint32_t      turn;
} kept_region;

static egb_os_mutex large_lock;  // keeps all that follows
static egb_growing  records;
static kept_region  kept[KEPT_MAX];  // the oldest first
static size_t       kept_count;
static size_t       kept_bytes;
static struct {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
    size_t   in_use;
    size_t   bytes;
    size_t   bytes_peak;
} numbers;

// ---- regions on their way to the system ---------------------------------------------------------

// Collected with the lock held, released without it.
typedef struct doomed_regions {
    struct {
        void*  region;
        size_t bytes;
    } list[KEPT_MAX];
    size_t count;
} doomed_regions;

// The region is no block any more: from now on nobody finds it.
static void doom(doomed_regions* doomed, large_record* large)
{
    egb_chunk_map_clear(large->region, large->bytes);
    doomed->list[doomed->count].region = large->region;
    doomed->list[doomed->count].bytes  = large->bytes;
    doomed->count++;
    egb_growing_free(&records, large);
}

static size_t release_doomed(const doomed_regions* doomed)
{
    size_t given = 0;
    for (size_t i = 0; i < doomed->count; i++) {
        egb_os_release(doomed->list[i].region, doomed->list[i].bytes);
        given += doomed->list[i].bytes;
    }
    return given;
}

// ---- records ------------------------------------------------------------------------------------

// NOLINTNEXTLINE(readability-non-const-parameter): a backing's function has this type
static void* reserve_for_records(void* user, size_t least, size_t* bytes)
{
    (void)user;
    (void)least;
    return egb_os_reserve(*bytes, EGB_UNIT_BYTES);
}

static egb_status commit_for_records(void* user, void* region, size_t bytes)
{
    (void)user;
    return egb_os_commit(region, bytes, 0, NULL);
}

static void release_of_records(void* user, void* region, size_t bytes)
{
    (void)user;
    egb_os_release(region, bytes);
}

static large_record* new_record(void)
{
    const egb_growing_options options = {
        .block_bytes = sizeof(large_record),
        .block_align = sizeof(void*),
        .backing =
            {reserve_for_records, commit_for_records, release_of_records, NULL, EGB_UNIT_BYTES, true
            },
    };
    egb_os_lock(&large_lock);
    large_record* large = NULL;
    if (records.options.block_bytes != 0 || egb_growing_init(&records, &options) == EGB_OK) {
        large = egb_growing_alloc(&records);
    }
    egb_os_unlock(&large_lock);
    return large;
}

static void drop_record(large_record* large)
{
    egb_os_lock(&large_lock);
    egb_growing_free(&records, large);
    egb_os_unlock(&large_lock);
}

// Enters a region in the map. False: refused, and it is not there.
static bool enter(void* region, size_t bytes, large_record* large)
{
    if (egb_chunk_map_set(region, bytes, (egb_chunk_*)(void*)large, EGB_LARGE_KEY)) {
        return true;
    }
    egb_chunk_map_clear(region, bytes);
    return false;
}

// The record of the region that an address is in. The lock is held.
static large_record* record_at(const void* address)
{
    const egb_control* const root = __atomic_load_n(&egb_the_world.controls, __ATOMIC_ACQUIRE);
    return root == NULL ? NULL : (large_record*)(void*)egb_chunk_map_find(root, address);
}

// ---- regions that are kept ----------------------------------------------------------------------

static large_record* remove_kept(size_t index)
{
    large_record* const large = kept[index].large;
    kept_count--;
    kept_bytes -= large->bytes;
    for (; index < kept_count; index++) {
        kept[index] = kept[index + 1];
    }
    return large;
}

static void keep(large_record* large)
{
    kept[kept_count].large = large;
    kept[kept_count].turn  = egb_heap_turn();
    kept_count++;
    kept_bytes += large->bytes;
}

// A quarter more than is asked for is addresses, and pages that are there anyway.
static bool is_fit(const large_record* large, size_t align, size_t whole)
{
    return large->bytes >= whole && large->bytes - whole <= whole / 4 &&
           ((uintptr_t)large->region & (align - 1)) == 0;
}

// The shortest that fits; of these the newest, whose pages are most likely still in a cache. NULL:
// none does.
static large_record* take_kept(size_t align, size_t whole)
{
    size_t best = KEPT_MAX;
    for (size_t i = kept_count; i > 0; i--) {
        const large_record* const one = kept[i - 1].large;
        if (is_fit(one, align, whole) &&
            (best == KEPT_MAX || one->bytes < kept[best].large->bytes)) {
            best = i - 1;
        }
    }
    return best == KEPT_MAX ? NULL : remove_kept(best);
}

size_t egb_large_release(uint32_t turn, size_t bytes)
{
    doomed_regions doomed;
    doomed.count = 0;
    egb_os_lock(&large_lock);
    while (kept_count > 0 && kept[0].turn < turn && kept_bytes - kept[0].large->bytes >= bytes) {
        doom(&doomed, remove_kept(0));
    }
    egb_os_unlock(&large_lock);
    return release_doomed(&doomed);
}

// ---- alloc --------------------------------------------------------------------------------------

static size_t units_for(size_t bytes)
{
    const size_t unit = EGB_UNIT_BYTES;
    return bytes == 0 ? unit : (bytes + (unit - 1)) & ~(unit - 1);
}

static void note_bytes(size_t more, size_t less)
{
    numbers.bytes += more - less;
    if (numbers.bytes > numbers.bytes_peak) {
        numbers.bytes_peak = numbers.bytes;
    }
}

static void* hand_out(large_record* large)
{
    large->is_live = true;
    numbers.allocations++;
    numbers.in_use++;
    note_bytes(large->bytes, 0);
    return large->region;
}

// A long block that is all zero comes fresh from the system, and a region that would have served
// another goes back for it: a program that takes only such blocks would else collect them.
static void* alloc_kept(size_t align, size_t whole, bool zeroed)
{
    doomed_regions doomed;
    doomed.count = 0;
    void* block  = NULL;
    egb_os_lock(&large_lock);
    large_record* const large = take_kept(align, whole);
    if (large != NULL && zeroed && whole > ZEROED_BYTES_MAX) {
        doom(&doomed, large);
    } else if (large != NULL) {
        block = hand_out(large);
    }
    egb_os_unlock(&large_lock);
    (void)release_doomed(&doomed);
    if (block != NULL && zeroed) {
        (void)__builtin_memset(block, 0, whole);
    }
    return block;
}

// NULL: refused. The record is then still the caller's.
static void* map_region(size_t align, size_t whole, large_record* large)
{
    void* const region = egb_os_reserve(whole, align);
    if (region == NULL) {
        return NULL;
    }
    large->region  = region;
    large->bytes   = whole;
    large->is_live = false;
    if (egb_os_commit(region, whole, 0, NULL) != EGB_OK || !enter(region, whole, large)) {
        egb_os_release(region, whole);
        return NULL;
    }
    return region;
}

static void* alloc_fresh(size_t align, size_t whole)
{
    large_record* const large = new_record();
    if (large == NULL) {
        return NULL;
    }
    if (map_region(align, whole, large) == NULL) {
        drop_record(large);
        return NULL;
    }
    egb_os_lock(&large_lock);
    void* const block = hand_out(large);
    egb_os_unlock(&large_lock);
    return block;
}

static void* refuse(void)
{
    egb_os_lock(&large_lock);
    numbers.failures++;
    egb_os_unlock(&large_lock);
    return NULL;
}

void* egb_large_alloc(size_t align, size_t bytes, bool zeroed)
{
    if (bytes > PTRDIFF_MAX || !egb_heap_is_made()) {
        return refuse();
    }
    egb_heap_tick();
    const size_t whole = units_for(bytes);
    if (align < EGB_UNIT_BYTES) {
        align = EGB_UNIT_BYTES;
    }
    void* block = alloc_kept(align, whole, zeroed);
    if (block == NULL) {
        block = alloc_fresh(align, whole);
    }
    // What the heap had kept is of use only to a request of about its size.
    if (block == NULL && whole <= egb_heap_held() && egb_heap_trim(0) != 0) {
        block = alloc_fresh(align, whole);
    }
    return block != NULL ? block : refuse();
}

// ---- free ---------------------------------------------------------------------------------------

// What is wrong with freeing `block`: 0 is nothing.
static int fault_of_large(const large_record* large, const void* block)
{
    if (large->region != block) {
        return EGB_EVENT_INTERIOR;
    }
    return large->is_live ? 0 : EGB_EVENT_DOUBLE_FREE;
}

// How many bytes may be kept now.
static size_t kept_bytes_max(void)
{
    const size_t under_peak = numbers.bytes_peak - numbers.bytes + KEPT_BYTES_OVER_PEAK;
    return under_peak < KEPT_BYTES_MAX ? under_peak : KEPT_BYTES_MAX;
}

static void take_back(large_record* large, doomed_regions* doomed)
{
    large->is_live = false;
    numbers.frees++;
    numbers.in_use--;
    note_bytes(0, large->bytes);
    const size_t most = kept_bytes_max();
    if (large->bytes > most) {
        doom(doomed, large);
        return;
    }
    while (kept_count == KEPT_MAX || kept_bytes > most - large->bytes) {
        doom(doomed, remove_kept(0));
    }
    keep(large);
}

bool egb_large_free(void* block, const void* site)
{
    doomed_regions doomed;
    doomed.count = 0;
    egb_os_lock(&large_lock);
    large_record* const large = record_at(block);
    const int           fault = large == NULL ? 0 : fault_of_large(large, block);
    if (large != NULL && fault == 0) {
        take_back(large, &doomed);
    }
    egb_os_unlock(&large_lock);
    (void)release_doomed(&doomed);
    if (fault != 0) {
        egb_pool_report((egb_event_kind)fault, egb_heap_pool(), block, EGB_NO_INDEX, site);
    }
    return large != NULL;
}

// ---- resize -------------------------------------------------------------------------------------

static void set_place(large_record* large, void* region, size_t bytes)
{
    egb_os_lock(&large_lock);
    note_bytes(bytes, large->bytes);
    large->region = region;
    large->bytes  = bytes;
    egb_os_unlock(&large_lock);
}

// The addresses behind a smaller block may be another's as soon as they are given back: so the map
// forgets them before.
static bool shrink(large_record* large, size_t whole)
{
    char* const  tail       = (char*)large->region + whole;
    const size_t tail_bytes = large->bytes - whole;
    egb_chunk_map_clear(tail, tail_bytes);
    if (egb_os_resize(large->region, large->bytes, whole) != EGB_OK) {
        (void)enter(tail, tail_bytes, large);  // it was there: nothing is to be made for it
        return false;
    }
    set_place(large, large->region, whole);
    return true;
}

static egb_status extend(large_record* large, size_t whole)
{
    const egb_status status = egb_os_resize(large->region, large->bytes, whole);
    if (status != EGB_OK) {
        return status;
    }
    if (!enter((char*)large->region + large->bytes, whole - large->bytes, large)) {
        (void)egb_os_resize(large->region, whole, large->bytes);
        return EGB_NO_MEMORY;
    }
    set_place(large, large->region, whole);
    return EGB_OK;
}

static bool move_to(large_record* large, void* to, size_t whole)
{
    void* const  from  = large->region;
    const size_t bytes = large->bytes;
    if (!enter(to, whole, large)) {
        egb_os_release(to, whole);
        return false;
    }
    egb_chunk_map_clear(from, bytes);
    if (egb_os_move(from, bytes, to, whole) != EGB_OK) {
        (void)enter(from, bytes, large);
        egb_chunk_map_clear(to, whole);  // its addresses are lost
        return false;
    }
    set_place(large, to, whole);
    return true;
}

// An eighth more than is asked for, which costs addresses but no memory until it is touched: a
// block that grows step by step is not moved at each.
static bool grow(large_record* large, size_t bytes)
{
    const size_t     whole  = units_for(bytes <= PTRDIFF_MAX / 2 ? bytes + bytes / 8 : bytes);
    const egb_status status = extend(large, whole);
    if (status != EGB_NO_MEMORY) {
        return status == EGB_OK;
    }
    void* const to = egb_os_reserve(whole, EGB_UNIT_BYTES);
    return to != NULL && move_to(large, to, whole);
}

// Nobody else has to do with the record as long as its block is in use: what this call changes of
// it, only askers read.
void* egb_large_resize(void* block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    egb_os_lock(&large_lock);
    large_record* const large = record_at(block);
    egb_os_unlock(&large_lock);
    if (large == NULL) {
        return NULL;
    }
    const bool is_done =
        bytes <= large->bytes ? shrink(large, units_for(bytes)) : grow(large, bytes);
    return is_done ? large->region : NULL;
}

// ---- questions ----------------------------------------------------------------------------------

size_t egb_large_bytes(const void* address)
{
    egb_os_lock(&large_lock);
    const large_record* const large = record_at(address);
    const size_t              bytes = large != NULL && large->is_live ? large->bytes : 0;
    egb_os_unlock(&large_lock);
    return bytes;
}

bool egb_large_is_live(const void* block)
{
    egb_os_lock(&large_lock);
    const large_record* const large   = record_at(block);
    const bool                is_live = large != NULL && fault_of_large(large, block) == 0;
    egb_os_unlock(&large_lock);
    return is_live;
}

size_t egb_large_held(size_t* cached)
{
    egb_os_lock(&large_lock);
    *cached           = kept_bytes;
    const size_t held = numbers.bytes + kept_bytes;
    egb_os_unlock(&large_lock);
    return held;
}

void egb_large_count(egb_heap_numbers* out)
{
    egb_os_lock(&large_lock);
    out->large_allocations = numbers.allocations;
    out->large_frees       = numbers.frees;
    out->large_failures    = numbers.failures;
    out->large_in_use      = numbers.in_use;
    out->large_bytes       = numbers.bytes;
    out->large_bytes_peak  = numbers.bytes_peak;
    out->cached            = kept_count;
    out->cached_bytes      = kept_bytes;
    egb_os_unlock(&large_lock);
}

// ---- fork ---------------------------------------------------------------------------------------

void egb_large_lock(void)
{
    egb_os_lock(&large_lock);
}

void egb_large_unlock(void)
{
    egb_os_unlock(&large_lock);
}

void egb_large_reset(void)
{
    egb_os_lock_reset(&large_lock);
}

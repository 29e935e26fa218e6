// SPDX-License-Identifier: MIT
// Large blocks: each is a region of whole units of addresses, with a record. large_cache.c has the
// freed ones, guard_page.c the guard pages.
#include "eggbox/lock.h"
#include "guard_page.h"
#include "keep.h"
#include "large_cache.h"
#include "obtain.h"

// A cached region of up to so many bytes is zeroed by writing, as in glibc. If its pages are used,
// that takes a tenth of the time of the page faults of a fresh one. The price: a block that hardly
// is used has its memory all the same.
enum { ZEROED_BYTES_MAX = 32 << 20 };

EGB_AMONG_DATA_ static egb_os_mutex large_lock;    // protects all that follows, and large_cache.c
EGB_AMONG_DATA_ static egb_large_numbers numbers;  // without the numbers that others count

EGB_AMONG_DATA_ static egb_live_large* live;         // copies for other processes; NULL: none
static egb_large_numbers               before_live;  // the numbers when the copies began

static void note_live(void)
{
    if (live != NULL) {
        EGB_STORE_(live->allocations, numbers.allocations - before_live.allocations);
        EGB_STORE_(live->frees, numbers.frees - before_live.frees);
        EGB_STORE_(live->failures, numbers.failures - before_live.failures);
        EGB_STORE_(live->in_use, numbers.in_use);
        EGB_STORE_(live->peak, numbers.peak);
        EGB_STORE_(live->bytes, numbers.bytes);
        EGB_STORE_(live->bytes_peak, numbers.bytes_peak);
    }
}

// In the child of a fork, a thread alone may have interrupted the holder of the lock: itself.
void egb_large_live_to_(egb_live_large* place)
{
    const bool is_alone = egb_is_only_thread_();
    if (!is_alone) {
        egb_os_lock_(&large_lock);
    }
    live        = place;
    before_live = numbers;
    note_live();
    if (!is_alone) {
        egb_os_unlock_(&large_lock);
    }
}

// Without a limit on addresses it may be the number of mappings that is the limit: then each gap is
// refused, too, and the regions without memory are better kept.
bool egb_large_make_room_(size_t bytes)
{
    egb_unmap_list unmap_list = {NULL};
    if (egb_is_frozen_()) {
        return false;
    }
    const size_t limit = egb_keep_refusal_bytes_();
    egb_os_lock_(&large_lock);
    egb_page_quarantine_flush_(&unmap_list);
    if (limit != SIZE_MAX && bytes <= limit) {
        egb_large_cache_give_empty_(&unmap_list, bytes);
    }
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
    return unmap_list.first != NULL;
}

void* egb_large_pass_on_(size_t bytes)
{
    void* region   = NULL;
    bool  is_empty = false;
    if (!egb_os_can_split_()) {
        return NULL;
    }
    egb_os_lock_(&large_lock);
    egb_large* large = egb_large_cache_take_(EGB_UNIT_BYTES, bytes);
    large            = large != NULL ? large : egb_large_cache_take_empty_(EGB_UNIT_BYTES, bytes);
    if (large != NULL) {
        region   = large->range.start;
        is_empty = large->epoch == 0;
        egb_large_leave_(large);
        egb_large_drop_record_(large);
    }
    egb_os_unlock_(&large_lock);
    if (is_empty) {
        egb_keep_note_got_(bytes);
    }
    return region;
}

bool egb_large_take_over_(void* region, size_t bytes)
{
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_os_can_split_() ? egb_large_new_record_() : NULL;
    if (large != NULL) {
        large->range.start = region;
        large->range.bytes = bytes;
        large->mapping     = 0;
        egb_large_enter_(large);
        egb_large_cache_add_(large);
    }
    egb_os_unlock_(&large_lock);
    return large != NULL;
}

static size_t release(uint32_t before, size_t bytes, bool with_quarantine)
{
    egb_unmap_list unmap_list = {NULL};
    egb_os_lock_(&large_lock);
    egb_large_cache_expire_(&unmap_list, before, bytes);
    if (with_quarantine) {
        egb_page_quarantine_flush_(&unmap_list);
    }
    egb_os_unlock_(&large_lock);
    return egb_unmap_list_release_(&unmap_list);
}

size_t egb_large_release_(uint32_t before, size_t bytes)
{
    return release(before, bytes, false);
}

size_t egb_large_release_all_(size_t bytes)
{
    return release(UINT32_MAX, bytes, true);
}

// ---- alloc --------------------------------------------------------------------------------------

size_t egb_large_units_for_(size_t bytes)
{
    const size_t unit = EGB_UNIT_BYTES;
    return bytes == 0 ? unit : egb_round_up_(bytes, unit);
}

void egb_large_note_bytes_(size_t more, size_t less)
{
    numbers.bytes += more - less;
    if (numbers.bytes > numbers.bytes_peak) {
        numbers.bytes_peak = numbers.bytes;
    }
    note_live();
}

// The bytes that the block's owner may use.
static size_t room_of_block(const egb_large* large)
{
    return egb_large_has_page_(large) ? large->guard.bytes : large->range.bytes;
}

static void* hand_out(egb_large* large)
{
    large->state        = EGB_LARGE_LIVE;
    large->epoch        = 1;
    large->owner.serial = 0;
    numbers.allocations++;
    numbers.guarded_allocations += egb_large_has_page_(large) ? 1 : 0;
    numbers.in_use++;
    if (numbers.in_use > numbers.peak) {
        numbers.peak = numbers.in_use;
    }
    egb_large_note_bytes_(large->range.bytes, 0);
    return egb_large_start_(large);
}

// A long block that must be zero comes fresh from the system, and the cached region that would
// serve goes back instead: else a program with only such requests would collect regions. During a
// freeze there are no fresh regions.
void* egb_large_take_cached_(size_t align, size_t whole, bool zeroed)
{
    egb_unmap_list unmap_list = {NULL};
    void*          block      = NULL;
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_cache_take_(align, whole);
    if (large != NULL && zeroed && whole > ZEROED_BYTES_MAX && !egb_is_frozen_()) {
        egb_large_cache_give_later_(&unmap_list, large);
    } else if (large != NULL) {
        block = hand_out(large);
    }
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
    return block != NULL && zeroed ? __builtin_memset(block, 0, whole) : block;
}

void* egb_large_take_empty_(size_t align, size_t whole, bool zeroed)
{
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_cache_take_empty_(align, whole);
    void* const      block = large != NULL ? hand_out(large) : NULL;
    egb_os_unlock_(&large_lock);
    if (block == NULL) {
        return NULL;
    }
    egb_keep_note_got_(whole);
    const bool is_zero = !zeroed || egb_os_forgets_to_zero_(block);
    return is_zero ? block : __builtin_memset(block, 0, whole);
}

// NULL: the system refused.
static void* map_region(size_t align, size_t whole)
{
    void* const region = egb_obtain_region_(whole, align);
    if (region != NULL && egb_obtain_pages_(region, whole, 0, NULL) != EGB_OK) {
        egb_os_release_(region, whole);
        return NULL;
    }
    return region;
}

// `guard`: the block's place between guard pages; NULL: it has none.
static void* alloc_fresh(size_t align, size_t whole, const egb_guard_page* guard)
{
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_new_record_();
    egb_os_unlock_(&large_lock);
    if (large == NULL) {
        return NULL;
    }
    void* const region = map_region(align, whole);
    large->range.start = region;
    large->range.bytes = whole;
    if (guard != NULL) {
        large->guard = *guard;
    }
    const bool is_made = region != NULL && (guard == NULL || egb_guard_page_close_pages_(large));
    egb_os_lock_(&large_lock);
    void* block = NULL;
    if (is_made) {
        egb_large_note_mapping_(large);
        egb_large_enter_(large);
        block = hand_out(large);
    } else {
        egb_large_drop_record_(large);
    }
    egb_os_unlock_(&large_lock);
    if (!is_made && region != NULL) {
        egb_os_release_(region, whole);
    }
    return block;
}

void* egb_large_map_(size_t align, size_t whole)
{
    return alloc_fresh(align, whole, NULL);
}

// A small block in the oldest region of the quarantine. NULL: the quarantine is not more than half
// full, the region has another size, or the system refused.
static void* alloc_quarantined(size_t whole, const egb_guard_page* guard)
{
    egb_unmap_list unmap_list = {NULL};
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_page_quarantine_take_(whole);
    if (large != NULL) {
        large->guard = *guard;
    }
    egb_os_unlock_(&large_lock);
    if (large == NULL) {
        return NULL;
    }
    const bool is_open = egb_guard_page_open_block_(large);
    egb_os_lock_(&large_lock);
    void* const block = is_open ? hand_out(large) : NULL;
    if (!is_open) {
        egb_large_unmap_later_(&unmap_list, large);
    }
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
    return block;
}

// During a freeze no block gets a guard page. NULL: serve the request without one.
void* egb_large_alloc_guarded_(size_t align, size_t bytes, const egb_guard_page* wish)
{
    egb_guard_page guard = *wish;
    const size_t   unit  = EGB_UNIT_BYTES;
    const size_t   whole = egb_is_frozen_() ? 0 : egb_guard_page_plan_(&guard, align, bytes);
    if (whole == 0 || !egb_guard_page_enter_(guard.is_sample)) {
        return NULL;
    }
    const size_t growth = guard.moved == 0 ? 0 : egb_round_up_(bytes / 2, unit);
    void*        block  = guard.is_sample ? alloc_quarantined(whole, &guard) : NULL;
    align               = align < unit ? unit : align;
    if (block == NULL) {
        block = alloc_fresh(align, whole + growth, &guard);
    }
    if (block == NULL && growth != 0) {
        block = alloc_fresh(align, whole, &guard);
    }
    if (block == NULL) {
        egb_guard_page_leave_(guard.is_sample);
    }
    return block;
}

void* egb_large_sample_(size_t align, size_t bytes, const void* site)
{
    if (!egb_guard_page_is_due_()) {
        return NULL;
    }
    const egb_guard_page wish  = {.is_sample = true, .alloc_site = site};
    void* const          block = egb_large_alloc_guarded_(align, bytes, &wish);
    if (block == NULL) {
        egb_guard_page_skip_();
    }
    return block;
}

void* egb_large_refuse_(void)
{
    egb_os_lock_(&large_lock);
    numbers.failures++;
    note_live();
    egb_os_unlock_(&large_lock);
    return NULL;
}

// ---- free ---------------------------------------------------------------------------------------

// The fault of a free of `block`; 0: none. A cached region knows only that blocks start with a
// unit.
static int fault_of_large(const egb_large* large, const void* block)
{
    if (large->state == EGB_LARGE_LIVE) {
        return egb_large_start_(large) == block ? 0 : EGB_MISUSE_INTERIOR;
    }
    const bool is_start = egb_large_has_page_(large) ? egb_large_start_(large) == block
                                                     : (uintptr_t)block % EGB_UNIT_BYTES == 0;
    return is_start ? EGB_MISUSE_DOUBLE_FREE : EGB_MISUSE_INTERIOR;
}

// Longer than the limit: the region alone goes. Else the oldest regions make room for it.
void egb_large_keep_(egb_large* large, egb_unmap_list* unmap_list)
{
    const size_t most = egb_large_cache_bytes_max_(numbers.bytes, numbers.bytes_peak);
    if (large->range.bytes > most) {
        egb_keep_note_given_(large->range.bytes, large->range.bytes);
        egb_large_cache_give_later_(unmap_list, large);
    } else {
        egb_large_cache_add_(large);
        egb_large_cache_limit_(unmap_list, most);
    }
}

void egb_large_limit_cache_(void)
{
    egb_unmap_list unmap_list = {NULL};
    egb_os_lock_(&large_lock);
    egb_large_cache_limit_(
        &unmap_list, egb_large_cache_bytes_max_(numbers.bytes, numbers.bytes_peak)
    );
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
}

static void stop_counting(egb_large* large)
{
    const egb_large_counted none = {0, 0};
    egb_large_sizes_remove_(&large->counted);
    large->counted = none;
}

// The block is no longer in use. The caller still handles its guard page, if any.
static void take_back(egb_large* large, egb_unmap_list* unmap_list, const void* site)
{
    large->state = EGB_LARGE_NEW;
    numbers.frees++;
    numbers.in_use--;
    stop_counting(large);
    egb_large_note_bytes_(0, large->range.bytes);
    if (egb_large_has_page_(large)) {
        large->guard.free_site = site;
    } else {
        egb_large_keep_(large, unmap_list);
    }
}

// Makes the block's pages inaccessible and gives their memory back. During a freeze the region is
// cached for the next request; a region that the system refuses to close is unmapped.
static void put_in_quarantine(egb_large* large)
{
    const egb_guard_page none       = {0};
    const bool           is_open    = egb_is_frozen_() && egb_guard_page_open_(large);
    const bool           is_closed  = !is_open && egb_guard_page_close_(large);
    egb_unmap_list       unmap_list = {NULL};
    egb_guard_page_leave_(large->guard.is_sample);
    egb_os_lock_(&large_lock);
    if (is_closed) {
        egb_page_quarantine_add_(large, &unmap_list);
    } else if (is_open) {
        large->guard = none;
        egb_large_keep_(large, &unmap_list);
    } else {
        egb_large_unmap_later_(&unmap_list, large);
    }
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
}

// Checks the patterns around the freed block.
static void quarantine_and_check(egb_large* large, egb_finding* finding)
{
    (void)egb_guard_page_check_(large, finding);
    finding->history.free_site = NULL;  // that is the call that finds it
    put_in_quarantine(large);
}

bool egb_large_free_(void* block, const void* site, egb_finding* finding)
{
    const egb_finding none       = {.block = block, .index = EGB_NO_INDEX};
    egb_unmap_list    unmap_list = {NULL};
    *finding                     = none;
    egb_os_lock_(&large_lock);
    egb_large* const large   = egb_large_at_(block);
    const bool       is_with = large != NULL && egb_large_has_page_(large);
    finding->kind            = large == NULL ? 0 : fault_of_large(large, block);
    const bool is_freed      = large != NULL && finding->kind == 0;
    if (is_freed) {
        take_back(large, &unmap_list, site);
    } else if (is_with) {
        finding->history = egb_guard_page_history_(large);
    }
    egb_os_unlock_(&large_lock);
    (void)egb_unmap_list_release_(&unmap_list);
    if (is_freed && is_with) {
        quarantine_and_check(large, finding);
    }
    return large != NULL;
}

// ---- sizes --------------------------------------------------------------------------------------

void egb_large_note_size_(const void* block, size_t bytes)
{
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_at_(block);
    if (large != NULL) {
        stop_counting(large);
    }
    if (large != NULL && bytes != 0) {
        large->counted = egb_large_sizes_add_(bytes);
    }
    egb_os_unlock_(&large_lock);
}

void egb_large_each_size_(egb_large_size_fn visit, void* user)
{
    for (size_t i = 0; i < EGB_LARGE_SIZES; i++) {
        egb_os_lock_(&large_lock);
        const egb_large_size one = egb_large_sizes_at_(i);
        egb_os_unlock_(&large_lock);
        if (one.requests != 0) {
            visit(&one, user);
        }
    }
}

void egb_large_count_sizes_anew_(void)
{
    egb_os_lock_(&large_lock);
    egb_large_sizes_restart_();
    egb_os_unlock_(&large_lock);
}

// ---- owners -------------------------------------------------------------------------------------

static uint64_t owner_serial;  // needs the lock

void egb_large_note_owner_(const void* block, size_t bytes, const void* site, double scale)
{
    const uint64_t now    = egb_os_milliseconds_();
    const uint32_t thread = egb_os_thread_number_();
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_at_(block);
    if (large != NULL) {
        const egb_large_owner owner = {++owner_serial, now, bytes, site, scale, thread, NULL};
        large->owner                = owner;
    }
    egb_os_unlock_(&large_lock);
}

void egb_large_forget_owner_(const void* block)
{
    egb_os_lock_(&large_lock);
    egb_large* const large = egb_large_at_(block);
    if (large != NULL) {
        large->owner.serial = 0;
    }
    egb_os_unlock_(&large_lock);
}

uint64_t egb_large_serial_(void)
{
    egb_os_lock_(&large_lock);
    const uint64_t serial = owner_serial;
    egb_os_unlock_(&large_lock);
    return serial;
}

// ---- questions ----------------------------------------------------------------------------------

size_t egb_large_bytes_(const void* address)
{
    egb_os_lock_(&large_lock);
    const egb_large* const large   = egb_large_at_(address);
    const bool             is_live = large != NULL && large->state == EGB_LARGE_LIVE;
    const bool             is_in =
        is_live && (uintptr_t)address - (uintptr_t)egb_large_start_(large) < room_of_block(large);
    const size_t bytes = is_in ? room_of_block(large) : 0;
    egb_os_unlock_(&large_lock);
    return bytes;
}

bool egb_large_is_guarded_(const void* block)
{
    egb_os_lock_(&large_lock);
    const egb_large* const large = egb_large_at_(block);
    const bool             is    = large != NULL && egb_large_has_page_(large);
    egb_os_unlock_(&large_lock);
    return is;
}

size_t egb_large_moved_(const void* block)
{
    egb_os_lock_(&large_lock);
    const egb_large* const large = egb_large_at_(block);
    const size_t           moved = large != NULL ? large->guard.moved : 0;
    egb_os_unlock_(&large_lock);
    return moved;
}

bool egb_large_is_live_(const void* block)
{
    egb_os_lock_(&large_lock);
    const egb_large* const large   = egb_large_at_(block);
    const bool             is_live = large != NULL && fault_of_large(large, block) == 0;
    egb_os_unlock_(&large_lock);
    return is_live;
}

egb_large_held egb_large_held_(void)
{
    egb_os_lock_(&large_lock);
    const egb_large_held held = {
        .in_use      = numbers.bytes,
        .cached      = egb_large_cache_bytes_(),
        .quarantined = egb_page_quarantine_bytes_(),
    };
    egb_os_unlock_(&large_lock);
    return held;
}

void egb_large_count_(egb_large_numbers* out)
{
    egb_os_lock_(&large_lock);
    *out                = numbers;
    out->cached         = egb_large_cache_count_() + egb_page_quarantine_count_();
    out->cached_bytes   = egb_large_cache_bytes_() + egb_page_quarantine_bytes_();
    out->guarded_in_use = egb_guard_page_in_use_(&out->guarded_samples);
    out->quarantined    = egb_page_quarantine_count_();
    egb_os_unlock_(&large_lock);
}

// ---- fork ---------------------------------------------------------------------------------------

void egb_large_lock_(void)
{
    egb_os_lock_(&large_lock);
}

void egb_large_unlock_(void)
{
    egb_os_unlock_(&large_lock);
}

bool egb_large_is_free_soon_(int milliseconds)
{
    return egb_os_is_free_soon_(&large_lock, milliseconds);
}

void egb_large_reset_(void)
{
    egb_os_lock_reset_(&large_lock);
    egb_guard_page_reset_();
}

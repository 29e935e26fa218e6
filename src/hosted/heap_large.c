// SPDX-License-Identifier: MIT
// Large blocks: each a region of whole units of addresses, which the chunk map knows as the root's,
// with a record where a chunk would be. What comes of freed ones is in heap_kept.c; those that end
// at a guard page are in heap_guarded.c, too.
#include "guard.h"
#include "heap_guarded.h"
#include "heap_kept.h"
#include "seal.h"

// A kept region of up to so many bytes is made zero by writing to it: quicker than the page faults
// of a fresh one, if its pages are used.
enum { ZEROED_BYTES_MAX = 1 << 20 };

static egb_os_mutex large_lock;  // keeps all that follows, and what is in heap_kept.c
static struct {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
    size_t   in_use;
    size_t   peak;
    size_t   bytes;
    size_t   bytes_peak;
    uint64_t guarded_allocations;
} numbers;

bool egb_large_make_room(void)
{
    egb_doomed doomed = {NULL};
    if (egb_is_sealed()) {
        return false;
    }
    egb_os_lock(&large_lock);
    egb_retired_flush(&doomed);
    egb_os_unlock(&large_lock);
    return egb_doomed_release(&doomed) != 0;
}

void* egb_large_pass_on(size_t bytes)
{
    void* region = NULL;
    egb_os_lock(&large_lock);
    egb_large* const large = egb_os_can_split() ? egb_kept_take(EGB_UNIT_BYTES, bytes) : NULL;
    if (large != NULL) {
        region = large->region;
        egb_chunk_map_clear(region, bytes);
        egb_large_drop_record(large);
    }
    egb_os_unlock(&large_lock);
    return region;
}

size_t egb_large_release(uint32_t turn, size_t bytes)
{
    egb_doomed doomed = {NULL};
    egb_os_lock(&large_lock);
    egb_kept_expire(&doomed, turn, bytes);
    if (turn == UINT32_MAX) {
        egb_retired_flush(&doomed);
    }
    egb_os_unlock(&large_lock);
    return egb_doomed_release(&doomed);
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

static void* start_of_block(const egb_large* large)
{
    return (char*)large->region + large->guard.lead;
}

static bool is_guarded(const egb_large* large)
{
    return large->guard.bytes != 0;
}

// How many bytes its owner may use.
static size_t room_of_block(const egb_large* large)
{
    return is_guarded(large) ? large->guard.bytes : large->bytes;
}

static void* hand_out(egb_large* large)
{
    large->state = EGB_LARGE_LIVE;
    numbers.allocations++;
    numbers.guarded_allocations += is_guarded(large) ? 1 : 0;
    numbers.in_use++;
    if (numbers.in_use > numbers.peak) {
        numbers.peak = numbers.in_use;
    }
    note_bytes(large->bytes, 0);
    return start_of_block(large);
}

// A long block that is all zero comes fresh from the system, and a region that would have served
// another goes back for it: a program that takes only such blocks would else collect them. When the
// library is sealed there is nothing fresh.
static void* alloc_kept(size_t align, size_t whole, bool zeroed)
{
    egb_doomed doomed = {NULL};
    void*      block  = NULL;
    egb_os_lock(&large_lock);
    egb_large* const large = egb_kept_take(align, whole);
    if (large != NULL && zeroed && whole > ZEROED_BYTES_MAX && !egb_is_sealed()) {
        egb_large_doom(&doomed, large);
    } else if (large != NULL) {
        block = hand_out(large);
    }
    egb_os_unlock(&large_lock);
    (void)egb_doomed_release(&doomed);
    if (block != NULL && zeroed) {
        (void)__builtin_memset(block, 0, whole);
    }
    return block;
}

// NULL: refused. The record is then still the caller's.
static void* map_region(size_t align, size_t whole, egb_large* large)
{
    void* const region = egb_ask_reserve(whole, align);
    if (region == NULL) {
        return NULL;
    }
    large->region = region;
    large->bytes  = whole;
    if (egb_ask_commit(region, whole, 0, NULL) != EGB_OK ||
        !egb_large_enter(region, whole, large)) {
        egb_os_release(region, whole);
        return NULL;
    }
    return region;
}

// `guard`: the block ends at a guard page; NULL: it does not.
static void* alloc_fresh(size_t align, size_t whole, const egb_guarded* guard)
{
    egb_os_lock(&large_lock);
    egb_large* const large = egb_large_new_record();
    if (large != NULL && guard != NULL) {
        large->guard = *guard;
    }
    egb_os_unlock(&large_lock);
    if (large == NULL) {
        return NULL;
    }
    bool is_there = map_region(align, whole, large) != NULL;
    if (is_there && guard != NULL && !egb_guarded_close_page(large)) {
        egb_chunk_map_clear(large->region, whole);
        egb_os_release(large->region, whole);
        is_there = false;
    }
    egb_os_lock(&large_lock);
    void* const block = is_there ? hand_out(large) : NULL;
    if (!is_there) {
        egb_large_drop_record(large);
    }
    egb_os_unlock(&large_lock);
    return block;
}

// A small block where the oldest was that waits in quarantine, when that is half full. NULL: it is
// not, or the system refused.
static void* alloc_retired(size_t whole, const egb_guarded* guard)
{
    egb_doomed doomed = {NULL};
    egb_os_lock(&large_lock);
    egb_large* const large = egb_retired_take(whole);
    if (large != NULL) {
        large->guard = *guard;
    }
    egb_os_unlock(&large_lock);
    if (large == NULL) {
        return NULL;
    }
    const bool is_open = egb_guarded_open_block(large);
    egb_os_lock(&large_lock);
    void* const block = is_open ? hand_out(large) : NULL;
    if (!is_open) {
        egb_large_doom(&doomed, large);
    }
    egb_os_unlock(&large_lock);
    (void)egb_doomed_release(&doomed);
    return block;
}

// What is sealed asks for none. NULL: the request is to be served as ever.
static void* alloc_guarded(size_t align, size_t bytes, bool is_sample, const void* site)
{
    egb_guarded  guard;
    const size_t unit  = EGB_UNIT_BYTES;
    const size_t whole = egb_is_sealed() ? 0 : egb_guarded_plan(&guard, align, bytes);
    if (whole == 0 || !egb_guarded_enter(is_sample)) {
        return NULL;
    }
    guard.is_sample  = is_sample;
    guard.alloc_site = site;
    void* block      = is_sample ? alloc_retired(whole, &guard) : NULL;
    if (block == NULL) {
        block = alloc_fresh(align < unit ? unit : align, whole, &guard);
    }
    if (block == NULL) {
        egb_guarded_leave(is_sample);
    }
    return block;
}

void* egb_large_sample(size_t align, size_t bytes, const void* site)
{
    if (!egb_guarded_is_due()) {
        return NULL;
    }
    void* const block = alloc_guarded(align, bytes, true, site);
    if (block == NULL) {
        egb_guarded_skip();
    }
    return block;
}

static void* refuse(void)
{
    egb_os_lock(&large_lock);
    numbers.failures++;
    egb_os_unlock(&large_lock);
    return NULL;
}

static bool fails_on_purpose_here(const void* site)
{
    static uint64_t count;  // atomic
    egb_fail        fail = egb_heap_large_fail();
    fail.count           = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return egb_fail_is_set(&fail) && egb_fail_now(&fail, site);
}

void* egb_large_alloc(size_t align, size_t bytes, bool zeroed, const void* site)
{
    if (bytes > PTRDIFF_MAX || !egb_heap_is_made() || fails_on_purpose_here(site)) {
        return refuse();
    }
    egb_heap_tick();
    const size_t whole = units_for(bytes);
    void*        block = egb_guards_large() ? alloc_guarded(align, bytes, false, site) : NULL;
    align              = align < EGB_UNIT_BYTES ? EGB_UNIT_BYTES : align;
    if (block == NULL) {
        block = alloc_kept(align, whole, zeroed);
    }
    if (block == NULL) {
        block = alloc_fresh(align, whole, NULL);
    }
    // What the heap had kept is of use only to a request of about its size.
    const bool is_alike = block == NULL && !egb_is_sealed() && whole <= egb_heap_held();
    if (block == NULL && ((is_alike && egb_heap_trim(0) != 0) || egb_large_make_room())) {
        block = alloc_fresh(align, whole, NULL);
    }
    egb_seal_report(egb_heap_pool(), site);
    return block != NULL ? block : refuse();
}

// ---- free ---------------------------------------------------------------------------------------

// What is wrong with freeing `block`: 0 is nothing. Of what is kept, no more is known than that
// blocks start with a unit.
static int fault_of_large(const egb_large* large, const void* block)
{
    if (large->state == EGB_LARGE_LIVE) {
        return start_of_block(large) == block ? 0 : EGB_EVENT_INTERIOR;
    }
    const bool is_start =
        is_guarded(large) ? start_of_block(large) == block : (uintptr_t)block % EGB_UNIT_BYTES == 0;
    return is_start ? EGB_EVENT_DOUBLE_FREE : EGB_EVENT_INTERIOR;
}

// Keeps a region that is no block's any more, or not.
static void keep(egb_large* large, egb_doomed* doomed)
{
    const size_t most = egb_kept_bytes_max(numbers.bytes, numbers.bytes_peak);
    if (large->bytes > most) {
        egb_large_doom(doomed, large);
    } else {
        egb_kept_add(large);
        egb_kept_limit(doomed, most);
    }
}

// From now on it is no block in use. What comes of one with a guard page is still to be done.
static void take_back(egb_large* large, egb_doomed* doomed, const void* site)
{
    large->state = EGB_LARGE_NEW;
    numbers.frees++;
    numbers.in_use--;
    note_bytes(0, large->bytes);
    if (is_guarded(large)) {
        large->guard.free_site = site;
    } else {
        keep(large, doomed);
    }
}

// Nobody may use the block's pages any more, and they are no memory. When the library is sealed it
// becomes a region as any other, for the next request; what the system refuses to close goes.
static void retire(egb_large* large)
{
    const egb_guarded none      = {0};
    const bool        is_open   = egb_is_sealed() && egb_guarded_open(large);
    const bool        is_closed = !is_open && egb_guarded_close(large);
    egb_doomed        doomed    = {NULL};
    egb_guarded_leave(large->guard.is_sample);
    egb_os_lock(&large_lock);
    if (is_closed) {
        egb_retired_add(large, &doomed);
    } else if (is_open) {
        large->guard = none;
        keep(large, &doomed);
    } else {
        egb_large_doom(&doomed, large);
    }
    egb_os_unlock(&large_lock);
    (void)egb_doomed_release(&doomed);
}

// Looks at what is around the block, which is nobody's any more.
static void retire_and_look(egb_large* large, egb_finding* finding)
{
    (void)egb_guarded_look(large, finding);
    finding->history.free_site = NULL;  // that is the call which finds it
    retire(large);
}

bool egb_large_free(void* block, const void* site)
{
    egb_finding finding = {.block = block, .index = EGB_NO_INDEX};
    egb_doomed  doomed  = {NULL};
    egb_os_lock(&large_lock);
    egb_large* const large   = egb_large_at(block);
    const bool       is_with = large != NULL && is_guarded(large);
    finding.kind             = large == NULL ? 0 : fault_of_large(large, block);
    const bool is_freed      = large != NULL && finding.kind == 0;
    if (is_freed) {
        take_back(large, &doomed, site);
    } else if (is_with) {
        finding.history = egb_guarded_history(large);
    }
    egb_os_unlock(&large_lock);
    (void)egb_doomed_release(&doomed);
    if (is_freed && is_with) {
        retire_and_look(large, &finding);
    }
    if (finding.kind != 0) {
        egb_pool_report_finding(egb_heap_pool(), &finding, site);
    }
    return large != NULL;
}

// ---- resize -------------------------------------------------------------------------------------

static void set_place(egb_large* large, void* region, size_t bytes)
{
    egb_os_lock(&large_lock);
    note_bytes(bytes, large->bytes);
    large->region = region;
    large->bytes  = bytes;
    egb_os_unlock(&large_lock);
}

// The end of the block is kept, as if it had been one. False: there is no memory for its record.
static bool cut_end(egb_large* large, size_t whole)
{
    egb_doomed doomed = {NULL};
    egb_os_lock(&large_lock);
    egb_large* const end = egb_large_new_record();
    if (end != NULL) {
        end->region = (char*)large->region + whole;
        end->bytes  = large->bytes - whole;
        egb_chunk_map_pass_on(end->region, end->bytes, (egb_chunk_*)(void*)end);
        note_bytes(whole, large->bytes);
        large->bytes = whole;
        keep(end, &doomed);
    }
    egb_os_unlock(&large_lock);
    (void)egb_doomed_release(&doomed);
    return end != NULL;
}

// The addresses behind a smaller block may be another's as soon as they are given back: so the map
// forgets them before.
static bool shrink(egb_large* large, size_t whole)
{
    if (egb_os_can_split()) {
        return cut_end(large, whole);
    }
    char* const  tail       = (char*)large->region + whole;
    const size_t tail_bytes = large->bytes - whole;
    egb_chunk_map_clear(tail, tail_bytes);
    if (egb_os_resize(large->region, large->bytes, whole) != EGB_OK) {
        (void
        )egb_large_enter(tail, tail_bytes, large);  // it was there: nothing is to be made for it
        return false;
    }
    set_place(large, large->region, whole);
    return true;
}

static egb_status extend(egb_large* large, size_t whole)
{
    if (!egb_may_ask()) {
        return EGB_NO_MEMORY;
    }
    const egb_status status = egb_os_resize(large->region, large->bytes, whole);
    if (status != EGB_OK) {
        return status;
    }
    if (!egb_large_enter((char*)large->region + large->bytes, whole - large->bytes, large)) {
        (void)egb_os_resize(large->region, whole, large->bytes);
        return EGB_NO_MEMORY;
    }
    set_place(large, large->region, whole);
    return EGB_OK;
}

static bool move_to(egb_large* large, void* to, size_t whole)
{
    void* const  from  = large->region;
    const size_t bytes = large->bytes;
    if (!egb_large_enter(to, whole, large)) {
        egb_os_release(to, whole);
        return false;
    }
    egb_chunk_map_clear(from, bytes);
    const egb_status status = egb_os_move(from, bytes, to, whole);
    if (status != EGB_OK) {
        (void)egb_large_enter(from, bytes, large);
        egb_chunk_map_clear(to, whole);
        if (status == EGB_UNSUPPORTED) {
            egb_os_release(to, whole);
        }
        return false;
    }
    set_place(large, to, whole);
    return true;
}

// Into what is kept behind the block. False: there is not as much.
static bool extend_into_kept(egb_large* large, size_t whole)
{
    egb_os_lock(&large_lock);
    const bool is_done = egb_kept_give_behind(large, whole - large->bytes);
    if (is_done) {
        note_bytes(whole, large->bytes);
        large->bytes = whole;
    }
    egb_os_unlock(&large_lock);
    return is_done;
}

// Where it is, or elsewhere, but without copying.
static egb_status grow_to(egb_large* large, size_t whole)
{
    const egb_status status = extend(large, whole);
    if (status != EGB_NO_MEMORY) {
        return status;
    }
    void* const to = egb_ask_reserve(whole, EGB_UNIT_BYTES);
    return to != NULL && move_to(large, to, whole) ? EGB_OK : EGB_NO_MEMORY;
}

// An eighth more than is asked for, which costs addresses but no memory until it is touched: a
// block that grows step by step is not moved at each. Where addresses are short, just what is asked
// for.
static bool grow(egb_large* large, size_t bytes)
{
    const size_t exact = units_for(bytes);
    const size_t whole = units_for(bytes <= PTRDIFF_MAX / 2 ? bytes + bytes / 8 : bytes);
    if (extend_into_kept(large, whole) || extend_into_kept(large, exact)) {
        return true;
    }
    const egb_status status = grow_to(large, whole);
    return status == EGB_OK ||
           (status == EGB_NO_MEMORY && whole != exact && grow_to(large, exact) == EGB_OK);
}

// Nobody else has to do with the record as long as its block is in use: what this call changes of
// it, only askers read.
void* egb_large_resize(void* block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    egb_os_lock(&large_lock);
    egb_large* const large    = egb_large_at(block);
    const bool       is_exact = large != NULL && is_guarded(large);
    const bool       may_stay = is_exact && egb_guarded_set_bytes(large, bytes);
    egb_os_unlock(&large_lock);
    if (large == NULL || is_exact) {
        return may_stay ? block : NULL;
    }
    const bool is_done =
        bytes <= large->bytes ? shrink(large, units_for(bytes)) : grow(large, bytes);
    return is_done ? large->region : NULL;
}

// ---- questions ----------------------------------------------------------------------------------

size_t egb_large_bytes(const void* address)
{
    egb_os_lock(&large_lock);
    const egb_large* const large   = egb_large_at(address);
    const bool             is_live = large != NULL && large->state == EGB_LARGE_LIVE;
    const bool             is_in =
        is_live && (uintptr_t)address - (uintptr_t)start_of_block(large) < room_of_block(large);
    const size_t bytes = is_in ? room_of_block(large) : 0;
    egb_os_unlock(&large_lock);
    return bytes;
}

bool egb_large_is_guarded(const void* block)
{
    egb_os_lock(&large_lock);
    const egb_large* const large = egb_large_at(block);
    const bool             is    = large != NULL && is_guarded(large);
    egb_os_unlock(&large_lock);
    return is;
}

bool egb_large_is_live(const void* block)
{
    egb_os_lock(&large_lock);
    const egb_large* const large   = egb_large_at(block);
    const bool             is_live = large != NULL && fault_of_large(large, block) == 0;
    egb_os_unlock(&large_lock);
    return is_live;
}

size_t egb_large_held(size_t* cached)
{
    egb_os_lock(&large_lock);
    *cached           = egb_kept_bytes() + egb_retired_bytes();
    const size_t held = numbers.bytes + *cached;
    egb_os_unlock(&large_lock);
    return held;
}

void egb_large_count(egb_heap_numbers* out)
{
    egb_os_lock(&large_lock);
    out->large_allocations   = numbers.allocations;
    out->large_frees         = numbers.frees;
    out->large_failures      = numbers.failures;
    out->large_in_use        = numbers.in_use;
    out->large_peak          = numbers.peak;
    out->large_bytes         = numbers.bytes;
    out->large_bytes_peak    = numbers.bytes_peak;
    out->cached              = egb_kept_count() + egb_retired_count();
    out->cached_bytes        = egb_kept_bytes() + egb_retired_bytes();
    out->guarded_allocations = numbers.guarded_allocations;
    out->guarded_in_use      = egb_guarded_in_use(&out->guarded_samples);
    out->quarantined         = egb_retired_count();
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

bool egb_large_is_free_soon(void)
{
    const bool has = egb_os_lock_soon(&large_lock);
    if (has) {
        egb_os_unlock(&large_lock);
    }
    return has;
}

void egb_large_reset(void)
{
    egb_os_lock_reset(&large_lock);
    egb_guarded_reset();
}

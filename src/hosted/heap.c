// SPDX-License-Identifier: MIT
// The heap's size classes, and requests that go to them.
#include "guard.h"
#include "heap_guarded.h"
#include "heap_private.h"
#include "seal.h"

EGB_ALIGNAS_(8) uint64_t egb_heap_small_[EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ + 1];

typedef struct size_class {
    EGB_ALIGNAS_(8) uint64_t key;  // of its pool, atomic; 0: none yet
    uint64_t requests;             // atomic, as the next
    uint64_t requested_bytes;
} size_class;

static egb_os_mutex classes_lock;  // keeps the making of pools
static size_class   classes[EGB_HEAP_CLASSES];
EGB_ALIGNAS_(8) static uint64_t top_key;  // of the pool above them, atomic
static bool     is_measured;              // atomic
static egb_fail large_fail;               // made before the key of that pool

// ---- pools --------------------------------------------------------------------------------------

static egb_pool pool_of_place(const uint64_t* place)
{
    return egb_pool_of_key_(__atomic_load_n(place, __ATOMIC_ACQUIRE));
}

egb_pool egb_heap_pool(void)
{
    return pool_of_place(&top_key);
}

egb_pool egb_heap_pool_of_class(size_t index)
{
    return pool_of_place(&classes[index].key);
}

// "heap 64".
static void name_class(char* name, size_t block_bytes)
{
    char digits[8];
    int  count = 0;
    for (; block_bytes != 0; block_bytes /= 10) {
        digits[count++] = "0123456789"[block_bytes % 10];
    }
    const char* const heap = "heap ";
    for (int i = 0; heap[i] != '\0'; i++) {
        *name++ = heap[i];
    }
    while (count > 0) {
        *name++ = digits[--count];
    }
    *name = '\0';
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
static void store_key(uint64_t* place, egb_pool pool)
{
    __atomic_store_n(place, egb_pool_key_(pool), __ATOMIC_RELEASE);
}

// The classes' lock is held.
static bool make_top(void)
{
    const egb_pool_options options = {.name = "heap", .block_bytes = EGB_HEAP_STEP_BYTES_};
    if (egb_pool_alive(egb_heap_pool())) {
        return true;
    }
    large_fail = egb_fail_of("large");
    egb_pool pool;
    if (egb_pool_make(&pool, &options) != EGB_OK) {
        return false;
    }
    store_key(&top_key, pool);
    return true;
}

egb_fail egb_heap_large_fail(void)
{
    return large_fail;
}

bool egb_heap_is_made(void)
{
    if (egb_pool_alive(egb_heap_pool())) {
        return true;
    }
    if (!egb_world_is_made()) {  // not with the classes' lock: see there
        return false;
    }
    egb_os_lock(&classes_lock);
    const bool is_made = make_top();
    egb_os_unlock(&classes_lock);
    egb_seal_report(egb_heap_pool(), EGB_CALLER());  // not with the lock: the handler may come back
    return is_made;
}

// A chunk that is wholly free can be another class's, which a short one is sooner than a long one.
// Still shorter ones than these cost time, and many of them mappings, of which a process has not as
// many as it likes.
static void shape_chunks(egb_pool pool)
{
    enum { CHUNK_BYTES = 256 << 10, SHORT_CHUNK_BYTES = 64 << 10, SHORT_BLOCK_BYTES_MAX = 1024 };
    egb_control* const control = egb_pool_lock(pool);
    if (control == NULL) {
        return;
    }
    const size_t bytes = control->block_bytes;
    egb_growing_lengthen_lazily(
        &control->growing, bytes <= SHORT_BLOCK_BYTES_MAX ? SHORT_CHUNK_BYTES : CHUNK_BYTES
    );
    if (control->guards == NULL) {  // they have the blocks start elsewhere anyway
        egb_growing_lead(&control->growing, egb_heap_class_lead(bytes));
    }
    egb_pool_unlock(control);
}

static bool make_class(size_t index)
{
    size_class* const one   = &classes[index];
    const size_t      bytes = egb_heap_class_bytes(index);
    char              name[EGB_NAME_BYTES];
    name_class(name, bytes);
    const egb_pool_options options = {
        .name        = name,
        .block_bytes = bytes,
        .block_align = egb_heap_class_align(bytes),
        .parent      = egb_heap_pool(),
    };
    egb_pool pool = pool_of_place(&one->key);
    if (egb_pool_alive(pool)) {
        return true;
    }
    if (egb_pool_make(&pool, &options) != EGB_OK) {
        return false;
    }
    shape_chunks(pool);
    store_key(&one->key, pool);  // not before: then others take blocks of it
    return true;
}

// Lets the hot path find the pool of a small class, from the size behind that of the class before.
// The classes' lock is held.
static void publish(size_t index, uint64_t key)
{
    const size_t first =
        index == 0 ? 0 : egb_heap_class_bytes(index - 1) / EGB_HEAP_STEP_BYTES_ + 1;
    const size_t last = egb_heap_class_bytes(index) / EGB_HEAP_STEP_BYTES_;
    for (size_t i = first; i <= last && i <= EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_; i++) {
        EGB_STORE_(egb_heap_small_[i], key);
    }
}

// Whether the hot path knows about the class as it should.
static bool is_published(size_t index, uint64_t key)
{
    const size_t step = egb_heap_class_bytes(index) / EGB_HEAP_STEP_BYTES_;
    return step > EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ || EGB_LOAD_(is_measured) ||
           EGB_LOAD_(egb_heap_small_[step]) == key;
}

// The pool of a class, made if need be; the null pool: refused.
static egb_pool use_class(size_t index, const void* site)
{
    size_class* const one  = &classes[index];
    egb_pool          pool = pool_of_place(&one->key);
    if (egb_pool_alive(pool) && is_published(index, egb_pool_key_(pool))) {
        return pool;
    }
    const egb_pool none = {0, 0};
    if (!egb_world_is_made()) {  // not with the classes' lock: see there
        return none;
    }
    egb_os_lock(&classes_lock);
    pool = make_top() && make_class(index) ? pool_of_place(&one->key) : none;
    if (!egb_is_null(pool) && !EGB_LOAD_(is_measured)) {
        publish(index, egb_pool_key_(pool));
    }
    egb_os_unlock(&classes_lock);
    egb_seal_report(egb_heap_pool(), site);  // not with the lock: the handler may come back
    return pool;
}

// ---- requests -----------------------------------------------------------------------------------

static void count_request(size_class* one, size_t bytes)
{
    (void)__atomic_fetch_add(&one->requests, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&one->requested_bytes, bytes, __ATOMIC_RELAXED);
}

static void* alloc_from_pool(size_t index, size_t bytes, const void* site)
{
    const egb_pool pool  = use_class(index, site);
    void*          block = NULL;
    if (egb_is_null(pool) || egb_pool_pop_(egb_pool_key_(pool), &block)) {
        return block;
    }
    const egb_request request = {.bytes = bytes, .site = site};
    return egb_pool_alloc_for(pool, &request);
}

// What this thread hands out before it comes by here again: the block it just got, and what its
// magazine was filled with. Where requests are measured each comes by.
static size_t blocks_till_next(size_t index)
{
    const uint64_t             key      = egb_pool_key_(egb_heap_pool_of_class(index));
    const egb_magazine_* const magazine = egb_magazine_of_key_(key);
    const intptr_t             top      = (intptr_t)EGB_LOAD_(magazine->top);
    const intptr_t             bottom   = egb_magazine_bottom(magazine);
    const bool is_full = !EGB_LOAD_(is_measured) && top > bottom && EGB_LOAD_(magazine->key) == key;
    return 1 + (is_full ? (size_t)(top - bottom) / sizeof(egb_entry_) : 0);
}

// A class that is to fail on purpose does: that is known once it has its pool.
static void* sample(size_t index, size_t align, size_t bytes, const void* site)
{
    return egb_guards_samples() && !egb_pool_fails(use_class(index, site))
               ? egb_large_sample(align, bytes, site)
               : NULL;
}

static bool is_refusal_meant(size_t index)
{
    return egb_is_sealed() || egb_pool_fails(egb_heap_pool_of_class(index));
}

static void* alloc_from_class(size_t index, size_t align, size_t bytes, const void* site)
{
    egb_heap_tick();
    void* block = sample(index, align, bytes, site);
    if (block != NULL) {
        return block;
    }
    block = alloc_from_pool(index, bytes, site);
    if (block == NULL && !is_refusal_meant(index) && egb_heap_trim(0) != 0) {
        block = alloc_from_pool(index, bytes, site);  // what other classes had kept may be of use
    }
    if (egb_guards_samples()) {
        egb_guarded_count(blocks_till_next(index));
    }
    if (block != NULL && EGB_LOAD_(is_measured)) {
        count_request(&classes[index], bytes);
    }
    return block;
}

void* egb_malloc_more_(size_t bytes, const void* site)
{
    site = site != NULL ? site : EGB_CALLER();
    if (EGB_UNLIKELY(bytes > EGB_HEAP_CLASS_BYTES_MAX)) {
        return egb_large_alloc(1, bytes, false, site);
    }
    const size_t index = egb_heap_class_of(bytes);
    void*        block;
    const bool   is_hot =
        !EGB_LOAD_(is_measured) && egb_pool_pop_(EGB_LOAD_(classes[index].key), &block);
    return is_hot ? block : alloc_from_class(index, 1, bytes, site);
}

// What C++ libraries make of a size that is to be aligned, before they ask for it.
static size_t padded_to(size_t bytes, size_t align)
{
    return (bytes + (align - 1)) & ~(align - 1);
}

// The class for a request that is not large: of blocks of a multiple of the alignment the first
// whose blocks are so aligned. A power of two, whose are, is among any eight classes.
static size_t class_for(size_t align, size_t bytes)
{
    size_t index = egb_heap_class_of(padded_to(bytes == 0 ? 1 : bytes, align));
    while (egb_heap_class_align(egb_heap_class_bytes(index)) < align) {
        index++;
    }
    return index;
}

static bool is_large(size_t align, size_t bytes)
{
    return bytes > EGB_HEAP_CLASS_BYTES_MAX || align > EGB_HEAP_CLASS_BYTES_MAX ||
           (align > EGB_HEAP_STEP_BYTES_ && align > egb_os_page_bytes());
}

static void* alloc_aligned(size_t align, size_t bytes, const void* site)
{
    void* block;
    if (align <= EGB_HEAP_STEP_BYTES_) {
        return egb_malloc_pop_(bytes, &block) ? block : egb_malloc_more_(bytes, site);
    }
    const size_t padded = padded_to(bytes, align);
    if (padded <= EGB_HEAP_NATURAL_BYTES_MAX && padded != 0 && egb_malloc_pop_(padded, &block)) {
        return block;
    }
    const size_t index = class_for(align, bytes);
    const bool   is_hot =
        !EGB_LOAD_(is_measured) && egb_pool_pop_(EGB_LOAD_(classes[index].key), &block);
    return is_hot ? block : alloc_from_class(index, align, bytes, site);
}

void* egb_heap_alloc(size_t align, size_t bytes, bool zeroed, const void* site)
{
    if (is_large(align, bytes)) {
        return egb_large_alloc(align, bytes, zeroed, site);
    }
    void* const block = alloc_aligned(align, bytes, site);
    if (block != NULL && zeroed) {
        (void)__builtin_memset(block, 0, bytes);
    }
    return block;
}

void* egb_calloc_from_(size_t count, size_t bytes, const void* site)
{
    size_t whole;
    return __builtin_mul_overflow(count, bytes, &whole) ? NULL
                                                        : egb_heap_alloc(1, whole, true, site);
}

void* egb_calloc(size_t count, size_t bytes)
{
    return egb_calloc_from_(count, bytes, EGB_CALLER());
}

void* egb_aligned_alloc_from_(size_t align, size_t bytes, const void* site)
{
    const bool is_power_of_two = align != 0 && (align & (align - 1)) == 0;
    return is_power_of_two ? egb_heap_alloc(align, bytes, false, site) : NULL;
}

void* egb_aligned_alloc(size_t align, size_t bytes)
{
    return egb_aligned_alloc_from_(align, bytes, EGB_CALLER());
}

// ---- realloc ------------------------------------------------------------------------------------

// Whether a block of `room` bytes is still right for `bytes`: not more than twice too large, if a
// smaller class exists.
static bool is_right_size(size_t room, size_t bytes)
{
    return bytes <= room && (bytes > room / 2 || room <= EGB_HEAP_STEP_BYTES_);
}

static void* move_to_another(void* block, size_t room, size_t bytes, const void* site)
{
    void* const other = egb_heap_alloc(1, bytes, false, site);
    if (other == NULL) {
        return bytes <= room ? block : NULL;  // to become smaller is never refused
    }
    (void)__builtin_memcpy(other, block, bytes < room ? bytes : room);
    egb_free_from(block, site);
    return other;
}

static void* realloc_large(void* block, size_t bytes, const void* site)
{
    const size_t room       = egb_large_bytes(block);
    const bool   is_guarded = egb_large_is_guarded(block);
    if (!is_guarded && is_right_size(room, bytes)) {
        return block;
    }
    const bool  may_stay = is_guarded || bytes > EGB_HEAP_CLASS_BYTES_MAX;
    void* const resized  = may_stay ? egb_large_resize(block, bytes) : NULL;
    return resized != NULL ? resized : move_to_another(block, room, bytes, site);
}

// Of pools of which the map does not know it. From level "guard" on it moves always: there the room
// is what was asked for.
static void* realloc_in_pool(egb_pool pool, void* block, size_t bytes, const void* site)
{
    const egb_control* const owner = egb_control_of(pool);
    const size_t             room  = egb_block_bytes(block);
    const bool               stays = owner == NULL || EGB_LOAD_(owner->level) < EGB_LEVEL_GUARD;
    return stays && is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
}

void* egb_realloc_from_(void* block, size_t bytes, const void* site)
{
    if (block == NULL) {
        return egb_heap_alloc(1, bytes, false, site);
    }
    const size_t room = egb_plain_bytes(block);
    if (room != 0) {
        return is_right_size(room, bytes) ? block : move_to_another(block, room, bytes, site);
    }
    const egb_pool pool = egb_pool_of(block);
    if (egb_pool_is_live(pool, block)) {
        return realloc_in_pool(pool, block, bytes, site);
    }
    if (egb_large_is_live(block)) {
        return realloc_large(block, bytes, site);
    }
    egb_free_refused(block, site);
    return NULL;
}

void* egb_realloc(void* block, size_t bytes)
{
    return egb_realloc_from_(block, bytes, EGB_CALLER());
}

// ---- frees of a known size ----------------------------------------------------------------------

// Whether a pool gives the blocks for such requests.
static bool is_class_for(const egb_control* owner, size_t align, size_t bytes)
{
    return !is_large(align, bytes) &&
           EGB_LOAD_(classes[class_for(align, bytes)].key) == egb_pool_key_(egb_handle_of(owner));
}

// With guards it is known how many bytes were asked for, too, but of a block that was damaged: the
// free will say that.
static size_t asked_bytes(const egb_control* owner, const void* block, size_t bytes)
{
    egb_control* const control = bytes == 0 ? NULL : egb_pool_lock(egb_handle_of(owner));
    if (control != NULL) {
        const bool is_known = control->guards != NULL && egb_guard_knows_bytes(block);
        bytes               = is_known ? egb_guard_bytes(control, block) : bytes;
        egb_pool_unlock(control);
    }
    return bytes;
}

static bool
has_size_in_pool(const egb_control* owner, const void* block, size_t align, size_t bytes)
{
    const size_t asked =
        EGB_LOAD_(owner->guards) == NULL ? bytes : asked_bytes(owner, block, bytes);
    return is_class_for(owner, align, bytes) &&
           (asked == bytes || asked == padded_to(bytes, align));
}

static bool has_size_if_large(const void* block, size_t align, size_t bytes)
{
    const size_t room = egb_large_bytes(block);
    if (egb_large_is_guarded(block)) {
        return room == (bytes == 0 ? 1 : bytes) || room == padded_to(bytes, align);
    }
    return is_large(align, bytes) && bytes <= room && (align > 1 || bytes > room / 2);
}

// Of what is no block in use the free itself will say what it is.
static bool has_size(const egb_control* owner, const void* block, size_t align, size_t bytes)
{
    const egb_pool pool    = owner == NULL ? egb_pool_of(block) : egb_handle_of(owner);
    const bool     is_live = egb_pool_is_live(pool, block);
    if (is_live ? !egb_key_is_checked_(pool.slot) : !egb_large_is_live(block)) {
        return true;
    }
    if (((uintptr_t)block & (align - 1)) != 0 || bytes == EGB_HEAP_ANY_BYTES) {
        return ((uintptr_t)block & (align - 1)) == 0;
    }
    return is_live ? owner != NULL && has_size_in_pool(owner, block, align, bytes)
                   : has_size_if_large(block, align, bytes);
}

static void report_size(const egb_control* owner, const void* block, const void* site)
{
    const egb_pool          pool    = egb_pool_of(block);
    const bool              is_in   = !egb_is_null(pool);
    const egb_chunk_* const chunk   = is_in ? egb_chunk_map_find(owner, block) : NULL;
    const size_t            index   = chunk == NULL ? EGB_NO_INDEX : egb_chunk_index(chunk, block);
    egb_finding             finding = {EGB_EVENT_WRONG_SIZE, block, index, {.bytes = 0}};
    if (!is_in) {
        finding.history = egb_large_history(block);
    }
    egb_pool_report_finding(is_in ? pool : egb_heap_pool(), &finding, site);
}

// Without a look at the block: most of what comes here is right, and only not small.
static bool is_of_class(const void* block, size_t bytes)
{
    const egb_unit* const unit = egb_unit_of(block);
    const uint64_t        key  = egb_key_of_unit(unit);
    return key != 0 && bytes <= EGB_HEAP_CLASS_BYTES_MAX &&
           key == EGB_LOAD_(classes[egb_heap_class_of(bytes)].key) &&
           EGB_LOAD_(unit->block_bytes) != 0;
}

static void check_size(const void* block, size_t align, size_t bytes, const void* site)
{
    const egb_control* const owner = egb_chunk_map_owner(block);
    if (!has_size(owner, block, align, bytes)) {
        report_size(owner, block, site);
    }
}

void egb_heap_free_sized(void* block, size_t align, size_t bytes, const void* site)
{
    const bool is_right = block == NULL || (align == 1 && is_of_class(block, bytes));
    if (!is_right) {
        check_size(block, align, bytes, site);
    }
    egb_free_from(block, site);
}

void egb_free_aligned_(void* block, size_t align)
{
    egb_heap_free_sized(block, align, EGB_HEAP_ANY_BYTES, EGB_CALLER());
}

void egb_free_aligned_sized_(void* block, size_t align, size_t bytes)
{
    egb_heap_free_sized(block, align, bytes, EGB_CALLER());
}

// ---- numbers ------------------------------------------------------------------------------------

void egb_heap_measure(bool is_on)
{
    egb_os_lock(&classes_lock);
    EGB_STORE_(is_measured, is_on);
    for (size_t i = 0; is_on && i < sizeof egb_heap_small_ / sizeof egb_heap_small_[0]; i++) {
        EGB_STORE_(egb_heap_small_[i], 0);
    }
    egb_os_unlock(&classes_lock);
}

void egb_heap_count_classes(egb_heap_numbers* out)
{
    out->is_measured = EGB_LOAD_(is_measured);
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        egb_heap_class* const one = &out->classes[i];
        one->pool                 = egb_heap_pool_of_class(i);
        one->block_bytes          = egb_heap_class_bytes(i);
        one->requests             = EGB_LOAD_(classes[i].requests);
        one->requested_bytes      = EGB_LOAD_(classes[i].requested_bytes);
    }
}

// ---- fork ---------------------------------------------------------------------------------------

bool egb_heap_try_lock_classes(void)
{
    return egb_os_try_lock(&classes_lock);
}

void egb_heap_lock_classes(void)
{
    egb_os_lock(&classes_lock);
}

void egb_heap_unlock_classes(void)
{
    egb_os_unlock(&classes_lock);
}

void egb_heap_reset_classes(void)
{
    egb_os_lock_reset(&classes_lock);
}

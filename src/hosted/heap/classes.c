// SPDX-License-Identifier: MIT
// The heap's size classes, and the requests that they serve.
#include "../../os/os.h"
#include "../cache/magazine.h"
#include "../pool/events.h"
#include "../pool/fork.h"
#include "../pool/layout.h"
#include "../pool/registry.h"
#include "../pool/request.h"
#include "../region/early.h"
#include "../region/guard_page.h"
#include "../region/keep.h"
#include "../region/obtain.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "../stacks/stacks.h"
#include "heap.h"

EGB_ALIGNAS_(8) uint64_t egb_heap_small_[EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ + 1];

typedef struct size_class {
    EGB_ALIGNAS_(8) uint64_t key;  // its pool's, atomic; 0: no pool yet
} size_class;

EGB_AMONG_DATA_ static egb_os_mutex classes_lock;  // protects the making of pools
EGB_AMONG_DATA_ static size_class   classes[EGB_HEAP_CLASSES];
EGB_AMONG_DATA_ EGB_ALIGNAS_(8) static uint64_t top_key;  // the key of the pool above them, atomic

// The requests of each class while they are counted. They may be counted in memory that outlives
// the process (eggbox/live.h), on top of those from before. All atomic.
EGB_ALIGNAS_(8) static egb_live_class own_requests[EGB_HEAP_CLASSES];
static egb_live_class* request_counts = own_requests;

EGB_AMONG_DATA_ static bool           is_measured;   // atomic
EGB_AMONG_DATA_ static egb_fault_plan large_faults;  // both made before the key of that pool
EGB_AMONG_DATA_ static egb_level      large_level;

// ---- the lock of the classes --------------------------------------------------------------------

// The child of a fork has no thread that calls egb_heap_purge().
static void reset_classes(void)
{
    egb_keep_is_forked_();
    egb_os_lock_reset_(&classes_lock);
}

static egb_fork_hook fork_hook = {
    .before    = egb_heap_lock_classes_,
    .in_parent = egb_heap_unlock_classes_,
    .in_child  = reset_classes,
};

bool egb_heap_try_lock_classes_(void)
{
    egb_fork_add_hook_(&fork_hook);
    return egb_os_try_lock_(&classes_lock);
}

void egb_heap_lock_classes_(void)
{
    egb_fork_add_hook_(&fork_hook);
    egb_os_lock_(&classes_lock);
}

void egb_heap_unlock_classes_(void)
{
    egb_os_unlock_(&classes_lock);
}

// ---- pools --------------------------------------------------------------------------------------

static egb_pool pool_of_place(const uint64_t* place)
{
    return egb_pool_of_key_(__atomic_load_n(place, __ATOMIC_ACQUIRE));
}

egb_pool egb_heap_pool(void)
{
    return pool_of_place(&top_key);
}

uint64_t egb_heap_key_of_class_(size_t index)
{
    return EGB_LOAD_(classes[index].key);
}

egb_pool egb_heap_pool_of_class_(size_t index)
{
    return pool_of_place(&classes[index].key);
}

// Writes a name such as "heap 64".
static void name_class(char name[EGB_NAME_BYTES], size_t block_bytes)
{
    static const char heap[] = "heap ";
    char              digits[EGB_DIGITS_BYTES];
    egb_text_copy_(name, EGB_NAME_BYTES, heap);
    egb_text_copy_(
        name + sizeof heap - 1,
        EGB_NAME_BYTES - (sizeof heap - 1),
        egb_text_digits_(digits, block_bytes, 10, 1)
    );
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
static void store_key(uint64_t* place, egb_pool pool)
{
    __atomic_store_n(place, egb_pool_key_(pool), __ATOMIC_RELEASE);
}

// The lock of the classes is held.
static bool make_top(void)
{
    const egb_pool_options options = {.name = "heap", .block_bytes = EGB_HEAP_STEP_BYTES_};
    if (egb_pool_alive(egb_heap_pool())) {
        return true;
    }
    large_faults = egb_fault_plan_of_("large");
    (void)egb_level_of_("heap", EGB_LEVEL_DEFAULT, &large_level);
    egb_pool pool;
    if (egb_pool_make_(&pool, &options) != EGB_OK) {
        return false;
    }
    if (large_level == EGB_LEVEL_SAMPLE) {
        egb_samples_begin_();
    }
    EGB_STORE_(egb_threads_.on_crowd_end, egb_heap_end_crowd_);
    EGB_STORE_(egb_threads_.on_few_left, egb_heap_wake_purger_);
    store_key(&top_key, pool);
    return true;
}

bool egb_heap_tracks_large_(void)
{
    return egb_heap_is_made_() && large_level == EGB_LEVEL_TRACK;
}

bool egb_heap_samples_large_(void)
{
    return egb_heap_is_made_() && large_level == EGB_LEVEL_SAMPLE;
}

egb_fault_plan egb_heap_large_faults_(void)
{
    return large_faults;
}

bool egb_heap_is_made_(void)
{
    if (egb_pool_alive(egb_heap_pool())) {
        return true;
    }
    if (!egb_registry_is_made_()) {  // not with the lock of the classes: see there
        return false;
    }
    egb_heap_lock_classes_();
    const bool is_made = make_top();
    egb_heap_unlock_classes_();
    egb_freeze_report_(
        egb_heap_pool(), EGB_CALLER()
    );  // not with the lock: the handler may call back
    return is_made;
}

// A wholly free chunk can go to another class: short chunks become free sooner. Shorter ones than
// these cost time, and many of them use up mappings, which are limited.
static void shape_chunks(egb_pool pool)
{
    enum { CHUNK_BYTES = 256 << 10, SHORT_CHUNK_BYTES = 64 << 10, SHORT_BLOCK_BYTES_MAX = 1024 };
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        return;
    }
    const size_t bytes       = control->block_bytes;
    control->depot.is_shared = true;
    egb_growing_lengthen_lazily_(
        &control->depot.growing, bytes <= SHORT_BLOCK_BYTES_MAX ? SHORT_CHUNK_BYTES : CHUNK_BYTES
    );
    if (control->layout->has_fixed_bytes) {  // here blocks start elsewhere anyway
        egb_growing_lead_(&control->depot.growing, egb_heap_class_lead_(bytes));
    }
    egb_pool_unlock_(control);
}

// As the live file has it: the place of the class's pool there; 0: it has none yet.
static uint64_t place_of_pool(size_t index)
{
    return egb_heap_pool_of_class_(index).slot / EGB_SLOT_STEP_;
}

static bool make_class(size_t index)
{
    size_class* const one   = &classes[index];
    const size_t      bytes = egb_heap_class_bytes_(index);
    char              name[EGB_NAME_BYTES];
    name_class(name, bytes);
    const egb_pool_options options = {
        .name        = name,
        .block_bytes = bytes,
        .block_align = egb_heap_class_align_(bytes),
        .parent      = egb_heap_pool(),
    };
    egb_pool pool = pool_of_place(&one->key);
    if (egb_pool_alive(pool)) {
        return true;
    }
    if (egb_pool_make_(&pool, &options) != EGB_OK) {
        return false;
    }
    shape_chunks(pool);
    store_key(&one->key, pool);  // last: from now on other threads take blocks of it
    EGB_STORE_(EGB_LOAD_(request_counts)[index].pool, place_of_pool(index));
    return true;
}

// Lets the hot path find the pool of a small class, from one byte more than the previous class's
// size. The lock of the classes is held.
static void publish(size_t index, uint64_t key)
{
    const size_t first =
        index == 0 ? 0 : egb_heap_class_bytes_(index - 1) / EGB_HEAP_STEP_BYTES_ + 1;
    const size_t last = egb_heap_class_bytes_(index) / EGB_HEAP_STEP_BYTES_;
    for (size_t i = first; i <= last && i <= EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_; i++) {
        EGB_STORE_(egb_heap_small_[i], key);
    }
}

// Whether the hot path's table is up to date for the class.
static bool is_published(size_t index, uint64_t key)
{
    const size_t step = egb_heap_class_bytes_(index) / EGB_HEAP_STEP_BYTES_;
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
    if (!egb_registry_is_made_()) {  // not with the lock of the classes: see there
        return none;
    }
    egb_heap_lock_classes_();
    pool = make_top() && make_class(index) ? pool_of_place(&one->key) : none;
    if (!egb_is_null_(pool) && !EGB_LOAD_(is_measured)) {
        publish(index, egb_pool_key_(pool));
    }
    egb_heap_unlock_classes_();
    egb_freeze_report_(egb_heap_pool(), site);  // not with the lock: the handler may call back
    return pool;
}

#if EGB_IS_MALLOC
void egb_heap_begin_(void)
{
    (void)egb_heap_is_made_();
    __atomic_store_n(&egb_early_is_over_, true, __ATOMIC_RELEASE);
    egb_free(egb_heap_alloc_(1, 1, false, EGB_CALLER()));
}

void egb_heap_main_begins_(void)
{
    egb_os_c_library_has_begun_();
    egb_stacks_begin_late_();
}
#endif

// ---- requests -----------------------------------------------------------------------------------

static void count_request(size_t index, size_t bytes)
{
    egb_live_class* const one = &EGB_LOAD_(request_counts)[index];
    (void)__atomic_fetch_add(&one->requests, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&one->requested_bytes, bytes, __ATOMIC_RELAXED);
}

static void* alloc_from_pool(size_t index, size_t bytes, const void* site)
{
    const egb_pool pool  = use_class(index, site);
    void*          block = NULL;
    if (egb_is_null_(pool) || egb_pool_pop_(egb_pool_key_(pool), &block)) {
        return block;
    }
    egb_request request = {.bytes = bytes, .site = site};
    (void)egb_pool_alloc_now_(pool, &request, &block);
    return block;
}

// Once for each request, however many attempts were made. A class that got no pool has no number of
// its own.
static void count_refusal(size_t index)
{
    const egb_pool pool = egb_heap_pool_of_class_(index);
    egb_pool_fail_(egb_is_null_(pool) ? egb_heap_pool() : pool);
}

// Blocks that this thread hands out before it comes by here again: the new block, and those that
// its magazine was refilled with. If requests are measured every request comes by.
static size_t blocks_till_next(size_t index)
{
    const uint64_t             key      = egb_pool_key_(egb_heap_pool_of_class_(index));
    const egb_magazine_* const magazine = egb_magazine_of_key_(key);
    const intptr_t             top      = (intptr_t)EGB_LOAD_(magazine->top);
    const intptr_t             bottom   = egb_magazine_bottom_(magazine);
    const bool is_full = !EGB_LOAD_(is_measured) && top > bottom && EGB_LOAD_(magazine->key) == key;
    return 1 + (is_full ? (size_t)(top - bottom) / sizeof(egb_entry_) : 0);
}

// A class with fault injection has no sampled guard pages; that is known once it has its pool. The
// class does not see a block that has one, and level "sample" asks for it here.
static void* sample(size_t index, size_t align, size_t bytes, const void* site)
{
    const bool  may_be = egb_guard_page_samples_() && !egb_pool_has_faults_(use_class(index, site));
    void* const block  = may_be ? egb_large_sample_(align, bytes, site) : NULL;
    if (block != NULL) {
        egb_heap_sample_large_(block, bytes, site);
    }
    return block;
}

static bool is_refusal_meant(size_t index)
{
    return egb_is_frozen_() || egb_pool_has_faults_(egb_heap_pool_of_class_(index));
}

static void* alloc_from_class(size_t index, size_t align, size_t bytes, const void* site)
{
    if (egb_is_early_()) {
        return egb_early_alloc_(align, bytes);
    }
    egb_heap_purge_step_();
    void* block = sample(index, align, bytes, site);
    if (block != NULL) {
        return block;
    }
    block = alloc_from_pool(index, bytes, site);
    if (block == NULL && !is_refusal_meant(index) && egb_heap_give_up_(0) != 0) {
        block = alloc_from_pool(index, bytes, site);  // memory cached for other classes may help
    }
    if (egb_guard_page_samples_()) {
        egb_guard_page_count_(blocks_till_next(index));
    }
    if (block == NULL) {
        count_refusal(index);
    } else if (EGB_LOAD_(is_measured)) {
        count_request(index, bytes);
    }
    return block;
}

void* egb_heap_alloc_more_(size_t bytes, const void* site)
{
    if (EGB_UNLIKELY(bytes > EGB_HEAP_CLASS_BYTES_MAX)) {
        return egb_heap_alloc_large_(1, bytes, false, site);
    }
    const size_t index = egb_heap_class_of_(bytes);
    void*        block;
    const bool   is_hot =
        !EGB_LOAD_(is_measured) && egb_pool_pop_(EGB_LOAD_(classes[index].key), &block);
    return is_hot ? block : alloc_from_class(index, 1, bytes, site);
}

// The class for a request that is not large: the first class with blocks of a multiple of the
// alignment that are so aligned. Any eight classes contain a power of two, whose blocks are.
size_t egb_heap_class_for_(size_t align, size_t bytes)
{
    size_t index = egb_heap_class_of_(egb_round_up_(bytes == 0 ? 1 : bytes, align));
    while (egb_heap_class_align_(egb_heap_class_bytes_(index)) < align) {
        index++;
    }
    return index;
}

bool egb_heap_is_large_(size_t align, size_t bytes)
{
    return bytes > EGB_HEAP_CLASS_BYTES_MAX || align > EGB_HEAP_CLASS_BYTES_MAX ||
           (align > EGB_HEAP_STEP_BYTES_ && align > egb_os_page_bytes_());
}

static void* alloc_aligned(size_t align, size_t bytes, const void* site)
{
    void* block;
    if (align <= EGB_HEAP_STEP_BYTES_) {
        return egb_malloc_from_(bytes, site);
    }
    const size_t padded = egb_round_up_(bytes, align);
    if (padded <= EGB_HEAP_NATURAL_BYTES_MAX && padded != 0 && egb_malloc_pop_(padded, &block)) {
        return block;
    }
    const size_t index = egb_heap_class_for_(align, bytes);
    const bool   is_hot =
        !EGB_LOAD_(is_measured) && egb_pool_pop_(EGB_LOAD_(classes[index].key), &block);
    return is_hot ? block : alloc_from_class(index, align, bytes, site);
}

void* egb_heap_alloc_(size_t align, size_t bytes, bool zeroed, const void* site)
{
    if (egb_heap_is_large_(align, bytes)) {
        return egb_heap_alloc_large_(align, bytes, zeroed, site);
    }
    void* const block = alloc_aligned(align, bytes, site);
    if (block != NULL && zeroed && !egb_is_early_()) {
        (void)__builtin_memset(block, 0, bytes);
    }
    return block;
}

void* egb_calloc_from_(size_t count, size_t bytes, const void* site)
{
    size_t whole;
    if (__builtin_mul_overflow(count, bytes, &whole)) {
        return NULL;
    }
    void* block;
    return EGB_LIKELY(egb_malloc_pop_(whole, &block)) ? __builtin_memset(block, 0, whole)
                                                      : egb_heap_alloc_(1, whole, true, site);
}

void* egb_aligned_alloc_from_(size_t align, size_t bytes, const void* site)
{
    if (egb_is_early_()) {  // here, because nobody knows yet how long a page is
        return egb_early_alloc_(align, bytes);
    }
    const bool is_power_of_two = egb_is_power_of_two_(align);
    return is_power_of_two ? egb_heap_alloc_(align, bytes, false, site) : NULL;
}

// ---- numbers ------------------------------------------------------------------------------------

void egb_heap_measure(bool is_on)
{
    egb_heap_lock_classes_();
    EGB_STORE_(is_measured, is_on);
    for (size_t i = 0; is_on && i < sizeof egb_heap_small_ / sizeof egb_heap_small_[0]; i++) {
        EGB_STORE_(egb_heap_small_[i], 0);
    }
    egb_heap_unlock_classes_();
}

static egb_live_class all_counted(size_t index)
{
    const egb_live_class* const now = EGB_LOAD_(request_counts);
    egb_live_class              out = {
                     .requests        = EGB_LOAD_(own_requests[index].requests),
                     .requested_bytes = EGB_LOAD_(own_requests[index].requested_bytes)
    };
    if (now != own_requests) {
        out.requests += EGB_LOAD_(now[index].requests);
        out.requested_bytes += EGB_LOAD_(now[index].requested_bytes);
    }
    return out;
}

void egb_heap_count_classes_(egb_heap_stats* out)
{
    out->is_measured = EGB_LOAD_(is_measured);
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        egb_heap_class* const one    = &out->classes[i];
        one->pool                    = egb_heap_pool_of_class_(i);
        one->block_bytes             = egb_heap_class_bytes_(i);
        const egb_live_class counted = all_counted(i);
        one->requests                = counted.requests;
        one->requested_bytes         = counted.requested_bytes;
    }
}

bool egb_heap_is_measured_(void)
{
    return EGB_LOAD_(is_measured);
}

void egb_heap_count_to_(egb_live_class* place)
{
    egb_heap_lock_classes_();
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        const egb_live_class counted = all_counted(i);
        EGB_STORE_(own_requests[i].requests, counted.requests);
        EGB_STORE_(own_requests[i].requested_bytes, counted.requested_bytes);
        if (place != NULL) {
            EGB_STORE_(place[i].pool, place_of_pool(i));
        }
    }
    EGB_STORE_(request_counts, place != NULL ? place : own_requests);
    egb_heap_unlock_classes_();
}

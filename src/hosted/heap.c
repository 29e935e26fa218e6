// SPDX-License-Identifier: MIT
// The heap's size classes, and requests that go to them.
#include "heap_private.h"

EGB_ALIGNAS_(8) uint64_t egb_heap_small_[EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ + 1];

typedef struct size_class {
    EGB_ALIGNAS_(8) uint64_t key;  // of its pool, atomic; 0: none yet
    uint64_t requests;             // atomic, as the next
    uint64_t requested_bytes;
} size_class;

static egb_os_mutex classes_lock;  // keeps the making of pools
static size_class   classes[EGB_HEAP_CLASSES];
EGB_ALIGNAS_(8) static uint64_t top_key;  // of the pool above them, atomic
static bool is_measured;                  // atomic

// ---- sizes --------------------------------------------------------------------------------------

// The position of the highest bit.
static unsigned high_bit(size_t number)
{
    return (unsigned)sizeof(long long) * 8 - 1 - (unsigned)__builtin_clzll(number);
}

// Sizes over 128 bytes by their highest bit and the next three: 2^7 is the first doubling.
size_t egb_heap_class_of(size_t bytes)
{
    if (bytes <= EGB_HEAP_FINE_BYTES_MAX) {
        return bytes == 0 ? 0 : (bytes - 1) / EGB_HEAP_STEP_BYTES_;
    }
    const unsigned doubling = high_bit(bytes - 1) - 7;
    return doubling * (size_t)EGB_HEAP_STEPS_TO_DOUBLE + ((bytes - 1) >> (doubling + 4));
}

size_t egb_heap_class_bytes(size_t index)
{
    if (index < EGB_HEAP_STEPS_TO_DOUBLE) {
        return (index + 1) * EGB_HEAP_STEP_BYTES_;
    }
    const size_t doubling = index / EGB_HEAP_STEPS_TO_DOUBLE - 1;
    const size_t step     = index % EGB_HEAP_STEPS_TO_DOUBLE + 1;
    return (EGB_HEAP_STEPS_TO_DOUBLE + step) << (doubling + 4);
}

// ---- pools --------------------------------------------------------------------------------------

static egb_pool pool_of_key(const uint64_t* place)
{
    const uint64_t key  = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    const egb_pool pool = {(uint32_t)key, (uint32_t)(key >> 32)};
    return pool;
}

egb_pool egb_heap_pool(void)
{
    return pool_of_key(&top_key);
}

egb_pool egb_heap_pool_of_class(size_t index)
{
    return pool_of_key(&classes[index].key);
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

// The largest power of two that divides the size, up to a page.
static size_t align_of_class(size_t block_bytes)
{
    const size_t natural = block_bytes & (0 - block_bytes);
    const size_t page    = egb_os_page_bytes();
    return natural < page ? natural : page;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
static bool make_pool(uint64_t* place, const egb_pool_options* options)
{
    egb_pool pool;
    if (egb_pool_create(&pool, options) != EGB_OK) {
        return false;
    }
    __atomic_store_n(place, egb_pool_key_(pool), __ATOMIC_RELEASE);
    return true;
}

// The classes' lock is held.
static bool make_top(void)
{
    const egb_pool_options options = {.name = "heap", .block_bytes = EGB_HEAP_STEP_BYTES_};
    return egb_pool_alive(egb_heap_pool()) || make_pool(&top_key, &options);
}

bool egb_heap_is_made(void)
{
    if (egb_pool_alive(egb_heap_pool())) {
        return true;
    }
    egb_os_lock(&classes_lock);
    const bool is_made = make_top();
    egb_os_unlock(&classes_lock);
    return is_made;
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
        .block_align = align_of_class(bytes),
        .parent      = egb_heap_pool(),
    };
    return egb_pool_alive(pool_of_key(&one->key)) || make_pool(&one->key, &options);
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
static egb_pool use_class(size_t index)
{
    size_class* const one  = &classes[index];
    egb_pool          pool = pool_of_key(&one->key);
    if (egb_pool_alive(pool) && is_published(index, egb_pool_key_(pool))) {
        return pool;
    }
    const egb_pool none = {0, 0};
    egb_os_lock(&classes_lock);
    pool = make_top() && make_class(index) ? pool_of_key(&one->key) : none;
    if (!egb_is_null(pool) && !EGB_LOAD_(is_measured)) {
        publish(index, egb_pool_key_(pool));
    }
    egb_os_unlock(&classes_lock);
    return pool;
}

// ---- requests -----------------------------------------------------------------------------------

static void count_request(size_class* one, size_t bytes)
{
    (void)__atomic_fetch_add(&one->requests, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&one->requested_bytes, bytes, __ATOMIC_RELAXED);
}

static void* alloc_from_pool(size_t index)
{
    const egb_pool pool = use_class(index);
    return egb_is_null(pool) ? NULL : egb_pool_alloc(pool);
}

static void* alloc_from_class(size_t index, size_t bytes)
{
    egb_heap_tick();
    void* block = alloc_from_pool(index);
    if (block == NULL && egb_heap_trim(0) != 0) {
        block = alloc_from_pool(index);  // what other classes had kept may be of use
    }
    if (block != NULL && EGB_LOAD_(is_measured)) {
        count_request(&classes[index], bytes);
    }
    return block;
}

void* egb_malloc_cold_(size_t bytes)
{
    return bytes <= EGB_HEAP_CLASS_BYTES_MAX ? alloc_from_class(egb_heap_class_of(bytes), bytes)
                                             : egb_large_alloc(1, bytes, false);
}

void* egb_malloc_more_(size_t bytes)
{
    if (EGB_UNLIKELY(bytes > EGB_HEAP_CLASS_BYTES_MAX || EGB_LOAD_(is_measured))) {
        return egb_malloc_cold_(bytes);
    }
    const size_t index = egb_heap_class_of(bytes);
    void*        block;
    return egb_heap_pop_(EGB_LOAD_(classes[index].key), &block) ? block
                                                                : alloc_from_class(index, bytes);
}

static void* alloc_aligned(size_t align, size_t bytes)
{
    if (align <= EGB_HEAP_STEP_BYTES_) {
        return egb_malloc(bytes);
    }
    // A power of two is among any eight classes, and a multiple of every smaller one.
    size_t index = egb_heap_class_of(bytes < align ? align : bytes);
    while ((egb_heap_class_bytes(index) & (align - 1)) != 0) {
        index++;
    }
    void*      block;
    const bool is_hot =
        !EGB_LOAD_(is_measured) && egb_heap_pop_(EGB_LOAD_(classes[index].key), &block);
    return is_hot ? block : alloc_from_class(index, bytes);
}

void* egb_heap_alloc(size_t align, size_t bytes, bool zeroed)
{
    if (bytes > EGB_HEAP_CLASS_BYTES_MAX || align > egb_os_page_bytes() ||
        align > EGB_HEAP_CLASS_BYTES_MAX) {
        return egb_large_alloc(align, bytes, zeroed);
    }
    void* const block = alloc_aligned(align, bytes);
    if (block != NULL && zeroed) {
        (void)__builtin_memset(block, 0, bytes);
    }
    return block;
}

void* egb_calloc(size_t count, size_t bytes)
{
    size_t whole;
    return __builtin_mul_overflow(count, bytes, &whole) ? NULL : egb_heap_alloc(1, whole, true);
}

void* egb_aligned_alloc(size_t align, size_t bytes)
{
    const bool is_power_of_two = align != 0 && (align & (align - 1)) == 0;
    return is_power_of_two ? egb_heap_alloc(align, bytes, false) : NULL;
}

// ---- realloc ------------------------------------------------------------------------------------

// Whether a block of `room` bytes is still right for `bytes`: not more than twice too large, if a
// smaller class exists.
static bool is_right_size(size_t room, size_t bytes)
{
    return bytes <= room && (bytes > room / 2 || room <= EGB_HEAP_STEP_BYTES_);
}

static void* move_to_another(void* block, size_t room, size_t bytes)
{
    void* const other = egb_heap_alloc(1, bytes, false);
    if (other == NULL) {
        return bytes <= room ? block : NULL;  // to become smaller is never refused
    }
    (void)__builtin_memcpy(other, block, bytes < room ? bytes : room);
    egb_free(block);
    return other;
}

static void* realloc_large(void* block, size_t bytes)
{
    const size_t room = egb_large_bytes(block);
    if (is_right_size(room, bytes)) {
        return block;
    }
    void* const resized = bytes > EGB_HEAP_CLASS_BYTES_MAX ? egb_large_resize(block, bytes) : NULL;
    return resized != NULL ? resized : move_to_another(block, room, bytes);
}

void* egb_realloc(void* block, size_t bytes)
{
    if (block == NULL) {
        return egb_malloc(bytes);
    }
    const egb_control* const owner = egb_chunk_map_owner(block);
    const egb_pool           pool  = owner == NULL ? egb_pool_of(block) : egb_handle_of(owner);
    if (egb_pool_is_live(pool, block)) {
        const size_t room = owner == NULL ? egb_block_bytes(block) : EGB_LOAD_(owner->block_bytes);
        return is_right_size(room, bytes) ? block : move_to_another(block, room, bytes);
    }
    if (egb_large_is_live(block)) {
        return realloc_large(block, bytes);
    }
    egb_free_refused(block, EGB_CALLER());
    return NULL;
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

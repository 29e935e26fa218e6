// SPDX-License-Identifier: MIT
// A heap on static memory: size classes, each a fixed pool for threads and interrupts. After init
// only the pools change, each in its own critical sections; hence the heap itself has none.
#include "eggbox/board_heap.h"

#include "fixed_private.h"

// ---- init ---------------------------------------------------------------------------------------

static bool plan_is_possible(const egb_board_class* classes, size_t count)
{
    size_t before = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = classes[i].block_bytes;
        if (bytes % EGB_BOARD_ALIGN != 0 || bytes <= before || classes[i].count == 0) {
            return false;
        }
        before = bytes;
    }
    return count != 0;
}

// Makes a class from the start of the memory that is left, and takes it away from there.
static egb_status lay_out_class(
    egb_board_class* self, char** left, size_t* left_bytes, const egb_port* port, size_t reserve
)
{
    if (self->count > *left_bytes / self->block_bytes) {
        return EGB_INVALID;
    }
    const size_t bytes  = self->block_bytes * self->count;
    egb_status   status = egb_fixed_init(&self->pool, *left, bytes, self->block_bytes);
    if (status == EGB_OK) {
        const size_t most = self->count - 1;
        status            = egb_fixed_shared_init(
            &self->shared, &self->pool, port, reserve < most ? reserve : most
        );
    }
    *left += bytes;
    *left_bytes -= bytes;
    return status;
}

egb_status egb_board_init(
    egb_board_heap*  heap,
    void*            memory,
    size_t           memory_bytes,
    egb_board_class* classes,
    size_t           class_count,
    const egb_port*  port,
    size_t           reserve
)
{
    if (heap == NULL) {
        return EGB_INVALID;
    }
    heap->classes     = NULL;
    heap->class_count = 0;
    if (memory == NULL || classes == NULL || port == NULL ||
        (uintptr_t)memory % EGB_BOARD_ALIGN != 0 || !plan_is_possible(classes, class_count)) {
        return EGB_INVALID;
    }
    char* left = memory;
    for (size_t i = 0; i < class_count; i++) {
        const egb_status status = lay_out_class(&classes[i], &left, &memory_bytes, port, reserve);
        if (status != EGB_OK) {
            return status;
        }
    }
    heap->classes     = classes;
    heap->class_count = class_count;
    return EGB_OK;
}

// ---- alloc and free -----------------------------------------------------------------------------

static bool is_made_heap(const egb_board_heap* heap)
{
    return heap != NULL && heap->classes != NULL;
}

static bool is_made_heap_or_told(const egb_board_heap* heap, const void* site)
{
    if (!is_made_heap(heap)) {
        egb_report_(EGB_MISUSE_NO_POOL, heap, NULL, EGB_NO_INDEX, site);
        return false;
    }
    return true;
}

// Whether all blocks of a class are aligned, for a power of two.
static bool has_alignment(const egb_board_class* self, size_t align)
{
    return (((uintptr_t)self->pool.first | self->block_bytes) & (align - 1)) == 0;
}

static void* take_from_class(egb_board_class* self, bool is_urgent)
{
    return is_urgent ? egb_fixed_shared_alloc_urgent(&self->shared)
                     : egb_fixed_shared_alloc(&self->shared);
}

// A block of a class before `end`; NULL: none has one.
static void* take_before(
    const egb_board_heap*  heap,
    const egb_board_class* end,
    size_t                 bytes,
    size_t                 align,
    bool                   is_urgent
)
{
    void* block = NULL;
    for (egb_board_class* at = heap->classes; at != end && block == NULL; at++) {
        if (at->block_bytes >= bytes && has_alignment(at, align)) {
            block = take_from_class(at, is_urgent);
        }
    }
    return block;
}

static const egb_board_class* classes_end(const egb_board_heap* heap)
{
    return heap->classes + heap->class_count;
}

void* egb_board_alloc(egb_board_heap* heap, size_t bytes)
{
    return is_made_heap_or_told(heap, EGB_CALLER())
               ? take_before(heap, classes_end(heap), bytes, EGB_BOARD_ALIGN, false)
               : NULL;
}

void* egb_board_alloc_urgent(egb_board_heap* heap, size_t bytes)
{
    return is_made_heap_or_told(heap, EGB_CALLER())
               ? take_before(heap, classes_end(heap), bytes, EGB_BOARD_ALIGN, true)
               : NULL;
}

void* egb_board_aligned_alloc(egb_board_heap* heap, size_t align, size_t bytes)
{
    const bool is_power_of_two = align != 0 && (align & (align - 1)) == 0;
    return is_made_heap_or_told(heap, EGB_CALLER()) && is_power_of_two
               ? take_before(heap, classes_end(heap), bytes, align, false)
               : NULL;
}

// No call of the C library, which the core is without. `volatile` keeps the compiler from making
// one of the loop. A block has whole words.
static void clear_words(void* block, size_t bytes)
{
    volatile egb_word* const words = block;
    for (size_t i = 0; i < (bytes + EGB_WORD_BYTES - 1) / EGB_WORD_BYTES; i++) {
        words[i] = 0;
    }
}

static void copy_words(void* to, const void* from, size_t bytes)
{
    volatile egb_word* const words  = to;
    const egb_word* const    source = from;
    for (size_t i = 0; i < (bytes + EGB_WORD_BYTES - 1) / EGB_WORD_BYTES; i++) {
        words[i] = source[i];
    }
}

void* egb_board_calloc(egb_board_heap* heap, size_t count, size_t bytes)
{
    if (!is_made_heap_or_told(heap, EGB_CALLER()) || (bytes != 0 && count > SIZE_MAX / bytes)) {
        return NULL;
    }
    void* const block = take_before(heap, classes_end(heap), count * bytes, EGB_BOARD_ALIGN, false);
    if (block != NULL) {
        clear_words(block, count * bytes);
    }
    return block;
}

// The class in whose blocks `address` lies; NULL: none.
static egb_board_class* class_of(const egb_board_heap* heap, const void* address)
{
    for (egb_board_class* at = heap->classes; at != classes_end(heap); at++) {
        if ((uintptr_t)address - (uintptr_t)at->pool.first < at->block_bytes * at->count) {
            return at;
        }
    }
    return NULL;
}

static void free_in(egb_board_heap* heap, egb_board_class* of, void* block, const void* site)
{
    if (of == NULL) {
        egb_report_(EGB_MISUSE_FOREIGN, heap, block, EGB_NO_INDEX, site);
        return;
    }
    egb_fixed_shared_free(&of->shared, block);
}

void egb_board_free(egb_board_heap* heap, void* block)
{
    if (block != NULL && is_made_heap_or_told(heap, EGB_CALLER())) {
        free_in(heap, class_of(heap, block), block, EGB_CALLER());
    }
}

static bool is_held(const egb_board_class* of, const void* block)
{
    const egb_port* const port    = of->shared.port;
    const uintptr_t       before  = port->enter(port);
    const bool            is_live = egb_fixed_is_live(&of->pool, block);
    port->leave(port, before);
    return is_live;
}

// To a block of the heap, or NULL: then nothing moves.
static void move_block(egb_board_class* from, void* block, void* to, size_t bytes)
{
    if (to != NULL) {
        copy_words(to, block, bytes);
        egb_fixed_shared_free(&from->shared, block);
    }
}

void* egb_board_realloc(egb_board_heap* heap, void* block, size_t bytes)
{
    if (!is_made_heap_or_told(heap, EGB_CALLER())) {
        return NULL;
    }
    if (block == NULL) {
        return take_before(heap, classes_end(heap), bytes, EGB_BOARD_ALIGN, false);
    }
    egb_board_class* const from = class_of(heap, block);
    if (from == NULL || !is_held(from, block)) {
        free_in(heap, from, block, EGB_CALLER());  // says why not
        return NULL;
    }
    if (bytes > from->block_bytes) {
        void* const larger = take_before(heap, classes_end(heap), bytes, EGB_BOARD_ALIGN, false);
        move_block(from, block, larger, from->block_bytes);
        return larger;
    }
    void* const smaller = take_before(heap, from, bytes, EGB_BOARD_ALIGN, false);
    move_block(from, block, smaller, bytes);
    return smaller != NULL ? smaller : block;
}

// ---- questions ----------------------------------------------------------------------------------

size_t egb_board_usable(const egb_board_heap* heap, const void* block)
{
    const egb_board_class* const of = is_made_heap(heap) ? class_of(heap, block) : NULL;
    return of != NULL && egb_fixed_owns(&of->pool, block) ? of->block_bytes : 0;
}

size_t egb_board_available(const egb_board_heap* heap)
{
    size_t bytes = 0;
    for (size_t i = 0; is_made_heap(heap) && i < heap->class_count; i++) {
        const egb_board_class* const at = &heap->classes[i];
        bytes += (at->count - egb_fixed_shared_in_use(&at->shared)) * at->block_bytes;
    }
    return bytes;
}

size_t egb_board_class_in_use(const egb_board_heap* heap, size_t at)
{
    return is_made_heap(heap) && at < heap->class_count
               ? egb_fixed_shared_in_use(&heap->classes[at].shared)
               : 0;
}

size_t egb_board_class_peak(const egb_board_heap* heap, size_t at)
{
    return is_made_heap(heap) && at < heap->class_count
               ? egb_fixed_shared_peak(&heap->classes[at].shared)
               : 0;
}

bool egb_board_whole(const egb_board_heap* heap)
{
    bool is_whole = is_made_heap(heap);
    for (size_t i = 0; is_whole && i < heap->class_count; i++) {
        is_whole = egb_fixed_shared_whole(&heap->classes[i].shared);
    }
    return is_whole;
}

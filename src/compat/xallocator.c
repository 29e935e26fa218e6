// SPDX-License-Identifier: MIT
// The functions of xallocator.h: a pool for each size class of blocks, and one for each size of
// nodes.
#include "eggbox/compat/xallocator.h"
#include "eggbox/compat/stl_nodes.h"

#include "xallocator_private.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    HEADER_BYTES  = 8,  // the original's header before each block
    POOL_CLASSES  = 16,
    LARGE_CLASSES = 64 - 17,
    CLASSES       = POOL_CLASSES + LARGE_CLASSES,
    ALIGN_BYTES   = 16,

    // Free blocks are linked at their start. If they were a large power of two apart, all links
    // would share a few sets of the cache.
    COLOUR_FROM_BYTES = 1024,
    COLOUR_BYTES      = 64
};

static const uint32_t class_bytes[POOL_CLASSES] = {
    8,
    16,
    32,
    64,
    128,
    256,
    396,
    512,
    768,
    1024,
    2048,
    4096,
    8192,
    16384,
    32768,
    EGB_HEAP_CLASS_BYTES_MAX  // larger blocks are counted by their length
};

// All atomic.
static struct {
    EGB_ALIGNAS_(8) uint64_t pools[POOL_CLASSES];  // keys; 0: not made
    EGB_ALIGNAS_(8) uint64_t nodes[EGB_XNODE_STEPS_];
    uint64_t taken_before[POOL_CLASSES];  // allocations at the last purge
    size_t   count_before[POOL_CLASSES];  // blocks made before the last trim
    uint32_t order[CLASSES];              // the order of first use, from 1; 0: not used
    uint32_t ordered;
    size_t   in_use[LARGE_CLASSES];
    size_t   peak[LARGE_CLASSES];
    size_t   large_in_use;  // sum of in_use
    uint32_t calls;         // that no magazine served
    uint32_t is_purging;    // one thread at a time
    time_t   purged_at;     // time of the last purge
} x;

// ---- classes ------------------------------------------------------------------------------------

// The exponent of the smallest power of two that is not less than `bytes`.
static inline size_t log2_above(size_t bytes)
{
    return bytes <= 1 ? 0 : 64 - (size_t)__builtin_clzll((unsigned long long)bytes - 1);
}

// `size` is no more than PTRDIFF_MAX.
static inline size_t class_of(size_t size)
{
    const size_t bytes = size + HEADER_BYTES;
    const size_t power = log2_above(bytes);
    if (EGB_LIKELY(power <= 8)) {
        return power - 3;
    }
    if (power == 9) {
        return bytes <= 396 ? 6 : 7;
    }
    return power == 10 ? (bytes <= 768 ? 8 : 9) : power - 1;
}

static size_t bytes_of_class(size_t index)
{
    return index < POOL_CLASSES ? class_bytes[index] : (size_t)1 << (index + 1);
}

static void put_in_order(size_t index)
{
    uint32_t none = 0;
    if (EGB_LOAD_(x.order[index]) == 0) {
        const uint32_t next = __atomic_add_fetch(&x.ordered, 1, __ATOMIC_RELAXED);
        (void)__atomic_compare_exchange_n(
            &x.order[index], &none, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
        );
    }
}

// Returns the pool whose key is in `place`, and makes it if there is none. If several threads make
// it at the same time, all get the pool of the first. The null pool: refused.
static egb_pool pool_at(uint64_t* place, size_t block_bytes, size_t align, size_t index)
{
    uint64_t key = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (key != 0) {
        return egb_pool_of_key_(key);
    }
    char name[32];
    (void)snprintf(name, sizeof name, "xallocator %zu", block_bytes);
    const egb_pool_options options = {
        .name        = name,
        .block_bytes = block_bytes + (block_bytes < COLOUR_FROM_BYTES ? 0 : COLOUR_BYTES),
        .block_align = align,
        .level       = EGB_LEVEL_CHECK,  // under a sanitizer, too: programs rely on the order
    };
    egb_pool made = {0, 0};
    if (egb_pool_create(&made, &options) != EGB_OK) {
        return egb_pool_of_key_(__atomic_load_n(place, __ATOMIC_ACQUIRE));  // another thread's?
    }
    put_in_order(index);
    if (__atomic_compare_exchange_n(
            place, &key, egb_pool_key_(made), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
        )) {
        return made;
    }
    (void)egb_pool_destroy(made, EGB_DESTROY_FORCE);
    return egb_pool_of_key_(key);
}

static egb_pool class_pool(size_t index)
{
    return pool_at(&x.pools[index], class_bytes[index], ALIGN_BYTES, index);
}

static egb_pool node_pool(size_t step)
{
    const size_t bytes = step * EGB_XNODE_STEP_BYTES_;
    return pool_at(&x.nodes[step], bytes, 0, class_of(bytes));
}

egb_pool egb_xclass_pool_(size_t size, size_t* block_bytes)
{
    const egb_pool none  = {0, 0};
    const size_t   index = size > PTRDIFF_MAX - HEADER_BYTES ? CLASSES : class_of(size);
    if (index >= POOL_CLASSES) {
        return none;
    }
    *block_bytes = class_bytes[index];
    return class_pool(index);
}

// ---- purge --------------------------------------------------------------------------------------

// Returns the number of blocks that the pool ever made. A trim forgets touched blocks: `before` is
// the number at that time.
static size_t count_of(egb_pool pool, const egb_pool_stats* stats, size_t before)
{
    const size_t touched = egb_pool_touched(pool);
    if (touched == 0 && before != 0) {
        return before;
    }
    // Neither number is too small, but `touched` is 0 at level "passthrough".
    const size_t now = touched != 0 && touched < stats->peak ? touched : stats->peak;
    return now > before ? now : before;
}

// The count must not depend on the time of a purge.
static void trim_class(size_t index)
{
    const egb_pool pool = egb_pool_of_key_(EGB_LOAD_(x.pools[index]));
    egb_pool_stats stats;
    if (egb_pool_get_stats(pool, &stats) == EGB_OK) {
        const size_t before = EGB_LOAD_(x.count_before[index]);
        EGB_STORE_(x.count_before[index], count_of(pool, &stats, before));
        (void)egb_pool_trim(pool, 0);
    }
}

// Trims each class from which nothing was taken since the last purge.
static void purge_classes(void)
{
    for (size_t index = 0; index < POOL_CLASSES; index++) {
        const egb_pool pool = egb_pool_of_key_(EGB_LOAD_(x.pools[index]));
        egb_pool_stats stats;
        if (egb_pool_get_stats(pool, &stats) != EGB_OK) {
            continue;
        }
        if (stats.allocations == x.taken_before[index]) {
            trim_class(index);
        }
        x.taken_before[index] = stats.allocations;
    }
}

static void purge_now_and_then(void)
{
    enum { CALLS = 64, PURGE_SECONDS = 2 };  // at least one: the clock has whole seconds
    if (__atomic_add_fetch(&x.calls, 1, __ATOMIC_RELAXED) % CALLS != 0 ||
        __atomic_exchange_n(&x.is_purging, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    const time_t now = time(NULL);
    if (now - x.purged_at >= PURGE_SECONDS) {
        x.purged_at = now;
        purge_classes();
    }
    __atomic_store_n(&x.is_purging, 0, __ATOMIC_RELEASE);
}

// ---- large blocks -------------------------------------------------------------------------------

static bool is_large_size(size_t size)
{
    return size > (size_t)class_bytes[POOL_CLASSES - 1] - HEADER_BYTES &&
           size <= PTRDIFF_MAX - HEADER_BYTES;
}

// The class of a large block; LARGE_CLASSES or more: `block` is not large. A large block is
// requested with HEADER_BYTES more, so that its length in the heap tells the class.
static size_t large_class_of(const void* block)
{
    const size_t bytes = egb_pool_of(block).generation == 0 ? egb_block_bytes(block) : 0;
    return bytes <= class_bytes[POOL_CLASSES - 1] ? LARGE_CLASSES
                                                  : class_of(bytes - HEADER_BYTES) - POOL_CLASSES;
}

static void count_large_in(const void* block)
{
    const size_t index = large_class_of(block);
    if (index >= LARGE_CLASSES) {
        return;  // not large, but of a size class of the heap, for its alignment
    }
    put_in_order(index + POOL_CLASSES);
    __atomic_add_fetch(&x.large_in_use, 1, __ATOMIC_RELAXED);
    const size_t now  = __atomic_add_fetch(&x.in_use[index], 1, __ATOMIC_RELAXED);
    size_t       peak = EGB_LOAD_(x.peak[index]);
    while (peak < now && !__atomic_compare_exchange_n(
                             &x.peak[index], &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED
                         )) {
    }
}

static void* take_large(size_t align, size_t size)
{
    const size_t bytes = size + HEADER_BYTES;
    void* const  block = align <= ALIGN_BYTES ? egb_malloc(bytes) : egb_aligned_alloc(align, bytes);
    if (block != NULL) {
        count_large_in(block);
    }
    return block;
}

EGB_COLD static void count_large_out(const void* block)
{
    const size_t index = large_class_of(block);
    if (index < LARGE_CLASSES && EGB_LOAD_(x.in_use[index]) != 0) {
        __atomic_sub_fetch(&x.in_use[index], 1, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&x.large_in_use, 1, __ATOMIC_RELAXED);
    }
}

// ---- the calls ----------------------------------------------------------------------------------

// Many programs have functions of their own with these names. The functions here are weak, so that
// a program into which this file is compiled keeps its own; and they do not call each other.

EGB_WEAK void xalloc_init(void) {}

EGB_COLD static void* take_cold(size_t size)
{
    if (size > PTRDIFF_MAX - HEADER_BYTES) {
        return NULL;
    }
    const size_t index = class_of(size);
    if (index >= POOL_CLASSES) {
        return take_large(1, size);
    }
    purge_now_and_then();
    const egb_pool pool = class_pool(index);
    return pool.generation == 0 ? NULL : egb_pool_alloc(pool);
}

static inline void* take_block(size_t size)
{
    void* block;
    if (EGB_LIKELY(size <= (size_t)class_bytes[POOL_CLASSES - 1] - HEADER_BYTES) &&
        egb_pool_pop_(EGB_LOAD_(x.pools[class_of(size)]), &block)) {
        return block;
    }
    return take_cold(size);
}

EGB_WEAK void* xmalloc(size_t size)
{
    return take_block(size);
}

void* egb_xmalloc_aligned_(size_t align, size_t size)
{
    return size > PTRDIFF_MAX - HEADER_BYTES ? NULL : take_large(align, size);
}

static inline void give_block(void* block)
{
    if (EGB_UNLIKELY(EGB_LOAD_(x.large_in_use) != 0)) {
        count_large_out(block);
    }
    egb_free(block);
}

EGB_WEAK void xfree(void* ptr)
{
    give_block(ptr);
}

static bool is_in_use(const void* block)
{
    const egb_pool pool = egb_pool_of(block);
    return pool.generation == 0 ? egb_block_bytes(block) != 0 : egb_pool_is_live(pool, block);
}

// egb_realloc() can resize a region without copying it.
static void* change_large(void* block, size_t size)
{
    count_large_out(block);
    void* const changed = egb_realloc(block, size + HEADER_BYTES);
    count_large_in(changed != NULL ? changed : block);
    return changed;
}

EGB_WEAK void* xrealloc(void* ptr, size_t size)
{
    if (ptr == NULL) {
        return take_block(size);
    }
    if (size == 0 || !is_in_use(ptr)) {
        give_block(ptr);  // refused if not in use
        return NULL;
    }
    const size_t room = egb_block_bytes(ptr);
    if (size <= room && size > room / 2) {
        return ptr;
    }
    if (is_large_size(size) && large_class_of(ptr) < LARGE_CLASSES) {
        return change_large(ptr, size);
    }
    void* const moved = take_block(size);
    if (moved == NULL) {
        return size <= room ? ptr : NULL;
    }
    memcpy(moved, ptr, size < room ? size : room);
    give_block(ptr);
    return moved;
}

// ---- nodes of containers ------------------------------------------------------------------------

#if defined(_WIN32)
bool egb_xnodes_begin_(void)
{
    return false;
}

void egb_xnodes_end_(void) {}

static void drop_all_nodes(void) {}

static size_t kept_nodes(size_t step)
{
    (void)step;
    return 0;
}

static bool keep_node(size_t step, void* node)
{
    (void)step;
    (void)node;
    return false;
}
#else
// The tables of a thread that keeps no nodes: before its first free, and after its end.
static egb_xnodes_ nodes_before[EGB_XNODE_STEPS_];
static egb_xnodes_ nodes_after[EGB_XNODE_STEPS_];

__thread egb_xnodes_* egb_xnodes_here_ __attribute__((tls_model("initial-exec"))) = nodes_before;

bool egb_xnodes_begin_(void)
{
    if (egb_xnodes_here_ != nodes_before) {
        return false;
    }
    egb_xnodes_* const table = egb_calloc(EGB_XNODE_STEPS_, sizeof *table);
    if (table == NULL) {
        return false;
    }
    egb_xnodes_here_ = table;
    return true;
}

static void drop_nodes(egb_xnodes_* nodes)
{
    while (nodes->newest != NULL) {
        egb_xnode_* const node = nodes->newest;
        nodes->newest          = node->next;
        egb_free(node);
    }
    nodes->room = nodes->most;
}

static void drop_all_nodes(void)
{
    for (size_t step = 0; step < EGB_XNODE_STEPS_; step++) {
        drop_nodes(&egb_xnodes_here_[step]);
    }
}

void egb_xnodes_end_(void)
{
    egb_xnodes_* const table = egb_xnodes_here_;
    drop_all_nodes();
    egb_xnodes_here_ = nodes_after;
    if (table != nodes_before && table != nodes_after) {
        egb_free(table);
    }
}

static size_t kept_nodes(size_t step)
{
    return egb_xnodes_here_[step].most - egb_xnodes_here_[step].room;
}

// The first node of a size that a thread frees decides whether it keeps nodes of that size.
static bool keep_node(size_t step, void* block)
{
    egb_xnodes_* const nodes      = &egb_xnodes_here_[step];
    const bool         is_checked = egb_key_is_checked_(EGB_LOAD_(x.nodes[step]));
    if (nodes->most != 0 || !is_checked || nodes == &nodes_before[step] ||
        nodes == &nodes_after[step]) {
        return false;
    }
    egb_xnode_* const node = block;
    node->next             = NULL;
    nodes->newest          = node;
    nodes->most            = EGB_XNODE_KEPT_BYTES_ / (step * EGB_XNODE_STEP_BYTES_);
    nodes->room            = nodes->most - 1;
    return true;
}
#endif

void* egb_xnode_new_(size_t step)
{
    void* block;
    if (egb_pool_pop_(EGB_LOAD_(x.nodes[step]), &block)) {
        return block;
    }
    const egb_pool pool = node_pool(step);
    return pool.generation == 0 ? NULL : egb_pool_alloc(pool);
}

void egb_xnode_free_(size_t step, void* node)
{
    if (!keep_node(step, node)) {
        egb_free(node);
    }
}

// ---- numbers, and the end -----------------------------------------------------------------------

typedef struct line {
    uint32_t order;
    size_t   count;
    size_t   in_use;
} line;

static void add_to_line(line* to, uint64_t key, size_t before)
{
    egb_pool_stats stats;
    const egb_pool pool = egb_pool_of_key_(key);
    if (egb_pool_get_stats(pool, &stats) == EGB_OK) {
        to->count += count_of(pool, &stats, before);
        to->in_use += stats.in_use;
    }
}

static line line_of(size_t index)
{
    line of = {EGB_LOAD_(x.order[index]), 0, 0};
    if (index >= POOL_CLASSES) {
        of.count  = EGB_LOAD_(x.peak[index - POOL_CLASSES]);
        of.in_use = EGB_LOAD_(x.in_use[index - POOL_CLASSES]);
        return of;
    }
    add_to_line(&of, EGB_LOAD_(x.pools[index]), EGB_LOAD_(x.count_before[index]));
    for (size_t step = 1; step < EGB_XNODE_STEPS_; step++) {
        if (class_of(step * EGB_XNODE_STEP_BYTES_) == index) {
            add_to_line(&of, EGB_LOAD_(x.nodes[step]), 0);
            of.in_use -= kept_nodes(step);
        }
    }
    return of;
}

EGB_WEAK void xalloc_stats(void)
{
    line lines[CLASSES];
    for (size_t index = 0; index < CLASSES; index++) {
        lines[index] = line_of(index);
    }
    for (uint32_t order = 1; order <= EGB_LOAD_(x.ordered); order++) {
        for (size_t index = 0; index < CLASSES; index++) {
            if (lines[index].order == order) {
                egb_xwrite_line_(bytes_of_class(index), lines[index].count, lines[index].in_use);
            }
        }
    }
}

void egb_xtrim_(void)
{
    drop_all_nodes();
    for (size_t index = 0; index < POOL_CLASSES; index++) {
        trim_class(index);
    }
    for (size_t step = 1; step < EGB_XNODE_STEPS_; step++) {
        const egb_pool pool = egb_pool_of_key_(EGB_LOAD_(x.nodes[step]));
        if (pool.generation != 0) {
            (void)egb_pool_trim(pool, 0);
        }
    }
}

// True: the pool is gone, or there was none.
static bool end_pool(uint64_t* place)
{
    const egb_pool pool = egb_pool_of_key_(EGB_LOAD_(*place));
    if (pool.generation == 0) {
        return true;
    }
    if (egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_BUSY) {
        (void)egb_pool_trim(pool, 0);
        return false;
    }
    EGB_STORE_(*place, 0);
    return true;
}

EGB_WEAK void xalloc_destroy(void)
{
    bool is_gone[CLASSES];
    drop_all_nodes();
    for (size_t index = 0; index < CLASSES; index++) {
        is_gone[index] = index < POOL_CLASSES ? end_pool(&x.pools[index])
                                              : EGB_LOAD_(x.in_use[index - POOL_CLASSES]) == 0;
    }
    for (size_t step = 1; step < EGB_XNODE_STEPS_; step++) {
        is_gone[class_of(step * EGB_XNODE_STEP_BYTES_)] &= end_pool(&x.nodes[step]);
    }
    for (size_t index = 0; index < CLASSES; index++) {
        if (is_gone[index]) {
            EGB_STORE_(x.order[index], 0);
        }
        if (is_gone[index] && index < POOL_CLASSES) {
            EGB_STORE_(x.count_before[index], 0);
        }
    }
}

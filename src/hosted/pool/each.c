// SPDX-License-Identifier: MIT
// Walks over pools, and over the blocks of one. A visitor is called with no lock held, and may make
// any call. A walk therefore holds nothing between two visits: it remembers a place in an order
// that no call changes, and goes on with the next pool or block that still exists.
#include "layout.h"
#include "registry.h"

// ---- pools --------------------------------------------------------------------------------------

// In the order of their making, so that a parent is before its children, and a pool that a visitor
// makes is behind the end.
enum { POOLS_AT_ONCE = 128 };

typedef struct egb_pool_window {
    uint64_t after;  // this one's pools were made later
    uint64_t last;   // none was made later than this
    size_t   count;
    egb_pool pools[POOLS_AT_ONCE];
    uint64_t born[POOLS_AT_ONCE];
} egb_pool_window;

// Keeps the oldest ones.
static void add_to_window(egb_pool_window* window, const egb_control* control)
{
    const uint64_t born = control->tree.born;
    size_t         at   = window->count;
    if (at < POOLS_AT_ONCE) {
        window->count++;
    } else if (born > window->born[--at]) {
        return;
    }
    for (; at > 0 && window->born[at - 1] > born; at--) {
        window->born[at]  = window->born[at - 1];
        window->pools[at] = window->pools[at - 1];
    }
    window->born[at]  = born;
    window->pools[at] = egb_handle_of_(control);
}

static void fill_pool_window(egb_pool_window* window, egb_pool root)
{
    window->count = 0;
    egb_os_lock_(&egb_threads_.lock);
    window->last             = window->after == 0 ? egb_registry_.pools_made : window->last;
    egb_control* const first = egb_control_or_root_(root);
    for (egb_control* one = first; one != NULL; one = egb_tree_next_(first, one)) {
        if (one->tree.born > window->after && one->tree.born <= window->last) {  // 0: the root
            add_to_window(window, one);
        }
    }
    egb_os_unlock_(&egb_threads_.lock);
}

void egb_pool_each(egb_pool root, egb_pool_visit_fn visit, void* user)
{
    egb_pool_window window = {.count = POOLS_AT_ONCE};
    while (visit != NULL && window.count == POOLS_AT_ONCE) {
        fill_pool_window(&window, root);
        for (size_t i = 0; i < window.count; i++) {
            window.after = window.born[i];
            if (egb_pool_alive(window.pools[i])) {
                visit(window.pools[i], user);
            }
        }
    }
}

typedef struct egb_stats_visitor {
    egb_stats_visit_fn visit;
    void*              user;
} egb_stats_visitor;

static void visit_with_stats(egb_pool pool, void* user)
{
    const egb_stats_visitor* const caller = user;
    egb_pool_stats                 stats;
    if (egb_pool_get_stats(pool, &stats) == EGB_OK) {
        caller->visit(pool, &stats, caller->user);
    }
}

void egb_pool_each_stats(egb_pool root, egb_stats_visit_fn visit, void* user)
{
    egb_stats_visitor caller = {visit, user};
    egb_pool_each(root, visit == NULL ? NULL : visit_with_stats, &caller);
}

// ---- blocks -------------------------------------------------------------------------------------

// Without states the free lists must tell, which know nothing about the blocks in magazines.
static void mark_in_use(const egb_chunk_* chunk, size_t start, egb_block_window* window)
{
    const unsigned char* const states = chunk->shape.states;
    if (states == NULL) {
        const size_t touched = egb_fixed_touched(&chunk->fixed);
        egb_growing_find_free_(&chunk->fixed, (uint32_t)touched, (uint32_t)start, window->in_use);
        for (size_t i = 0; i < EGB_WINDOW_WORDS; i++) {
            window->in_use[i] = ~window->in_use[i];
        }
        return;
    }
    egb_clear_words_(window->in_use, sizeof window->in_use);
    for (size_t i = 0; i < window->count; i++) {
        const bool is_live = egb_is_live_state_(EGB_LOAD_(states[start + i]));
        window->in_use[i / 32] |= (egb_word)is_live << i % 32;
    }
}

// The place behind the block `before`, or at the begin after NULL. The chunk of that block may be
// gone: then the next one counts. False: there is none.
static bool walk_from(const egb_growing* growing, const void* before, egb_walk* walk)
{
    egb_chunk_* const its = egb_growing_chunk_of_(growing, before);
    walk->chunk = its != NULL ? its : egb_growing_chunk_after_(growing, (uintptr_t)before);
    if (walk->chunk == NULL) {
        return false;
    }
    const size_t index = its != NULL ? egb_chunk_index_(its, before) + 1 : 0;
    walk->touched      = egb_fixed_touched(&walk->chunk->fixed);
    walk->next         = egb_smaller_(index, walk->touched);
    return true;
}

bool egb_chunk_window_(const egb_control* control, egb_block_window* window)
{
    const void* const before = (const void*)(uintptr_t)window->after;
    egb_walk          walk   = {NULL, 0, 0};
    if (!walk_from(&control->depot.growing, before, &walk) || !egb_walk_next_(control, &walk)) {
        return false;
    }
    const size_t start = egb_walk_index_(&walk);
    window->first      = egb_walk_block_(&walk);
    window->stride     = walk.chunk->fixed.stride;
    window->count      = egb_smaller_(walk.touched - start, EGB_WINDOW_BLOCKS);
    window->after      = (uintptr_t)(window->first + (window->count - 1) * window->stride);
    mark_in_use(walk.chunk, start, window);
    return true;
}

static bool fill_block_window(egb_pool pool, egb_block_window* window)
{
    bool is_filled = false;
    egb_os_lock_(&egb_threads_.lock);
    egb_control* const control = egb_pool_lock_(pool);
    if (control != NULL) {
        egb_reclaim_(control);
        is_filled = control->layout->next_window(control, window);
        egb_pool_unlock_(control);
    }
    egb_os_unlock_(&egb_threads_.lock);
    return is_filled;
}

typedef struct egb_block_visitor {
    egb_block_visit_fn visit;
    void*              user;
    size_t             left;  // calls of it; else one that allocates might be called for ever
} egb_block_visitor;

// A block may have been freed in the meantime.
static void visit_window(egb_pool pool, const egb_block_window* window, egb_block_visitor* caller)
{
    for (size_t i = 0; i < window->count && caller->left > 0; i++) {
        void* const block = window->first + i * window->stride;
        if ((window->in_use[i / 32] >> i % 32 & 1) != 0 && egb_pool_is_live(pool, block)) {
            caller->visit(block, caller->user);
            caller->left--;
        }
    }
}

void egb_pool_each_block(egb_pool pool, egb_block_visit_fn visit, void* user)
{
    egb_pool_stats    stats;
    egb_block_window  window = {.after = 0};
    egb_block_visitor caller = {visit, user, 0};
    if (visit != NULL && egb_pool_get_stats(pool, &stats) == EGB_OK) {
        caller.left = stats.capacity;
    }
    while (caller.left > 0 && fill_block_window(pool, &window)) {
        visit_window(pool, &window, &caller);
    }
}

// ---- blocks of a pool that the caller has locked ------------------------------------------------

void egb_each_live_(const egb_control* control, egb_block_visit_fn visit, void* user)
{
    egb_walk walk = {NULL, 0, 0};
    while (egb_walk_next_(control, &walk)) {
        if (egb_is_live_state_(EGB_LOAD_(walk.chunk->shape.states[egb_walk_index_(&walk)]))) {
            visit(egb_walk_block_(&walk), user);
        }
    }
}

// SPDX-License-Identifier: MIT
// Create: what the options mean, and a control block made of them.
#include "guard.h"
#include "level.h"
#include "passthrough.h"
#include "seal.h"

enum { ALIGN_MAX_NATURAL = 16, CACHE_LINE_BYTES = 64, HUGE_CHUNK_BYTES = 4 << 20 };

static const unsigned KNOWN_FLAGS = EGB_PREFAULT | EGB_HUGE_PAGES | EGB_CACHE_LINE | EGB_FRESH_ZERO;

// Static memory was meant for blocks without guards, and a library that is the C library's malloc
// cannot pass requests on to it: there what the program itself asks for counts.
static egb_status level_of(const egb_pool_options* options, egb_level* level)
{
    const char* const name    = options->name != NULL ? options->name : "pool";
    egb_status        status  = egb_level_of(name, options->check, level);
    const bool        can_not = options->memory != NULL
                                    ? *level > EGB_LEVEL_CHECK
                                    : *level == EGB_LEVEL_PASSTHROUGH && !egb_os_has_malloc();
    if (status == EGB_OK && can_not) {
        (void)egb_level_in(options->check == NULL ? "check" : options->check, name, level);
        status = *level == EGB_LEVEL_PASSTHROUGH ? EGB_UNSUPPORTED : EGB_OK;
    }
    return status;
}

// At least 4 bytes, the unit of fixed pools, or what guards need.
static size_t align_of(const egb_pool_options* options, bool has_guards)
{
    // A block that is less than a word has a link in it from the start.
    const bool   is_zero = (options->flags & EGB_FRESH_ZERO) != 0;
    const size_t least   = has_guards ? EGB_GUARD_ALIGN : is_zero ? 8 : EGB_WORD_BYTES;

    size_t align = options->block_align;
    if (align == 0) {
        align = ALIGN_MAX_NATURAL;
        while ((options->block_bytes & (align - 1)) != 0) {
            align /= 2;
        }
    }
    if ((options->flags & EGB_CACHE_LINE) != 0 && align < CACHE_LINE_BYTES) {
        align = CACHE_LINE_BYTES;
    }
    return align < least ? least : align;
}

static egb_status check_options(const egb_pool_options* options)
{
    const size_t align = options->block_align;
    if (options->block_bytes == 0 || (align & (align - 1)) != 0 || align > egb_os_page_bytes() ||
        (options->flags & ~KNOWN_FLAGS) != 0 ||
        (options->memory == NULL) != (options->memory_bytes == 0)) {
        return EGB_INVALID;
    }
    const bool is_too_large =
        options->block_bytes > SIZE_MAX / 2 || (uint64_t)options->block_bytes > EGB_FIXED_BYTES_MAX;
    const bool is_too_many =
        options->max_blocks != 0 && options->reserve_blocks > options->max_blocks;
    return is_too_large || is_too_many ? EGB_LIMIT : EGB_OK;
}

static void copy_name(char* to, const char* from)
{
    size_t bytes = 0;
    for (; from[bytes] != '\0' && bytes < EGB_NAME_BYTES - 1; bytes++) {
        to[bytes] = from[bytes];
    }
    to[bytes] = '\0';
}

// Many small blocks ahead cost next to no memory. Of others half as many do: what is taken and
// given back by the hundred is small as a rule.
static size_t batch_blocks_for(size_t stride, size_t max_blocks)
{
    enum { SMALL_BYTES_MAX = 256 };
    const size_t most   = EGB_MAGAZINE_BLOCKS_MAX / (stride <= SMALL_BYTES_MAX ? 1 : 2);
    size_t       blocks = EGB_MAGAZINE_BYTES_MAX / stride;
    if (blocks > most) {
        blocks = most;
    }
    if (max_blocks != 0 && blocks > max_blocks) {
        blocks = max_blocks;
    }
    return EGB_LOAD_(egb_the_world.can_take) ? blocks : 0;
}

// A control block that was another pool's, or all zero. It is locked, because the last thread of
// its former pool may still be about to unlock it, and because addresses lead to it before it has a
// generation.
static void set_up(egb_control* control, const egb_pool_options* options, egb_level level)
{
    const bool is_checked = level != EGB_LEVEL_OFF;
    EGB_STORE_(control->level, level);  // a stale handle may lead others here
    control->is_checked = is_checked;
    EGB_STORE_(control->guards, NULL);
    EGB_STORE_(
        control->slot,
        control->slot / EGB_SLOT_STEP_ * EGB_SLOT_STEP_ +
            (is_checked ? (uint32_t)EGB_SLOT_CHECKED_ : 0)
    );
    control->is_charged       = options->memory == NULL;
    control->is_forgotten     = false;
    control->is_passing_on    = false;
    control->is_gathering     = false;
    control->flags            = options->flags;
    control->on_exhausted     = options->on_exhausted;
    control->user             = options->user;
    control->block_bytes      = options->block_bytes;
    control->refusal          = EGB_OK;
    control->prefaulted       = 0;
    control->huge             = 0;
    control->depot_batches    = 0;
    control->depot_blocks     = 0;
    control->depot_least      = 0;
    control->depot_puts       = 0;
    control->attached         = 0;
    control->reserved         = options->reserve_blocks;
    control->peak             = 0;
    control->frees            = 0;
    control->failures         = 0;
    control->damage.was_found = false;
    control->held             = 0;
    control->budget_bytes     = options->budget_bytes;
    copy_name(control->name, options->name != NULL ? options->name : "pool");
    const egb_fail fail = egb_fail_of(control->name);
    EGB_STORE_(control->fail.every, fail.every);
    EGB_STORE_(control->fail.is_once, fail.is_once);
    EGB_STORE_(control->fail.count, 0);
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        control->lanes[lane].full = control->lanes[lane].empty = NULL;
    }
    const egb_static_region memory = {options->memory, options->memory_bytes, false};
    control->memory                = memory;
    EGB_STORE_(control->static_shape, NULL);
}

static egb_status make_chunks(egb_control* control, const egb_pool_options* options)
{
    const bool        is_static  = options->memory != NULL;
    const bool        has_guards = control->guards != NULL;
    const size_t      align      = align_of(options, has_guards);
    const size_t      lead       = has_guards ? egb_guard_lead(control->level, align) : 0;
    const size_t      around     = lead + (has_guards ? EGB_BACK_BYTES_MIN : 0);
    const size_t      stride     = (around + options->block_bytes + align - 1) & ~(align - 1);
    const egb_backing backing =
        is_static ? egb_static_backing(&control->memory) : egb_pool_backing(control);
    const egb_growing_options growing = {
        .block_bytes = stride,
        .block_align = align,
        .max_blocks  = options->max_blocks,
        .with_states = control->is_checked,
        // Not shorter than large pages, as chunks of small blocks with states are.
        .chunk_bytes_max = (options->flags & EGB_HUGE_PAGES) != 0 ? HUGE_CHUNK_BYTES : 0,
        .lead_bytes      = lead,
        .backing         = backing,
    };
    const bool has_magazines = control->level < EGB_LEVEL_GUARD && !egb_fail_is_set(&control->fail);
    EGB_STORE_(
        control->batch_blocks, has_magazines ? batch_blocks_for(stride, options->max_blocks) : 0
    );
    const egb_status status = egb_growing_init(&control->growing, &growing);
    if (status != EGB_OK) {
        return status;
    }
    // The one region of static memory is taken at once, to see whether it is of use.
    if (is_static && egb_growing_reserve(&control->growing, 1) != EGB_OK) {
        return EGB_INVALID;
    }
    EGB_STORE_(control->static_shape, is_static ? &control->growing.tree->shape : NULL);
    const size_t     ahead    = egb_is_passthrough(control) ? 0 : options->reserve_blocks;
    const egb_status reserved = egb_growing_reserve(&control->growing, ahead);
    if (reserved != EGB_NO_MEMORY) {
        return reserved;
    }
    return is_static ? EGB_LIMIT : control->refusal;
}

static void link_into_tree(egb_control* control, egb_control* parent)
{
    control->previous = NULL;
    control->next     = parent->child;
    if (control->next != NULL) {
        control->next->previous = control;
    }
    parent->child = control;
    if (control->memory.region != NULL) {
        control->next_static = egb_the_world.statics;
        __atomic_store_n(&egb_the_world.statics, control, __ATOMIC_RELEASE);
    }
}

static egb_status make_blocks(egb_control* control, const egb_pool_options* options)
{
    if (control->level == EGB_LEVEL_GUARD || control->level == EGB_LEVEL_TRACK) {
        EGB_STORE_(control->guards, egb_guards_new(control->level));
        if (control->guards == NULL) {
            return EGB_NO_MEMORY;
        }
    }
    const egb_status status = make_chunks(control, options);
    if (status != EGB_OK) {
        egb_growing_destroy(&control->growing);
        egb_guards_drop(control->guards);
    } else {
        egb_os_watch_pool(control, true);
    }
    return status;
}

static egb_status create(egb_pool* out, const egb_pool_options* options, egb_level level)
{
    egb_control* const parent = egb_control_or_root(options->parent);
    if (parent == NULL) {
        return EGB_STALE;
    }
    egb_control* const control = egb_slot_take();
    if (control == NULL) {
        return EGB_LIMIT;
    }
    egb_os_lock(&control->lock);
    set_up(control, options, level);
    control->parent         = parent;
    control->child          = NULL;
    const egb_status status = make_blocks(control, options);
    if (status == EGB_OK) {
        link_into_tree(control, parent);
        control->last_generation++;
        __atomic_store_n(&control->generation, control->last_generation, __ATOMIC_RELEASE);
        *out = egb_handle_of(control);
    } else {
        egb_slot_give_back(control);
    }
    egb_os_unlock(&control->lock);
    return status;
}

egb_status egb_pool_make(egb_pool* out, const egb_pool_options* options)
{
    if (out == NULL || options == NULL) {
        return EGB_INVALID;
    }
    if (egb_os_page_bytes() == 0) {
        return EGB_UNSUPPORTED;
    }
    egb_level  level;
    egb_status status = check_options(options);
    if (status == EGB_OK && !egb_world_is_made()) {  // it also knows of the environment
        status = EGB_NO_MEMORY;
    }
    if (status == EGB_OK) {
        status = level_of(options, &level);
    }
    if (status == EGB_OK) {
        egb_os_lock(&egb_the_world.lock);
        status = create(out, options, level);
        egb_os_unlock(&egb_the_world.lock);
    }
    return status;
}

egb_status egb_pool_create(egb_pool* out, const egb_pool_options* options)
{
    const egb_pool   root   = {0, 0};
    const egb_status status = egb_pool_make(out, options);
    egb_seal_report(options != NULL ? options->parent : root, EGB_CALLER());
    return status;
}

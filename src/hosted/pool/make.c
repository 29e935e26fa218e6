// SPDX-License-Identifier: MIT
// Create: what the options mean, and a control block made of them.
#include "../../os/os.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "backing.h"
#include "events.h"
#include "layout.h"
#include "registry.h"

enum { ALIGN_MAX_NATURAL = 16, CACHE_LINE_BYTES = 64, HUGE_CHUNK_BYTES = 4 << 20 };

static const unsigned KNOWN_FLAGS = EGB_PREFAULT | EGB_HUGE_PAGES | EGB_CACHE_LINE | EGB_FRESH_ZERO;

// Static memory was meant for blocks without guards, and a library that is the C library's malloc
// cannot pass requests on to it: there what the program itself asks for counts.
static egb_status level_of(const egb_pool_options* options, egb_level* level)
{
    const char* const name   = options->name != NULL ? options->name : "pool";
    egb_status        status = egb_level_of_(name, options->level, level);
    if (status != EGB_OK) {
        return status;  // and there is no level
    }
    const bool can_not = options->memory != NULL
                             ? !egb_level_has_magazines_(*level)
                             : *level == EGB_LEVEL_PASSTHROUGH && !egb_os_has_malloc_();
    if (can_not) {
        *level = options->level == EGB_LEVEL_DEFAULT ? EGB_LEVEL_CHECK : options->level;
        status = *level == EGB_LEVEL_PASSTHROUGH ? EGB_UNSUPPORTED : EGB_OK;
    }
    return status;
}

static const egb_layout* layout_of(egb_level level)
{
    switch (level) {
        case EGB_LEVEL_GUARD:
        case EGB_LEVEL_TRACK: return &egb_layout_redzone_;
        case EGB_LEVEL_PASSTHROUGH: return &egb_layout_passthrough_;
        default: return &egb_layout_plain_;
    }
}

// At least 4 bytes, the unit of fixed pools, or what the layout needs.
static size_t align_of(const egb_pool_options* options, const egb_layout* layout)
{
    // A block that is less than a word has a link in it from the start.
    const bool   is_zero = (options->flags & EGB_FRESH_ZERO) != 0;
    const size_t least   = egb_larger_(layout->align_min, is_zero ? 8 : 0);

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
    if (options->block_bytes == 0 || (align != 0 && !egb_is_power_of_two_(align)) ||
        align > egb_os_page_bytes_() || (options->flags & ~KNOWN_FLAGS) != 0 ||
        (options->memory == NULL) != (options->memory_bytes == 0)) {
        return EGB_INVALID;
    }
    const uint64_t bytes        = options->block_bytes;
    const bool     is_too_large = bytes > SIZE_MAX / 2 || bytes > EGB_FIXED_BYTES_MAX;
    const bool     is_too_many =
        options->max_blocks != 0 && options->reserve_blocks > options->max_blocks;
    return is_too_large || is_too_many ? EGB_LIMIT : EGB_OK;
}

// Many small blocks ahead cost next to no memory. Longer blocks get half as many: blocks that come
// and go by the hundred are small as a rule.
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
    return EGB_LOAD_(egb_threads_.can_take) ? blocks : 0;
}

// The bit of the slot that says whether the level is "off".
static uint32_t slot_for(const egb_control* control, bool is_checked)
{
    const uint32_t step = control->id.slot / EGB_SLOT_STEP_ * EGB_SLOT_STEP_;
    return step + (is_checked ? (uint32_t)EGB_SLOT_CHECKED_ : 0);
}

// make_chunks() makes the growing pool.
static void set_up_depot(egb_depot* depot, const egb_pool_options* options, egb_pool pool)
{
    egb_depot_join_(depot);  // the pool that had the control block before may have been split
    depot->batches = depot->blocks = depot->least = depot->puts = 0;
    depot->locks                                                = 0;
    depot->waits = depot->moves = 0;
    for (size_t lane = 0; lane < EGB_LANES; lane++) {
        depot->lanes[lane].full = depot->lanes[lane].empty = NULL;
    }
    depot->key              = egb_pool_key_(pool);
    depot->is_checked       = egb_key_is_checked_(depot->key);
    depot->is_static        = options->memory != NULL;
    depot->is_gathering     = false;
    depot->is_shared        = false;
    depot->is_tight         = false;
    depot->unsure           = 0;
    depot->attached         = 0;
    depot->reserved         = options->reserve_blocks;
    depot->quarantined      = 0;
    depot->peak             = 0;
    depot->most_out         = 0;
    depot->frees            = 0;
    depot->damage.was_found = false;
    depot->on_last_left     = NULL;
    depot->serve            = NULL;
    depot->sampler          = NULL;
    EGB_STORE_(depot->static_shape, NULL);
}

// `name`: as it is shown, so that a pattern taken from a report fits.
static void
set_up_exhaustion(egb_exhaustion* exhaustion, const egb_pool_options* options, const char* name)
{
    const egb_fault_plan plan = egb_fault_plan_of_(name);
    exhaustion->handler       = options->on_exhausted;
    exhaustion->user          = options->user;
    exhaustion->failures      = 0;
    EGB_STORE_(exhaustion->fault_plan.every, plan.every);
    EGB_STORE_(exhaustion->fault_plan.is_once, plan.is_once);
    EGB_STORE_(exhaustion->fault_plan.count, 0);
}

// A control block that was another pool's, or all zero. It is locked, because the last thread of
// its former pool may still be about to unlock it, and because addresses lead to it before it has a
// generation. Fields that a stale handle may lead to are written atomically.
static void
set_up(egb_control* control, egb_control* parent, const egb_pool_options* options, egb_level level)
{
    const egb_chunk_source source = {.memory = {options->memory, options->memory_bytes, false}};
    const egb_budget       budget = {0, options->budget_bytes, options->memory == NULL};
    const egb_tree_links   tree   = {.parent = parent};
    const egb_earlier      none   = {0};
    const egb_line         nobody = {NULL, NULL, 0};
    EGB_STORE_(control->level, level);
    EGB_STORE_(control->redzones, NULL);
    control->layout = layout_of(level);
    EGB_STORE_(control->id.slot, slot_for(control, level != EGB_LEVEL_OFF));
    const egb_pool pool = {control->id.slot, control->id.last_generation + 1};
    set_up_depot(&control->depot, options, pool);
    control->samples          = NULL;
    control->depot.has_budget = options->budget_bytes != 0 || parent->depot.has_budget;
    control->flags            = options->flags;
    control->block_bytes      = options->block_bytes;
    control->source           = source;
    control->budget           = budget;
    control->tree             = tree;
    control->earlier          = none;
    control->line             = nobody;
    egb_text_copy_(control->name, EGB_NAME_BYTES, options->name != NULL ? options->name : "pool");
    set_up_exhaustion(&control->exhaustion, options, control->name);
}

// How blocks stand in a chunk.
typedef struct block_sizes {
    size_t align;
    size_t lead;    // bytes in front of the first block
    size_t stride;  // from one block to the next
} block_sizes;

static block_sizes
sizes_of(const egb_pool_options* options, const egb_layout* layout, egb_level level)
{
    const size_t      align  = align_of(options, layout);
    const size_t      head   = layout->head(level);
    const size_t      used   = head + options->block_bytes + layout->back_bytes;
    const size_t      stride = egb_round_up_(used, align);
    const size_t      gap    = egb_smaller_(stride - used, layout->gap_bytes_max);
    const block_sizes sizes  = {align, head + egb_round_down_(gap, layout->align_min), stride};
    return sizes;
}

static egb_status make_chunks(egb_control* control, const egb_pool_options* options)
{
    const bool        is_static = options->memory != NULL;
    const block_sizes sizes     = sizes_of(options, control->layout, control->level);
    const egb_backing backing =
        is_static ? egb_static_backing(&control->source.memory) : egb_pool_backing_(control);
    const egb_growing_options growing = {
        .block_bytes = sizes.stride,
        .block_align = sizes.align,
        .max_blocks  = options->max_blocks,
        .with_states = control->depot.is_checked,
        // Not shorter than large pages, as chunks of small blocks with states are.
        .chunk_bytes_max = (options->flags & EGB_HUGE_PAGES) != 0 ? HUGE_CHUNK_BYTES : 0,
        .lead_bytes      = sizes.lead,
        .backing         = backing,
    };
    const bool has_magazines = egb_level_has_magazines_(control->level) &&
                               !egb_fault_is_planned_(&control->exhaustion.fault_plan);
    EGB_STORE_(
        control->depot.batch_blocks,
        has_magazines ? batch_blocks_for(sizes.stride, options->max_blocks) : 0
    );
    control->depot.block_bytes = sizes.stride;
    const egb_status status    = egb_growing_init(&control->depot.growing, &growing);
    if (status != EGB_OK) {
        return status;
    }
    // The one region of static memory is taken at once, to see whether it is of use.
    if (is_static && egb_growing_reserve(&control->depot.growing, 1) != EGB_OK) {
        return EGB_INVALID;
    }
    const egb_chunk_* const first = egb_chunk_of_range_(control->depot.growing.tree);
    EGB_STORE_(control->depot.static_shape, is_static ? &first->shape : NULL);
    const size_t     ahead    = control->layout->has_chunks ? options->reserve_blocks : 0;
    const egb_status reserved = egb_growing_reserve(&control->depot.growing, ahead);
    if (reserved != EGB_NO_MEMORY) {
        return reserved;
    }
    return is_static ? EGB_LIMIT : control->source.refusal;
}

static void link_into_tree(egb_control* control, egb_control* parent)
{
    EGB_LIST_ADD_(parent->tree.child, control, tree.);
    control->tree.born = ++egb_registry_.pools_made;
    if (control->source.memory.region != NULL) {
        control->tree.next_static = egb_registry_.statics;
        __atomic_store_n(&egb_registry_.statics, control, __ATOMIC_RELEASE);
    }
}

static egb_status make_blocks(egb_control* control, const egb_pool_options* options)
{
    const egb_status begun = control->layout->begin(control);
    if (begun != EGB_OK) {
        return begun;
    }
    const egb_status status = make_chunks(control, options);
    if (status != EGB_OK) {
        egb_growing_destroy(&control->depot.growing);
        control->layout->end(control);
    } else {
        egb_os_watch_pool_(control, true);
    }
    return status;
}

static egb_status create(egb_pool* out, const egb_pool_options* options, egb_level level)
{
    egb_control* const parent = egb_control_or_root_(options->parent);
    if (parent == NULL) {
        return EGB_STALE;
    }
    egb_control* const control = egb_slot_take_();
    if (control == NULL) {
        return EGB_LIMIT;
    }
    egb_depot_lock_(&control->depot);
    set_up(control, parent, options, level);
    const egb_status status = make_blocks(control, options);
    if (status == EGB_OK) {
        link_into_tree(control, parent);
        control->id.last_generation++;
        __atomic_store_n(&control->id.generation, control->id.last_generation, __ATOMIC_RELEASE);
        *out = egb_handle_of_(control);
    } else {
        egb_slot_give_back_(control);
    }
    egb_pool_unlock_(control);
    return status;
}

egb_status egb_pool_make_(egb_pool* out, const egb_pool_options* options)
{
    if (out == NULL || options == NULL) {
        return EGB_INVALID;
    }
    if (egb_os_page_bytes_() == 0) {
        return EGB_UNSUPPORTED;
    }
    egb_level  level;
    egb_status status = check_options(options);
    if (status == EGB_OK && !egb_registry_is_made_()) {  // it also knows of the environment
        status = EGB_NO_MEMORY;
    }
    if (status == EGB_OK) {
        status = level_of(options, &level);
    }
    if (status == EGB_OK) {
        egb_os_lock_(&egb_threads_.lock);
        status = create(out, options, level);
        egb_os_unlock_(&egb_threads_.lock);
    }
    return status;
}

// ---- static memory ------------------------------------------------------------------------------

EGB_STATIC_ASSERT(sizeof(egb_chunk_) == EGB_POOL_HEADER_BYTES_, "as pool_bytes.h has it");
EGB_STATIC_ASSERT(EGB_ALIGNOF_(egb_chunk_) == sizeof(size_t), "as pool_bytes.h has it");

// The bytes that `used` of them take in the region that starts at `memory`.
static uint64_t bytes_from(const void* memory, const block_sizes* sizes, uint64_t used)
{
    const uint64_t start  = (uintptr_t)memory;
    const uint64_t before = (0 - (start + sizes->lead)) & (sizes->align - 1);
    const uint64_t behind = (0 - (start + before + used)) & (sizeof(size_t) - 1);
    return before + used + behind;
}

size_t egb_pool_bytes(const egb_pool_options* options, size_t count)
{
    if (options == NULL) {
        return 0;
    }
    egb_pool_options wanted = *options;
    wanted.max_blocks = wanted.reserve_blocks = 0;
    wanted.memory_bytes                       = wanted.memory != NULL;
    const egb_level level = wanted.level != EGB_LEVEL_DEFAULT ? wanted.level : EGB_LEVEL_CHECK;
    const bool      has_size =
        level >= EGB_LEVEL_OFF && level <= EGB_LEVEL_SAMPLE && level != EGB_LEVEL_PASSTHROUGH;
    if (!has_size || check_options(&wanted) != EGB_OK) {
        return 0;
    }
    const block_sizes sizes = sizes_of(&wanted, layout_of(level), level);
    if (egb_fixed_bytes(sizes.stride, count) == 0) {
        return 0;
    }
    const bool     has_states = level != EGB_LEVEL_OFF;
    const uint64_t used  = EGB_POOL_USED_(sizes.lead, sizes.stride, has_states, (uint64_t)count);
    const uint64_t bytes = wanted.memory != NULL ? bytes_from(wanted.memory, &sizes, used)
                                                 : EGB_POOL_ANYWHERE_(sizes.align, used);
    return (size_t)bytes == bytes ? (size_t)bytes : 0;
}

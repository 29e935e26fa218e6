// SPDX-License-Identifier: MIT
// Making and ending a growing pool and its chunks: everything that looks at sizes or asks the
// backing.
#include "growing_private.h"

// It is cleared word by word.
EGB_STATIC_ASSERT(sizeof(egb_growing) % EGB_WORD_BYTES == 0, "a pool is made of words");

#define FIRST_CHUNK_BYTES   ((size_t)64 << 10)
#define LARGEST_CHUNK_BYTES ((size_t)4 << 20)
#define MOST_STATES         ((size_t)64 << 10)

// ---- sizes --------------------------------------------------------------------------------------

static size_t bytes_per_block(const egb_growing_options* options)
{
    return options->block_bytes + (options->with_states ? 1 : 0);
}

// From the start of a region to its first block, which is aligned.
static size_t bytes_before(const egb_growing_options* options, uintptr_t region)
{
    const uintptr_t start = region + options->lead_bytes;
    return options->lead_bytes + ((size_t)(0 - start) & (options->block_align - 1));
}

// The header, and what the backing keeps behind it.
static size_t header_bytes(const egb_growing_options* options)
{
    return sizeof(egb_chunk_) + options->backing.extra_bytes;
}

// The bytes of a chunk besides its blocks: the header, the bytes kept free, and the cost of
// alignment if the backing promises none.
static size_t bytes_around(const egb_growing_options* options)
{
    const bool is_aligned = options->backing.granule >= EGB_ALIGNOF_(egb_chunk_);
    return header_bytes(options) + (is_aligned ? bytes_before(options, 0)
                                               : options->lead_bytes + options->block_align - 1 +
                                                     EGB_ALIGNOF_(egb_chunk_) - 1);
}

static size_t round_up(const egb_growing_options* options, size_t bytes)
{
    const size_t granule = options->backing.granule;
    return granule == 0 ? bytes : egb_round_up_(bytes, granule);
}

// The most blocks of a fixed pool.
static size_t fixed_count_max(size_t block_bytes)
{
    const size_t bytes_max =
        SIZE_MAX < EGB_FIXED_BYTES_MAX ? SIZE_MAX : (size_t)EGB_FIXED_BYTES_MAX;
    return egb_smaller_(bytes_max / block_bytes, EGB_FIXED_COUNT_MAX);
}

// The most blocks of a chunk; 0 if there can be none.
static size_t chunk_count_max(const egb_growing_options* options)
{
    const size_t granule = options->backing.granule;
    const size_t outside = bytes_around(options) + (granule != 0 ? granule - 1 : 0);
    return egb_smaller_(
        fixed_count_max(options->block_bytes), (SIZE_MAX - outside) / bytes_per_block(options)
    );
}

// The region in which `count` blocks, not more than chunk_count_max(), are sure to fit.
static size_t chunk_bytes_for(const egb_growing_options* options, size_t count)
{
    return round_up(options, count * bytes_per_block(options) + bytes_around(options));
}

// The least region in which one block fits if it happens to be aligned.
static size_t least_chunk_bytes(const egb_growing_options* options)
{
    return options->backing.granule != 0
               ? chunk_bytes_for(options, 1)
               : bytes_per_block(options) + header_bytes(options) + options->lead_bytes;
}

// The region that the pool would like next: no larger than what `max_blocks` can still use.
static size_t wanted_chunk_bytes(const egb_growing* pool)
{
    const egb_growing_options* const options = &pool->options;
    size_t                           count   = chunk_count_max(options);
    if (options->max_blocks != 0) {
        count = egb_smaller_(count, options->max_blocks - (pool->capacity - pool->lost));
    }
    return round_up(options, egb_smaller_(pool->next_bytes, chunk_bytes_for(options, count)));
}

// ---- init ---------------------------------------------------------------------------------------

// With states alloc may have to look through a group of them, and the larger a chunk is the larger
// are its groups.
static size_t largest_chunk_bytes(const egb_growing_options* options)
{
    const bool is_bounded =
        options->with_states && options->block_bytes < LARGEST_CHUNK_BYTES / MOST_STATES;
    return is_bounded ? MOST_STATES * options->block_bytes : LARGEST_CHUNK_BYTES;
}

// Puts the meant numbers in place of the zeros. Sizes that can be chunks of at least one block come
// last, because they depend on the rest.
static egb_status settle(egb_growing_options* options)
{
    const size_t block_bytes = options->block_bytes;
    const size_t granule     = options->backing.granule;
    if (options->block_align == 0) {
        options->block_align = EGB_WORD_BYTES;
    }
    if (block_bytes == 0 || block_bytes % EGB_WORD_BYTES != 0 ||
        !egb_is_power_of_two_(options->block_align) ||
        (block_bytes & (options->block_align - 1)) != 0 ||
        options->lead_bytes > egb_smaller_(block_bytes, EGB_LEAD_BYTES_MAX)) {
        return EGB_INVALID;
    }
    options->block_align = egb_larger_(options->block_align, EGB_WORD_BYTES);
    if (options->backing.reserve == NULL || options->backing.extra_bytes % 8 != 0 ||
        options->backing.extra_bytes > EGB_LEAD_BYTES_MAX ||
        (granule != 0 && (!egb_is_power_of_two_(granule) || granule < options->block_align))) {
        return EGB_INVALID;
    }
    if (block_bytes / EGB_WORD_BYTES >= EGB_FIXED_COUNT_MAX || chunk_count_max(options) == 0) {
        return EGB_LIMIT;
    }
    const size_t one = chunk_bytes_for(options, 1);
    if (options->chunk_bytes == 0) {
        options->chunk_bytes = FIRST_CHUNK_BYTES;
    }
    if (options->chunk_bytes_max == 0) {
        options->chunk_bytes_max = egb_larger_(largest_chunk_bytes(options), options->chunk_bytes);
    }
    options->chunk_bytes_max = egb_larger_(options->chunk_bytes_max, one);
    options->chunk_bytes =
        egb_smaller_(egb_larger_(options->chunk_bytes, one), options->chunk_bytes_max);
    return EGB_OK;
}

// Member by member: as a whole it is large enough for compilers to call memcpy, which may be
// missing.
static void copy_options(egb_growing_options* to, const egb_growing_options* from)
{
    to->block_bytes         = from->block_bytes;
    to->block_align         = from->block_align;
    to->max_blocks          = from->max_blocks;
    to->chunk_bytes         = from->chunk_bytes;
    to->chunk_bytes_max     = from->chunk_bytes_max;
    to->with_states         = from->with_states;
    to->lead_bytes          = from->lead_bytes;
    to->backing.reserve     = from->backing.reserve;
    to->backing.commit      = from->backing.commit;
    to->backing.give_back   = from->backing.give_back;
    to->backing.user        = from->backing.user;
    to->backing.granule     = from->backing.granule;
    to->backing.zeroed      = from->backing.zeroed;
    to->backing.extra_bytes = from->backing.extra_bytes;
}

egb_status egb_growing_init(egb_growing* pool, const egb_growing_options* options)
{
    if (pool == NULL || options == NULL) {
        return EGB_INVALID;
    }
    egb_growing_options settled;
    copy_options(&settled, options);
    const egb_status status = settle(&settled);
    if (status != EGB_OK) {
        return status;
    }
    egb_clear_words_(pool, sizeof *pool);
    copy_options(&pool->options, &settled);
    pool->next_bytes  = settled.chunk_bytes;
    pool->eager_bytes = settled.chunk_bytes_max;
    return EGB_OK;
}

// ---- chunks -------------------------------------------------------------------------------------

bool egb_chunk_find_place_(
    const egb_growing_options* options, void* region, size_t bytes, egb_chunk_place* place
)
{
    const uintptr_t start = (uintptr_t)region;
    const size_t    head  = bytes_before(options, start);
    const size_t    tail  = (start + bytes) % EGB_ALIGNOF_(egb_chunk_) + header_bytes(options);
    if (bytes > UINTPTR_MAX - start || bytes < tail || bytes - tail < head) {
        return false;
    }
    place->first  = (unsigned char*)region + head;
    place->header = (egb_chunk_*)(void*)((unsigned char*)region + (bytes - tail));
    place->count  = egb_smaller_(
        (bytes - tail - head) / bytes_per_block(options), fixed_count_max(options->block_bytes)
    );
    place->states = (unsigned char*)place->header - (options->with_states ? place->count : 0);
    return true;
}

static bool commit(const egb_backing* backing, void* region, size_t bytes)
{
    return backing->commit == NULL || backing->commit(backing->user, region, bytes) == EGB_OK;
}

static void give_back(const egb_backing* backing, void* region, size_t bytes)
{
    if (backing->give_back != NULL) {
        backing->give_back(backing->user, region, bytes);
    }
}

bool egb_chunk_plan_(
    const egb_growing_options* options,
    const egb_chunk_place*     place,
    egb_fixed*                 fixed,
    egb_shape_*                shape
)
{
    const size_t used = place->count * options->block_bytes;
    if (egb_fixed_init(fixed, place->first, used, options->block_bytes) != EGB_OK) {
        return false;
    }
    shape->first   = (uintptr_t)place->first;
    shape->inverse = fixed->inverse;
    shape->states  = options->with_states ? place->states : NULL;
    shape->blocks  = (uint32_t)place->count;
    shape->shift   = fixed->shift;
    egb_bitmap_plan_(shape);
    return true;
}

// Makes a chunk of a region that is memory now. NULL if not one block fits.
static egb_chunk_*
make_chunk(egb_growing* pool, void* region, size_t bytes, const egb_chunk_place* place)
{
    egb_chunk_* const chunk = place->header;
    if (!egb_chunk_plan_(&pool->options, place, &chunk->fixed, &chunk->shape)) {
        return NULL;
    }
    if (chunk->shape.states != NULL && !pool->options.backing.zeroed) {
        unsigned char* const start = place->states - (uintptr_t)place->states % EGB_WORD_BYTES;
        egb_clear_words_(start, (size_t)((const unsigned char*)place->header - start));
        chunk->touched_before = bytes;
    }
    chunk->owner       = pool;
    chunk->range.start = region;
    chunk->range.bytes = bytes;
    chunk->in_use      = 0;
    chunk->lost        = 0;
    chunk->groups      = 0;
    chunk->lowest      = 0;
    chunk->turn        = pool->turn;
    return chunk;
}

// Gets a region, of `wanted` bytes if possible, and makes a chunk of it. NULL if the backing
// refused.
static egb_chunk_* get_chunk(egb_growing* pool, size_t wanted)
{
    const egb_backing* const backing = &pool->options.backing;
    size_t                   bytes   = wanted;
    void* const region = backing->reserve(backing->user, least_chunk_bytes(&pool->options), &bytes);
    if (region == NULL) {
        return NULL;
    }
    egb_chunk_place place;
    egb_chunk_*     chunk = NULL;
    if (egb_chunk_find_place_(&pool->options, region, bytes, &place) &&
        commit(backing, region, bytes)) {
        chunk = make_chunk(pool, region, bytes, &place);
    }
    if (chunk == NULL) {
        give_back(backing, region, bytes);
    }
    return chunk;
}

// The next chunk is twice as long, if it may be.
static void lengthen_next(egb_growing* pool)
{
    const size_t most  = pool->options.chunk_bytes_max;
    const size_t twice = pool->next_bytes > most / 2 ? most : pool->next_bytes * 2;
    if (twice <= egb_larger_(pool->eager_bytes, pool->held / EGB_LAZY_CHUNKS)) {
        pool->next_bytes = twice;
    }
}

egb_chunk_* egb_growing_grow_(egb_growing* pool)
{
    if (!egb_growing_is_made_(pool)) {
        return NULL;  // the handler of a misuse has destroyed it
    }
    const size_t wanted = wanted_chunk_bytes(pool);
    const size_t one    = chunk_bytes_for(&pool->options, 1);
    egb_chunk_*  chunk  = get_chunk(pool, wanted);
    if (chunk == NULL && wanted > one) {
        chunk = get_chunk(pool, one);
    }
    if (chunk == NULL) {
        return NULL;
    }
    pool->capacity += chunk->shape.blocks;
    pool->held += chunk->range.bytes;
    pool->chunks++;
    egb_growing_note_idle_(pool, chunk, false);
    if (chunk->range.bytes >= wanted) {  // else the backing is short of memory
        lengthen_next(pool);
    }
    egb_range_add_(&pool->tree, &chunk->range);
    egb_available_add_last_(pool, chunk);
    return chunk;
}

void egb_growing_lengthen_lazily_(egb_growing* pool, size_t bytes)
{
    pool->eager_bytes = bytes;
}

void egb_growing_lead_(egb_growing* pool, size_t bytes)
{
    pool->options.lead_bytes = bytes;
    (void)settle(&pool->options);  // a chunk of one block may be longer now
    pool->next_bytes = egb_larger_(pool->next_bytes, pool->options.chunk_bytes);
}

// Gives a chunk back. Whether blocks of it are in use or lost is destroy's business, which forgets
// those counts anyway.
static void drop_chunk(egb_growing* pool, egb_chunk_* chunk)
{
    if (egb_chunk_is_available_(chunk)) {
        egb_available_remove_(pool, chunk);
    }
    egb_range_remove_(&pool->tree, &chunk->range);
    if (egb_chunk_is_idle_(chunk)) {
        __atomic_store_n(&pool->idle, pool->idle - chunk->range.bytes, __ATOMIC_RELAXED);
    }
    if (pool->gone != 0) {
        pool->gone -= egb_smaller_(egb_bitmap_gone_(chunk), pool->gone);
    }
    pool->capacity -= chunk->shape.blocks;
    pool->held -= chunk->range.bytes;
    pool->chunks--;
    give_back(&pool->options.backing, chunk->range.start, chunk->range.bytes);
}

void egb_growing_destroy(egb_growing* pool)
{
    if (!egb_growing_is_made_(pool)) {
        return;
    }
    while (pool->tree != NULL) {
        drop_chunk(pool, egb_chunk_of_range_(pool->tree));
    }
    egb_clear_words_(pool, sizeof *pool);
}

// ---- reserve and trim ---------------------------------------------------------------------------

// New chunks stand at the end of the list, so the last ones are those that this call got.
static void undo_reserve(egb_growing* pool, size_t new_chunks, size_t next_bytes)
{
    if (pool->options.backing.give_back == NULL) {
        return;  // dropped, they would be lost
    }
    for (; new_chunks > 0; new_chunks--) {
        drop_chunk(pool, pool->available->previous);
    }
    pool->next_bytes = next_bytes;
}

egb_status egb_growing_reserve(egb_growing* pool, size_t blocks)
{
    if (!egb_growing_is_made_(pool)) {
        return EGB_INVALID;
    }
    const size_t most = pool->options.max_blocks;
    if ((most != 0 && blocks > most - pool->in_use) ||
        blocks > SIZE_MAX / pool->options.block_bytes) {
        return EGB_LIMIT;
    }
    const size_t next_bytes = pool->next_bytes;
    const size_t chunks     = pool->chunks;
    while (pool->capacity - pool->lost - pool->in_use < blocks) {
        if (egb_growing_grow_(pool) == NULL) {
            undo_reserve(pool, pool->chunks - chunks, next_bytes);
            return EGB_NO_MEMORY;
        }
    }
    return EGB_OK;
}

static bool may_go(const egb_growing* pool, const egb_chunk_* chunk, size_t keep_bytes)
{
    return egb_chunk_is_idle_(chunk) && pool->held - chunk->range.bytes >= keep_bytes;
}

size_t egb_growing_trim(egb_growing* pool, size_t keep_bytes)
{
    if (!egb_growing_is_made_(pool) || pool->options.backing.give_back == NULL) {
        return 0;
    }
    const size_t held = pool->held;
    // From the end of the list to its start; those that are wholly free are all on it.
    egb_chunk_* chunk = pool->available != NULL ? pool->available->previous : NULL;
    while (chunk != NULL && pool->idle != 0) {
        egb_chunk_* const before = chunk != pool->available ? chunk->previous : NULL;
        if (may_go(pool, chunk, keep_bytes)) {
            drop_chunk(pool, chunk);
        }
        chunk = before;
    }
    return held - pool->held;
}

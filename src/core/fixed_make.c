// SPDX-License-Identifier: MIT
// Making, resizing and clearing a fixed pool: everything that looks at a region and its sizes.
#include "fixed_private.h"

static bool wraps(const void* start, size_t bytes)
{
    return bytes > UINTPTR_MAX - (uintptr_t)start;
}

static bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static bool is_word_aligned(const void* address)
{
    return (uintptr_t)address % EGB_WORD_BYTES == 0;
}

size_t egb_fixed_bytes(size_t block_bytes, size_t count)
{
    const uint64_t many = count;  // a comparison of 32 bits with more is a warning of compilers
    return EGB_FIXED_BYTES(block_bytes, many);
}

// How many blocks of `block_bytes`, a multiple of 4, a pool makes of a region.
static egb_status
count_blocks(const void* region, size_t region_bytes, size_t block_bytes, uint32_t* count)
{
    if (wraps(region, region_bytes)) {
        return EGB_INVALID;
    }
    const uint64_t bytes = region_bytes;
    if (bytes > EGB_FIXED_BYTES_MAX || block_bytes / EGB_WORD_BYTES >= EGB_FIXED_COUNT_MAX) {
        return EGB_LIMIT;
    }
    const size_t fitting = region_bytes / block_bytes;
    if (fitting == 0) {
        return EGB_INVALID;
    }
    *count = fitting < EGB_FIXED_COUNT_MAX ? (uint32_t)fitting : EGB_FIXED_COUNT_MAX;
    return EGB_OK;
}

static void set_count(egb_fixed* pool, uint32_t count)
{
    pool->reach    = EGB_FIXED_REACH_(count, pool->stride);
    pool->checksum = EGB_FIXED_CHECKSUM_(pool->reach, pool->stride, pool->mode);
}

// Live bits and how many blocks there are bits for, and room for links; both 0 in modes without.
typedef struct live_bits {
    egb_word* words;
    uint32_t  capacity;
} live_bits;

// Every block of a pool that is made becomes free and untouched.
static void reset(egb_fixed* pool)
{
    pool->head  = EGB_FIXED_NONE_;
    pool->bound = 0;
    pool->limit = 0;
    if (pool->mode == EGB_FIXED_TINY_) {
        pool->side.hidden = ~EGB_FIXED_NONE_;
    } else if (pool->mode == EGB_FIXED_UNCHECKED_) {
        pool->side.newest = NULL;
    } else if (egb_fixed_has_bits_(pool)) {
        pool->side.live[EGB_FIXED_LIVE_HEAD_]    = ~EGB_FIXED_NONE_;
        pool->side.live[EGB_FIXED_LIVE_FREE_]    = 0;
        pool->side.live[EGB_FIXED_LIVE_TOUCHED_] = 0;
        egb_live_end_at_(pool, 0);
    }
}

// All that the ways to make a pool have in common.
static egb_status make(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    unsigned   mode,
    live_bits  live
)
{
    if (pool == NULL || region == NULL || !is_word_aligned(region) || block_bytes == 0 ||
        block_bytes % EGB_WORD_BYTES != 0) {
        return EGB_INVALID;
    }
    uint32_t         count;
    const egb_status status = count_blocks(region, region_bytes, block_bytes, &count);
    if (status != EGB_OK) {
        return status;
    }
    if (overlap(pool, sizeof *pool, region, region_bytes) ||
        (live.words != NULL && live.capacity < count)) {
        return EGB_INVALID;
    }
    pool->first     = (egb_word*)region;
    pool->shift     = (uint8_t)(EGB_FIXED_SHIFT_(block_bytes));
    pool->inverse   = EGB_FIXED_INVERSE_(block_bytes >> pool->shift);
    pool->stride    = (uint32_t)(block_bytes / EGB_WORD_BYTES);
    pool->mode      = (uint8_t)mode;
    pool->side.live = live.words;
    if (live.words != NULL) {
        live.words[EGB_FIXED_LIVE_CAPACITY_] = live.capacity;
    }
    set_count(pool, count);
    reset(pool);
    return EGB_OK;
}

egb_status egb_fixed_init(egb_fixed* pool, void* region, size_t region_bytes, size_t block_bytes)
{
    const unsigned mode = block_bytes == EGB_WORD_BYTES ? EGB_FIXED_TINY_ : EGB_FIXED_MARKED_;
    return make(pool, region, region_bytes, block_bytes, mode, (live_bits){NULL, 0});
}

egb_status
egb_fixed_init_unchecked(egb_fixed* pool, void* region, size_t region_bytes, size_t block_bytes)
{
    if (block_bytes < sizeof(egb_fixed_link_)) {
        return EGB_INVALID;
    }
    return make(
        pool, region, region_bytes, block_bytes, EGB_FIXED_UNCHECKED_, (live_bits){NULL, 0}
    );
}

// `words` are those behind the fixed ones.
static uint32_t capacity_of_bits(size_t words)
{
    return words <= EGB_FIXED_COUNT_MAX / 32 ? (uint32_t)words * 32 : EGB_FIXED_COUNT_MAX;
}

// 32 blocks take a word of bits and 32 of links; of a rest, one word is of bits.
static uint32_t capacity_of_bits_and_links(size_t words)
{
    const size_t rest  = words % 33;
    const size_t count = words / 33 * 32 + (rest != 0 ? rest - 1 : 0);
    return count < EGB_FIXED_COUNT_MAX ? (uint32_t)count : EGB_FIXED_COUNT_MAX;
}

static egb_status make_with_bits(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    void*      outside,
    size_t     outside_bytes,
    unsigned   mode
)
{
    const size_t words = outside_bytes / EGB_WORD_BYTES;
    if (outside == NULL || !is_word_aligned(outside) || wraps(outside, outside_bytes) ||
        overlap(outside, outside_bytes, region, region_bytes) ||
        overlap(outside, outside_bytes, pool, sizeof *pool) || words <= EGB_FIXED_LIVE_BITS_) {
        return EGB_INVALID;
    }
    live_bits live = {(egb_word*)outside, 0};
    if (mode == EGB_FIXED_OUTSIDE_) {
        live.capacity = capacity_of_bits_and_links(words - EGB_FIXED_LIVE_BITS_);
        live.words += live.capacity;
    } else {
        live.capacity = capacity_of_bits(words - EGB_FIXED_LIVE_BITS_);
    }
    return make(pool, region, region_bytes, block_bytes, mode, live);
}

egb_status egb_fixed_init_checked(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    void*      live_words,
    size_t     live_bytes
)
{
    return make_with_bits(
        pool, region, region_bytes, block_bytes, live_words, live_bytes, EGB_FIXED_LIVE_
    );
}

egb_status egb_fixed_init_outside(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    void*      outside,
    size_t     outside_bytes
)
{
    return make_with_bits(
        pool, region, region_bytes, block_bytes, outside, outside_bytes, EGB_FIXED_OUTSIDE_
    );
}

// A static pool has as many bits as blocks; here it finds room to remember that.
static uint32_t live_capacity(egb_fixed* pool)
{
    egb_word* const capacity = &pool->side.live[EGB_FIXED_LIVE_CAPACITY_];
    if (*capacity == 0) {
        *capacity = (uint32_t)egb_fixed_capacity(pool);
    }
    return *capacity;
}

egb_status egb_fixed_resize(egb_fixed* pool, size_t region_bytes)
{
    if (!egb_fixed_is_made_(pool)) {
        return EGB_INVALID;
    }
    uint32_t         count;
    const size_t     block_bytes = (size_t)pool->stride * EGB_WORD_BYTES;
    const egb_status status      = count_blocks(pool->first, region_bytes, block_bytes, &count);
    if (status != EGB_OK) {
        return status;
    }
    const uint32_t touched = egb_fixed_count_touched_(pool);
    if (count < touched) {
        return EGB_BUSY;
    }
    if (overlap(pool, sizeof *pool, pool->first, region_bytes)) {
        return EGB_INVALID;
    }
    if (egb_fixed_has_bits_(pool)) {
        const uint32_t capacity = live_capacity(pool);
        const size_t   links    = pool->mode == EGB_FIXED_OUTSIDE_ ? capacity : 0;
        const size_t   bytes    = EGB_FIXED_LIVE_BYTES(capacity) + links * EGB_WORD_BYTES;
        if (count > capacity) {
            return EGB_LIMIT;
        }
        if (overlap(pool->side.live - links, bytes, pool->first, region_bytes)) {
            return EGB_INVALID;
        }
    }
    set_count(pool, count);
    if (egb_fixed_has_bits_(pool)) {
        egb_live_end_at_(pool, touched);
    }
    return EGB_OK;
}

void egb_fixed_clear(egb_fixed* pool)
{
    if (egb_fixed_is_made_or_told_(pool, EGB_CALLER())) {
        reset(pool);
    }
}

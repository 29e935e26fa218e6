// SPDX-License-Identifier: MIT
// Layer core: the growing pool, chunks of equal blocks from a backing, for one owner at a time.
//
//     chunk: | block 0 | block 1 | ... | block n-1 | states | chunk header |
//            `--- a fixed pool over this part ----'   n bytes, optional
//
// When every block is in use the pool asks its backing for another region and makes a chunk of it;
// each chunk is a fixed pool. Chunks get larger up to a bound. A chunk goes back to the backing
// in trim, when all its blocks are free, and in destroy.
//
// A tree by address holds the chunks. Free finds the chunk of a block there, without reading the
// block. The tree is a treap whose priorities are mixed from the addresses: R. Seidel and
// C. Aragon, "Randomized Search Trees", 1996.
//
// Threads  One at a time per pool, for every call here. Different pools are independent.
// Cost     O(1) unless a function says otherwise; alloc and free are function calls. O(log chunks)
//          is expected, over all addresses, not the worst case.
#ifndef EGGBOX_GROWING_H
#define EGGBOX_GROWING_H

#include "fixed.h"

EGB_C_BEGIN_

// ---- where chunks come from ---------------------------------------------------------------------

/// The source of a growing pool's regions: three functions and their argument. The functions may
/// not use the pool that calls them.
typedef struct egb_backing {
    /// Hands out an address range of `least` bytes or more. `*bytes` is the size that the pool
    /// would like, at least `least`; on return the size of the range. Address and sizes are
    /// multiples of `granule` if that is not 0. NULL: refused; the pool stays as it is.
    void* (*reserve)(void* user, size_t least, size_t* bytes);

    /// Makes memory of a range that `reserve` handed out. NULL: it already is. Anything but EGB_OK:
    /// refused; the range is given back and the pool stays as it is.
    egb_status (*commit)(void* user, void* region, size_t bytes);

    /// Takes back a range, whole, as `reserve` handed it out. NULL: ranges are never taken back.
    void (*give_back)(void* user, void* region, size_t bytes);

    void*  user;     // passed on to the functions
    size_t granule;  // power of two that divides addresses and sizes of ranges; or 0: any address
                     // and size, and a range that holds no block once it is aligned goes back
    bool   zeroed;   // memory from it is all zero at first, so the pool need not clear it
    size_t extra_bytes;  // kept free for the backing at the end of each range: a multiple of 8 up
                         // to EGB_LEAD_BYTES_MAX
} egb_backing;

/// A region as a backing that never grows: it hands all of the region out once.
typedef struct egb_static_region {
    void*  region;
    size_t bytes;
    bool   is_out;
} egb_static_region;

/// The backing of `*region`, which stays in place and belongs to one pool as long as that pool
/// lives. For NULL: a backing that egb_growing_init() refuses.
egb_backing egb_static_backing(egb_static_region* region);

// ---- the pool -----------------------------------------------------------------------------------

/// How to make a growing pool. All zero but `block_bytes` and `backing` is fine.
typedef struct egb_growing_options {
    size_t block_bytes;       // required: a multiple of 4; the stride
    size_t block_align;       // a power of two that divides block_bytes; 0: 4 bytes
    size_t max_blocks;        // most blocks in use at one time; 0: no limit
    size_t chunk_bytes;       // size of the first chunk, rounded up to one block; 0: 64 KiB
    size_t chunk_bytes_max;   // chunks double up to this; 0: 4 MiB, with states no more than
                              // 64 Ki blocks of less than 64 bytes, or chunk_bytes if larger
    bool        with_states;  // a byte per block beside the blocks, zero at first, see below
    size_t      lead_bytes;   // kept free before the first block of each chunk
    egb_backing backing;      // required
} egb_growing_options;

/// Private: the pool's own bits of a block's state; the lowest two bits are the caller's. The
/// highest bit says "free in its chunk": it is set while the block is free and was in use before.
/// These bits take the place of a free list, and such blocks are handed out in order of address.
/// The bit below it says that nobody had the block since it was fresh. The third bit says that the
/// system has had pages of the free block since it came home: each word of it is as before, or
/// zero. The pool never sets another bit. To find the next free block the pool reads 8 of the
/// chunk's states, or up to a 64th of them (a 32nd on 32-bit machines), as many at once as a word
/// has bytes.
#define EGB_STATE_OWN_      0xFCu
#define EGB_STATE_IN_CHUNK_ 0x80u
#define EGB_STATE_UNUSED_   0x40u
#define EGB_STATE_GONE_     0x10u

#define EGB_LEAD_BYTES_MAX (EGB_CAST_(size_t, 64) << 10)

/// Private: the numbers that find the state of a block. Never changes while the chunk exists.
typedef struct egb_shape_ {
    uintptr_t      first;    // address of block 0
    size_t         inverse;  // as in egb_fixed
    unsigned char* states;   // NULL: there are none
    uint32_t       blocks;
    uint8_t        shift;  // as in egb_fixed
    uint8_t        group;  // log2 of the blocks in a group of states
} egb_shape_;

EGB_INLINE size_t egb_shape_index_(const egb_shape_* shape, const void* block)
{
    return egb_rotate_right_(
        (size_t)((uintptr_t)block - shape->first) * shape->inverse, shape->shift
    );
}

/// Private: the header at the end of each chunk.
typedef struct egb_chunk_ egb_chunk_;

/// A growing pool. The struct is public so that the program can place it anywhere; treat every
/// field as private. Must not be moved while it has chunks.
typedef struct egb_growing {
    egb_growing_options options;
    egb_chunk_*         available;    // chunks with a free block, a doubly linked list
    struct egb_range*   tree;         // every chunk, by address
    size_t              next_bytes;   // size of the next chunk
    size_t              eager_bytes;  // chunks up to this size double whatever the pool holds
    size_t              in_use;       // blocks
    size_t              peak;         // blocks
    size_t              capacity;     // blocks of all chunks
    size_t              lost;         // free blocks that are out of reach
    size_t              held;         // bytes of all chunks
    size_t              chunks;
    size_t              idle;  // bytes of wholly free chunks; atomic
    size_t              gone;  // free blocks whose pages the system has: EGB_STATE_GONE_
    uint32_t            turn;  // a time that the owner counts
} egb_growing;

/// Makes a pool without chunks: calls no function of the backing.
///
/// Returns  EGB_OK;
///          EGB_INVALID if a pointer is NULL; `block_bytes` is 0 or no multiple of 4; `block_align`
///          is no power of two or does not divide `block_bytes`; `lead_bytes` is more than
///          `block_bytes` or EGB_LEAD_BYTES_MAX; `backing.extra_bytes` is no such multiple;
///          `backing.reserve` is NULL or `granule` is neither
///          0 nor a power of two of at least `block_align` and 4;
///          EGB_LIMIT if no chunk can be large enough: `block_bytes` over 16 GiB - 8 bytes, or too
///          close to SIZE_MAX. On anything but EGB_OK `*pool` is unchanged.
EGB_NODISCARD egb_status egb_growing_init(egb_growing* pool, const egb_growing_options* options);

/// Gives every chunk back, blocks in use included, and makes `*pool` all zero. No effect if `*pool`
/// is all zero, or `pool` is NULL. O(chunks log chunks).
void egb_growing_destroy(egb_growing* pool);

/// Takes a block of the chunk that got the latest free: a recycled block if the chunk has one (with
/// states the one with the lowest address), else a fresh one. When no chunk has a free block, takes
/// a block of a new chunk.
///
/// Returns  a block with unspecified contents; NULL if `max_blocks` are in use, or the backing
///          refused (the pool asks again for the least that one block needs), or `pool` was never
///          initialised (then EGB_MISUSE_NO_POOL).
/// Misuse   EGB_MISUSE_OVERWRITTEN: someone wrote to a free block. Without states alloc notices as
///          much as egb_fixed_alloc() does, and also a free list that ends too early (then the
///          event's address is NULL). With states it notices that the state of the next block was
///          overwritten, or the block's first 8 bytes, if it is shorter than 1 KiB. Lost until
///          destroy are the blocks behind the damage; with states, the block itself and damaged
///          blocks right behind it. Their chunk then stays in the pool; the call goes on with other
///          blocks. If the states were overwritten and no free block is found in a chunk that
///          should have one, the event's address is NULL, and the chunk's free blocks are lost.
/// Cost     O(1); with states O(states of the chunk / 512) when few of its blocks are free
EGB_NODISCARD void* egb_growing_alloc(egb_growing* pool);

/// Gives a block back. NULL: no effect.
///
/// Misuse   refused, and nothing changes: EGB_MISUSE_NO_POOL, EGB_MISUSE_FOREIGN, and all that
///          egb_fixed_free() refuses, found with the same certainty. The event's pool is this one;
///          its index counts from the start of the block's chunk.
/// Cost     O(log chunks); for blocks that look free also the walk of egb_fixed_free()
void egb_growing_free(egb_growing* pool, void* block);

/// Gets chunks until `blocks` more can be allocated without asking the backing.
///
/// Returns  EGB_OK; EGB_INVALID if `pool` was never initialised; EGB_LIMIT if the blocks would be
///          more than `max_blocks`, or than there are addresses; EGB_NO_MEMORY if the backing
///          refused: then the call has given its new chunks back and the pool is as before. (If the
///          backing takes nothing back, the pool keeps them.)
/// Cost     O(new chunks * log chunks)
EGB_NODISCARD egb_status egb_growing_reserve(egb_growing* pool, size_t blocks);

/// Gives wholly free chunks back to the backing, as long as the pool then still holds at least
/// `keep_bytes`. The chunk whose latest free is oldest goes first. Returns how many bytes were
/// given back: 0 if `pool` was never initialised or its backing takes nothing back.
/// O(chunks log chunks).
size_t egb_growing_trim(egb_growing* pool, size_t keep_bytes);

/// Called with each block in use. Must not use the pool.
typedef void (*egb_growing_visit_fn)(void* block, void* user);

/// Calls `visit` with every block in use, in order of address. Blocks that were lost behind an
/// overwritten block count as in use here. `visit` may write to the blocks.
///
/// Cost     With states O(touched blocks + chunks log chunks), always.
///          Without, the same as long as no block in use holds the bytes of a free one. In a chunk
///          with such a block, and with 4-byte blocks: O(touched * free / 2048).
void egb_growing_each(const egb_growing* pool, egb_growing_visit_fn visit, void* user);

/// Says whether `block` is the start of a block of this pool, free or in use. Never reads through
/// it. False if `pool` was never initialised. O(log chunks).
bool egb_growing_owns(const egb_growing* pool, const void* block);

/// Blocks in all chunks; blocks in use now; the most blocks that were ever in use. All exact, and 0
/// if `pool` was never initialised.
size_t egb_growing_capacity(const egb_growing* pool);
size_t egb_growing_in_use(const egb_growing* pool);
size_t egb_growing_peak(const egb_growing* pool);

/// Bytes got from the backing and not given back.
size_t egb_growing_held(const egb_growing* pool);

/// Checks every invariant, for tests and debugging: false if one does not hold, or `pool` was never
/// initialised. Follows the pool's own pointers, which must lead to accessible memory.
/// O(touched blocks + chunks log chunks).
bool egb_growing_whole(const egb_growing* pool);

EGB_C_END_

#endif  // EGGBOX_GROWING_H

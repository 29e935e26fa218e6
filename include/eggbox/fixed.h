// SPDX-License-Identifier: MIT
// Layer core: the fixed pool, one region cut into equal blocks, for one owner at a time.
//
//     region: | block 0 | block 1 | block 2 | ... | block n-1 | unused tail |
//             ^                   ^                           ^
//             first               touched                     capacity
//
//     [0, touched)         handed out at least once since init or clear: in use, or free
//     [touched, capacity)  fresh: not read or written by the pool since then
//
// The free list is a stack through the free blocks themselves. The first 4 bytes of a free block
// are a link: the distance, in words of 4 bytes from block 0, of the block freed before it. With
// distances in place of addresses a link costs 4 bytes on every machine. The next 4 bytes of a free
// block are a mark, by which a second free is noticed. The pool keeps nothing inside or around a
// block in use. By mode:
//
//     marked     egb_fixed_init(), blocks of 8 bytes or more: link and mark, as above
//     tiny       egb_fixed_init(), blocks of 4 bytes: a link and no mark
//     live bits  egb_fixed_init_checked(): a link, and a bit for each block outside the region
//     outside    egb_fixed_init_outside(): links and bits outside; free blocks are not touched
//     unchecked  egb_fixed_init_unchecked(): the address of the next block in place of a link
//
// Alloc prefers a recycled block, and takes a fresh one only when every touched block is in use.
// Hence `touched` is also the peak, and a program that needs few blocks touches few pages.
//
// Idea: B. Kenwright, "Fast Efficient Fixed-Size Memory Pool: No Loops and No Overhead", 2012.
// The exact division by multiplication (egb_fixed_index_): T. Granlund and P. Montgomery,
// "Division by Invariant Integers using Multiplication", 1994, section 9.
//
// Threads  One at a time per pool, for every call here. Different pools are independent.
//          An interrupt or signal handler counts as a thread.
// Cost     O(1), with no loop, lock, recursion or system call, unless a function says otherwise.
#ifndef EGGBOX_FIXED_H
#define EGGBOX_FIXED_H

#include "base.h"
#include "fixed_static.h"
#include "misuse.h"

EGB_C_BEGIN_

// ---- sizes ----------------------------------------------------------------------------------

/// The smallest block, the unit of block sizes, and the alignment that every region needs: 4 bytes.
#define EGB_WORD_BYTES 4u

/// The largest region: 16 GiB, as far as a 4-byte distance in words reaches.
#define EGB_FIXED_BYTES_MAX (UINT64_C(1) << 34)

/// The most blocks in a pool, and one more than the most words in a block.
#define EGB_FIXED_COUNT_MAX UINT32_MAX

/// How many bytes of storage give exactly `count` blocks of `block_bytes`: their product.
///
/// A constant expression. If no such pool is possible it is 0, an array size that ISO C and C++
/// refuse: `block_bytes` is 0, no multiple of 4 or over 16 GiB - 8 bytes; `count` is 0 or over
/// 2^32 - 1; the product is over 16 GiB or does not fit in a size_t.
#define EGB_FIXED_BYTES(block_bytes, count)                                            \
    (EGB_FIXED_POSSIBLE_(EGB_CAST_(uint64_t, block_bytes), EGB_CAST_(uint64_t, count)) \
         ? EGB_CAST_(size_t, block_bytes) * EGB_CAST_(size_t, count)                   \
         : EGB_CAST_(size_t, 0))

/// The same number at run time.
size_t egb_fixed_bytes(size_t block_bytes, size_t count);

/// How many bytes of live bits egb_fixed_init_checked() needs for `count` blocks: one bit a block
/// and four words. A constant expression; a multiple of 4. `count` is at most 2^32 - 1.
#define EGB_FIXED_LIVE_BYTES(count)                           \
    ((EGB_FIXED_LIVE_BITS_ + EGB_CAST_(size_t, count) / 32u + \
      (EGB_CAST_(size_t, count) % 32u != 0)) *                \
     EGB_WORD_BYTES)

/// How many bytes egb_fixed_init_outside() needs for `count` blocks: live bits, and one word per
/// block. A constant expression; a multiple of 4. `count` is at most 2^32 - 1, or 2^29 on 32-bit
/// machines.
#define EGB_FIXED_OUTSIDE_BYTES(count)                                        \
    (EGB_FIXED_LIVE_BYTES(count) + EGB_CAST_(size_t, count) * EGB_WORD_BYTES)

// ---- the pool -------------------------------------------------------------------------------

/// A 4-byte word of the region. The caller's objects, of any type, lie in the same memory.
typedef EGB_MAY_ALIAS uint32_t egb_word;

/// A fixed pool: 48 bytes on 64-bit machines, 36 on 32-bit ones. The struct is public so that the
/// program can place it anywhere, and the compiler can inline the hot path. Treat every field as
/// private.
///
/// It refers to its region by address. A program may copy or move the pool object, and must then
/// use only one of the copies.
typedef struct egb_fixed {
    egb_word* first;    // block 0; NULL: not initialised
    size_t    inverse;  // inverse of a block's odd part, modulo 2^(bits of size_t)
    union {
        egb_word* live;    // modes LIVE and OUTSIDE: see EGB_FIXED_LIVE_HEAD_
        uint32_t  hidden;  // mode TINY: complement of the newest free block's distance
        void*     newest;  // mode UNCHECKED: the newest free block; NULL: none
    } side;
    uint32_t head;    // distance of the newest free block; EGB_FIXED_NONE_: none, or in `side`
    uint32_t bound;   // every touched block starts before this distance, the last one right before
    uint32_t limit;   // free takes blocks below this index inline: the touched ones, or 0 for none
    uint32_t reach;   // every block starts before this distance, the last one right before
    uint32_t stride;  // words from one block to the next
    uint16_t checksum;  // checksum of the fields that never change between init and resize
    uint8_t  shift;     // a block's bytes are their odd part times 2^shift, 4 at least
    uint8_t  mode;      // EGB_FIXED_MARKED_ ...
} egb_fixed;

/// Makes a pool of as many blocks of exactly `block_bytes` as fit in `region`, all free.
///
/// Returns  EGB_OK;
///          EGB_INVALID if `pool` or `region` is NULL; `region` is not aligned to 4 bytes or wraps
///          around the address space or overlaps `*pool`; `block_bytes` is 0 or no multiple of 4;
///          `region_bytes` holds not even one block;
///          EGB_LIMIT if `region_bytes` is over 16 GiB, or `block_bytes` over 16 GiB - 8 bytes.
///          On anything but EGB_OK `*pool` is unchanged.
/// Cost     O(1), whatever the number of blocks; one division. Reads and writes no block.
///
/// A block is aligned as far as both `region` and `block_bytes` are: for 64-byte aligned blocks
/// pass a 64-byte aligned region and a multiple of 64. A region of 16 GiB of 4-byte blocks gives
/// 2^32 - 1 of them. The region stays the caller's. There is nothing to undo: to end a pool, forget
/// the object; to begin again, init again.
EGB_NODISCARD egb_status
egb_fixed_init(egb_fixed* pool, void* region, size_t region_bytes, size_t block_bytes);

/// As egb_fixed_init(), and keeps one bit per block outside the region, which says whether the
/// block is in use. Every double free is found, whatever was written into the block since the first
/// free, and an overwritten free list is built anew, without loss.
///
/// `live_bits`   4-byte aligned, EGB_FIXED_LIVE_BYTES(count) bytes for the `count` blocks of the
///               region, or more to let egb_fixed_resize() add blocks. Need not be cleared. The
///               memory belongs to the pool until the pool is forgotten.
/// Returns  as egb_fixed_init(); EGB_INVALID also if `live_bits` is NULL, misaligned, wraps, is too
///          small, or overlaps the region or `*pool`.
/// Cost     as egb_fixed_init(). Alloc and free are then function calls, several times as long as
///          the inline ones of egb_fixed_init(). An alloc that meets an overwritten block is
///          O(touched), once.
EGB_NODISCARD egb_status egb_fixed_init_checked(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    void*      live_bits,
    size_t     live_bytes
);

/// As egb_fixed_init_checked(), and the free list is outside the region as well: the pool never
/// reads or writes a block. Use it for blocks of some KiB, because the link of each would miss
/// every cache, and for memory that is slow, or not for this processor to touch. A write to a free
/// block harms nothing.
///
/// `outside`  4-byte aligned, EGB_FIXED_OUTSIDE_BYTES(count) bytes for the `count` blocks of the
///            region, or more to let egb_fixed_resize() add blocks. Otherwise as `live_bits`.
/// Returns    as egb_fixed_init_checked(), with `outside` in place of `live_bits`.
/// Misuse     EGB_MISUSE_OVERWRITTEN tells of writes to `outside` alone.
/// Cost       as egb_fixed_init_checked().
EGB_NODISCARD egb_status egb_fixed_init_outside(
    egb_fixed* pool,
    void*      region,
    size_t     region_bytes,
    size_t     block_bytes,
    void*      outside,
    size_t     outside_bytes
);

/// As egb_fixed_init(), for egb_fixed_alloc_unchecked() and egb_fixed_free_unchecked(). Measure
/// before you use it. The links in free blocks are addresses here.
///
/// Returns  as egb_fixed_init(); EGB_INVALID also if `block_bytes` is less than a pointer's.
EGB_NODISCARD egb_status
egb_fixed_init_unchecked(egb_fixed* pool, void* region, size_t region_bytes, size_t block_bytes);

/// Takes a block.
///
/// Returns  the block freed last, else a fresh one, with unspecified contents;
///          NULL when every block is in use.
/// Misuse   EGB_MISUSE_NO_POOL: returns NULL. EGB_MISUSE_OVERWRITTEN: someone wrote to a free
///          block, and the free list leads to an address that is no free block. With live bits the
///          list is built anew and the call goes on with it; no damage to a list can lose a block.
///          Without live bits the pool cannot tell the blocks behind the damage from blocks in use:
///          they count as in use until clear, and the call goes on as if none were free. Without
///          live bits the pool also does not notice a link that was overwritten with the link of
///          another free block, or with the end of the list; nor, with 4-byte blocks, any link that
///          leads to a touched block: use live bits for such blocks.
/// Cost     O(1). A recycled block: touches the pool and the block, unless its list is outside. A
///          fresh block: a function call.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_fixed_alloc(egb_fixed* pool);

/// Gives a block back. The next alloc returns it, while it is still in the cache. NULL: no effect.
///
/// Misuse   refused, and nothing changes: EGB_MISUSE_NO_POOL, EGB_MISUSE_FOREIGN,
///          EGB_MISUSE_INTERIOR, EGB_MISUSE_NEVER_ALLOCATED, EGB_MISUSE_DOUBLE_FREE. The pool does
///          not follow the pointer before it is known to be a block of this pool. With live bits a
///          double free is found for certain. Without live bits it is found as long as the block's
///          second 4 bytes (the first 4 of a 4-byte block) are as the first free left them, and the
///          free list still leads to the block. A block that was freed and then handed out again
///          cannot be told from a block in use.
/// Cost     O(1), no branch on the number of blocks. Overwrites the block's first 8 bytes, or
///          4 if it has no mark, or none if the list is outside. Without live bits, a walk of the
///          free list, O(free blocks), in a double free and when the block's second word happens to
///          hold the mark; with 4-byte blocks, which have no second word, whenever the word looks
///          like a link.
EGB_INLINE_PUBLIC void egb_fixed_free(egb_fixed* pool, void* block);

/// As egb_fixed_alloc(), with no check: the link in an overwritten free block may lead anywhere.
/// `pool` comes from egb_fixed_init_unchecked() or EGB_FIXED_DEFINE_UNCHECKED(). A pool that is all
/// zero has no block, and the handler is not told.
/// Cost     6 instructions on x86-64, return included.
EGB_NODISCARD EGB_INLINE_PUBLIC void* egb_fixed_alloc_unchecked(egb_fixed* pool);

/// As egb_fixed_free(), with no check: `block` is NULL or a block of this pool that is in use,
/// else the pool is lost. `pool` comes from egb_fixed_init_unchecked() or
/// EGB_FIXED_DEFINE_UNCHECKED().
/// Cost     6 instructions on x86-64, return included.
EGB_INLINE_PUBLIC void egb_fixed_free_unchecked(egb_fixed* pool, void* block);

/// Changes the region's size in place, blocks and free list untouched.
///
/// `region_bytes`  counts from the start of the region given to init.
/// Returns  EGB_OK;
///          EGB_INVALID if `pool` is not initialised, the region would wrap around the address
///          space, overlap `*pool` or the live bits, or hold not even one block;
///          EGB_LIMIT if it would be over 16 GiB, or need more live bits than there are;
///          EGB_BUSY if it would cut off a touched block. (egb_fixed_clear() makes all untouched.)
///          On anything but EGB_OK nothing is changed.
/// Cost     O(1), one division.
EGB_NODISCARD egb_status egb_fixed_resize(egb_fixed* pool, size_t region_bytes);

/// Makes every block free and untouched again, blocks in use included: the program may no longer
/// use or free any pointer to a block of this pool. `pool` not initialised: EGB_MISUSE_NO_POOL.
void egb_fixed_clear(egb_fixed* pool);

/// Says whether `block` is the start of a block of this pool, free or in use. Never reads through
/// `block`. False if `pool` is not initialised.
bool egb_fixed_owns(const egb_fixed* pool, const void* block);

/// Says whether `block` is a block of this pool that is in use: egb_fixed_free() would then take
/// it. The certainty and the cost are the same. False for NULL; in an unchecked pool true for every
/// touched block.
bool egb_fixed_is_live(const egb_fixed* pool, const void* block);

/// Blocks of the pool, in use or not. This and all the numbers below are 0 if `pool` is not
/// initialised.
size_t egb_fixed_capacity(const egb_fixed* pool);

/// Blocks now held by the caller, exactly, as long as the free list is whole. Blocks lost behind an
/// overwritten block count as held.
/// Cost     O(free blocks): counts the free list, because alloc and free have no counter.
///          O(1) with live bits.
size_t egb_fixed_in_use(const egb_fixed* pool);

/// Blocks that alloc can still give: capacity less in use. Cost as egb_fixed_in_use().
size_t egb_fixed_available(const egb_fixed* pool);

/// The most blocks that were in use at one time since init or clear, exactly.
size_t egb_fixed_peak(const egb_fixed* pool);

/// Blocks handed out at least once since init or clear: the least that egb_fixed_resize() can
/// shrink the region to. Equals the peak.
size_t egb_fixed_touched(const egb_fixed* pool);

/// Checks every invariant of the pool: for tests and debugging.
///
/// Returns  true if all hold; false if `pool` is not initialised, or was overwritten, or if the
///          link or the mark of a free block was. With live bits every changed bit of a link is
///          noticed, and every changed bit of `*pool` except in its two addresses. Without live
///          bits there is no count of the free blocks either, and a link that skips some free
///          blocks is not noticed.
/// Cost     O(touched). Changes nothing; never reads outside the region and the live bits, whatever
///          the free blocks hold.
bool egb_fixed_whole(const egb_fixed* pool);

/// Defines a static pool `name` of `count` blocks, each for one `type`, with its storage and live
/// bits. Usable before main, in a constructor or an interrupt handler: all of it is constant data.
///
///     EGB_FIXED_DEFINE(packets, struct packet, 64);
///     struct packet* p = packets_alloc();
///
/// It also defines two functions. A program that calls them, and not the general calls, links the
/// code for this kind of pool alone.
///
///     void* name_alloc(void);           // egb_fixed_alloc(&name)
///     void  name_free(void* block);     // egb_fixed_free(&name, block)
///
/// `type`   of less than 1 GiB. Its alignment is kept, its size rounded up to a multiple of 4.
/// `count`  a constant expression. If EGB_FIXED_BYTES() gives 0 the definition does not compile.
///
/// At file scope, once per `name`. Takes EGB_FIXED_BYTES() of zero-initialised storage, the live
/// bits likewise, and the 48 bytes of the pool. Checked as by egb_fixed_init_checked(): the surest
/// check, and several times slower than the check of EGB_FIXED_DEFINE_MARKED().
#define EGB_FIXED_DEFINE(name, type, count) EGB_FIXED_DEFINE_AT_(, name, type, count)

/// Defines a static pool as EGB_FIXED_DEFINE() does, but without live bits and checked as by
/// egb_fixed_init(). Its two functions take less time than the general calls: the compiler knows
/// the address of the blocks, and how to divide by their size.
#define EGB_FIXED_DEFINE_MARKED(name, type, count) EGB_FIXED_DEFINE_MARKED_AT_(, name, type, count)

/// Defines a static pool as EGB_FIXED_DEFINE() does, but without live bits and checks, as by
/// egb_fixed_init_unchecked(). Its two functions are egb_fixed_alloc_unchecked(&name) and
/// egb_fixed_free_unchecked(&name, block).
///
/// `type`   of at least the size of a pointer, once rounded up, or the definition does not compile.
#define EGB_FIXED_DEFINE_UNCHECKED(name, type, count)   \
    EGB_FIXED_DEFINE_UNCHECKED_AT_(, name, type, count)

// ---- the hot path: private from here on -------------------------------------------------------

// No block: beyond the reach of every pool, because a block has at least one word after its start
// or there are at most 2^32 - 1 blocks.
#define EGB_FIXED_NONE_ UINT32_MAX

// The mark: the second word of a free block. Any odd number that data seldom equals: not small, not
// the upper half of an address, not text.
#define EGB_FIXED_MARK_ UINT32_C(0xE9B3A5C7)

// The mode of a pool. The checked calls serve only MARKED inline. In the other modes `limit` is 0
// and the inline list empty, which sends every checked call into a cold function. The hot path does
// not test the mode.
#define EGB_FIXED_MARKED_    0u  // blocks of 8 bytes or more
#define EGB_FIXED_TINY_      1u  // blocks of 4 bytes: no room for a mark
#define EGB_FIXED_LIVE_      2u  // egb_fixed_init_checked
#define EGB_FIXED_OUTSIDE_   3u  // egb_fixed_init_outside: as LIVE, and links in front of the words
#define EGB_FIXED_UNCHECKED_ 4u  // egb_fixed_init_unchecked

// The words of `side.live`. All zero is right for a new pool, and static pools therefore need no
// constructor. Head and count change together, but are not neighbours: compilers would merge the
// two stores into one of 8 bytes, and a load of half of those 8 bytes right afterwards would wait
// for the cache.
#define EGB_FIXED_LIVE_HEAD_     0u  // complement of the newest free block's distance
#define EGB_FIXED_LIVE_CAPACITY_ 1u  // blocks that have bits; 0: as many as the pool has blocks
#define EGB_FIXED_LIVE_FREE_     2u  // blocks on the free list
#define EGB_FIXED_LIVE_TOUCHED_  3u  // blocks handed out at least once since init or clear
#define EGB_FIXED_LIVE_BITS_     4u  // from here on a bit per block: in use; first fresh one: 0

#define EGB_FIXED_WORD_SHIFT_ 2  // a word has 2^2 bytes

#define EGB_FIXED_POSSIBLE_(block_bytes, count)                                          \
    ((block_bytes) != 0 && (block_bytes) % EGB_WORD_BYTES == 0 &&                        \
     (block_bytes) / EGB_WORD_BYTES < EGB_FIXED_COUNT_MAX && (count) != 0 &&             \
     (count) <= EGB_FIXED_COUNT_MAX && (block_bytes) <= EGB_FIXED_BYTES_MAX / (count) && \
     (block_bytes) <= SIZE_MAX / (count))

// Right behind the start of the last of `count` blocks.
#define EGB_FIXED_REACH_(count, stride)                                                     \
    (EGB_CAST_(uint32_t, (EGB_CAST_(size_t, count) - 1u) * EGB_CAST_(size_t, stride) + 1u))

// How often 2 divides `n`, a size_t that is not 0: the position of its lowest set bit.
#define EGB_FIXED_SHIFT_(n)                                                                     \
    (EGB_FIXED_LOW_IN_(n, 3u, 1) | EGB_FIXED_LOW_IN_(n, 5u, 2) | EGB_FIXED_LOW_IN_(n, 17u, 4) | \
     EGB_FIXED_LOW_IN_(n, 257u, 8) | EGB_FIXED_LOW_IN_(n, 65537u, 16) |                         \
     ((((n) & (~(n) + 1u)) >> 16 >> 16) != 0 ? 32 : 0))
// SIZE_MAX / 3 is 0101...01, / 5 is 0011...0011, / 17 is 00001111...: the other half of the bits.
#define EGB_FIXED_LOW_IN_(n, divisor, bit)                             \
    ((((n) & (~(n) + 1u)) & ~(SIZE_MAX / (divisor))) != 0 ? (bit) : 0)

// The inverse of the odd `d` modulo 2^(bits of size_t). `3 d xor 2` is right in 5 bits, and each
// step of Newton's method doubles the number of right bits: 10, 20, 40, 80.
#define EGB_FIXED_INVERSE_(d)                                                                  \
    EGB_FIXED_NEWTON_(                                                                         \
        d, EGB_FIXED_NEWTON_(d, EGB_FIXED_NEWTON_(d, EGB_FIXED_NEWTON_(d, ((3u * (d)) ^ 2u)))) \
    )
#define EGB_FIXED_NEWTON_(d, x) ((x) * (2u - (d) * (x)))

// A checksum of 16 bits that changes with any single bit of its arguments.
#define EGB_FIXED_CHECKSUM_(reach, stride, mode)                                          \
    (EGB_CAST_(                                                                           \
        uint16_t,                                                                         \
        ((reach) ^ ((stride) << 16 | (stride) >> 16) ^ EGB_CAST_(uint32_t, mode) << 24) * \
                UINT32_C(0x9E3779B1) >>                                                   \
            16                                                                            \
    ))

// The halves of alloc and free that are not hot: fresh blocks, other modes, every misuse. The first
// two take a pool of any mode, and link all modes. The others take a pool of one mode, which the
// compiler knows, and link that mode alone: marked, tiny, or one of the two with live bits. The
// pair for live bits is their every call, and therefore not declared cold.
EGB_COLD void* egb_fixed_alloc_cold_(egb_fixed* pool);
EGB_COLD void  egb_fixed_free_cold_(egb_fixed* pool, void* block);
EGB_COLD void* egb_fixed_alloc_marked_(egb_fixed* pool);
EGB_COLD void  egb_fixed_free_marked_(egb_fixed* pool, void* block);
EGB_COLD void* egb_fixed_alloc_tiny_(egb_fixed* pool);
EGB_COLD void  egb_fixed_free_tiny_(egb_fixed* pool, void* block);
void*          egb_fixed_alloc_bits_(egb_fixed* pool);
void           egb_fixed_free_bits_(egb_fixed* pool, void* block);

// `bits` is less than the bits of a size_t.
EGB_INLINE size_t egb_rotate_right_(size_t value, unsigned bits)
{
    return value >> bits | value << ((0u - bits) & (sizeof(size_t) * 8 - 1));
}

// The distance of `address` from block 0, in words. An address that is misaligned, or before
// block 0, or far behind the region gives a number that no block has.
EGB_INLINE size_t egb_fixed_distance_(const egb_fixed* pool, const void* address)
{
    return egb_rotate_right_(
        (size_t)((uintptr_t)address - (uintptr_t)pool->first), EGB_FIXED_WORD_SHIFT_
    );
}

// The index of the block at `distance`, or a number larger than any index if none starts there.
//
// Multiplication with the inverse of the stride's odd part divides exact multiples of that part,
// and turns every other distance into a large number. The rotation does the same for the power of
// two. The mapping is one-to-one: no other distance gives the index of a block. One comparison with
// the number of blocks therefore answers "foreign, interior or misaligned?" at once.
EGB_INLINE size_t egb_fixed_index_(const egb_fixed* pool, size_t distance)
{
    return egb_rotate_right_(distance * pool->inverse, pool->shift - EGB_FIXED_WORD_SHIFT_);
}

// The same for an address: one rotation serves for bytes and for words.
EGB_INLINE size_t egb_fixed_index_at_(const egb_fixed* pool, const void* address)
{
    return egb_rotate_right_(
        (size_t)((uintptr_t)address - (uintptr_t)pool->first) * pool->inverse, pool->shift
    );
}

EGB_INLINE egb_word* egb_fixed_block_(const egb_fixed* pool, uint32_t distance)
{
    return pool->first + distance;
}

// True if alloc can pop at once: the list leads to a block, and the block is marked as free.
EGB_INLINE bool egb_fixed_can_pop_(const egb_fixed* pool)
{
    return pool->head < pool->bound && egb_fixed_block_(pool, pool->head)[1] == EGB_FIXED_MARK_;
}

EGB_INLINE void* egb_fixed_pop_(egb_fixed* pool)
{
    egb_word* const block = egb_fixed_block_(pool, pool->head);
    pool->head            = block[0];
    block[1]              = 0;
    return block;
}

EGB_INLINE_PUBLIC void* egb_fixed_alloc(egb_fixed* pool)
{
    if (EGB_UNLIKELY(pool == NULL || !egb_fixed_can_pop_(pool))) {
        return egb_fixed_alloc_cold_(pool);
    }
    return egb_fixed_pop_(pool);
}

// True if free can push at once. NULL has no block's index.
EGB_INLINE bool egb_fixed_can_push_at_(const egb_fixed* pool, const void* block, size_t index)
{
    return index < pool->limit && ((const egb_word*)block)[1] != EGB_FIXED_MARK_;
}

EGB_INLINE bool egb_fixed_can_push_(const egb_fixed* pool, const void* block)
{
    return egb_fixed_can_push_at_(pool, block, egb_fixed_index_at_(pool, block));
}

EGB_INLINE void egb_fixed_push_(egb_fixed* pool, void* block)
{
    const uint32_t  distance = (uint32_t)egb_fixed_distance_(pool, block);  // before the stores
    egb_word* const words    = (egb_word*)block;
    words[0]                 = pool->head;
    words[1]                 = EGB_FIXED_MARK_;
    pool->head               = distance;
}

EGB_INLINE_PUBLIC void egb_fixed_free(egb_fixed* pool, void* block)
{
    if (EGB_UNLIKELY(pool == NULL || !egb_fixed_can_push_(pool, block))) {
        egb_fixed_free_cold_(pool, block);
        return;
    }
    egb_fixed_push_(pool, block);
}

// The pool as the compiler knows it: the address of the blocks, and the numbers that divide by
// their size. The compiler keeps the fields that the hot path reads in registers, and the other
// fields of this copy as constants.
EGB_INLINE egb_fixed
egb_fixed_known_(const egb_fixed* pool, egb_word* first, size_t inverse, int shift)
{
    egb_fixed known = *pool;
    known.first     = first;
    known.inverse   = inverse;
    known.shift     = (uint8_t)shift;
    return known;
}

// Computes the index from the distance, because push needs the distance anyway.
EGB_INLINE bool egb_fixed_can_push_known_(const egb_fixed* known, const void* block)
{
    const size_t distance = egb_fixed_distance_(known, block);
    return egb_fixed_can_push_at_(known, block, egb_fixed_index_(known, distance));
}

// `cold_` is the cold half for the pool's mode.
typedef void* (*egb_fixed_alloc_fn_)(egb_fixed* pool);
typedef void (*egb_fixed_free_fn_)(egb_fixed* pool, void* block);

EGB_INLINE void* egb_fixed_alloc_known_(egb_fixed* pool, egb_fixed known, egb_fixed_alloc_fn_ cold_)
{
    if (EGB_UNLIKELY(!egb_fixed_can_pop_(&known))) {
        return cold_(pool);
    }
    void* const block = egb_fixed_pop_(&known);
    pool->head        = known.head;
    return block;
}

EGB_INLINE void
egb_fixed_free_known_(egb_fixed* pool, egb_fixed known, void* block, egb_fixed_free_fn_ cold_)
{
    if (EGB_UNLIKELY(!egb_fixed_can_push_known_(&known, block))) {
        cold_(pool, block);
        return;
    }
    egb_fixed_push_(&known, block);
    pool->head = known.head;
}

// The link in a free block of an unchecked pool: the address of the block freed before it. A
// distance would cost three dependent instructions more in every pair.
typedef void* egb_fixed_link_ EGB_LOOSE_;

// Not declared cold: compilers place calls of cold functions far away, and with the longer jump a
// loop around this function takes two cache lines of code in place of one.
void* egb_fixed_alloc_unchecked_fresh_(egb_fixed* pool);

EGB_INLINE_PUBLIC void* egb_fixed_alloc_unchecked(egb_fixed* pool)
{
    void* const block = pool->side.newest;
    if (EGB_UNLIKELY(block == NULL)) {
        return egb_fixed_alloc_unchecked_fresh_(pool);
    }
    pool->side.newest = *(egb_fixed_link_*)block;
    return block;
}

EGB_INLINE_PUBLIC void egb_fixed_free_unchecked(egb_fixed* pool, void* block)
{
    if (EGB_UNLIKELY(block == NULL)) {
        return;
    }
    *(egb_fixed_link_*)block = pool->side.newest;
    pool->side.newest        = block;
}

EGB_C_END_

#endif  // EGGBOX_FIXED_H

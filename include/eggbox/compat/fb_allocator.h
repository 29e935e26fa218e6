/* SPDX-License-Identifier: MIT */
/* Layer faces: the interface of C_Allocator's fb_allocator on eggbox's fixed pools: static pools of
 * equal blocks for any thread. Put this folder on the include path and link eggbox-compat and
 * eggbox.
 *
 *     ALLOC_DEFINE(messages, 32, 5)                    // at file scope
 *
 *     void* block = ALLOC_Alloc(messages, 32);
 *     ALLOC_Free(messages, block);                     // messagesObj.blocksInUse says 0 again
 *
 * The block freed last is handed out first. The library does not touch a block before it is handed
 * out, and never touches blocks of 2 KiB and more. All memory is static: the blocks, one bit for
 * each, 4 more bytes for each of 2 KiB and more, and about 200 bytes for an allocator.
 *
 * docs/guide/migrate.md lists the improvements and the native name of each call.
 *
 * Threads  Any thread may make any call at any time. The numbers of an ALLOC_Allocator are exact
 *          while no other thread is inside a call.
 * Fork     The child may go on only if no other thread was inside a call.
 * Cost     O(1), and a lock of the allocator for a few dozen instructions.
 * Misuse   is refused, and goes to eggbox's handler (eggbox/misuse.h), which by default reports it
 *          on stderr. The handler may use any pool, except when it gets an overwritten free list:
 *          then this allocator is locked.
 */
#ifndef EGGBOX_COMPAT_FB_ALLOCATOR_H
#define EGGBOX_COMPAT_FB_ALLOCATOR_H

#include "DataTypes.h"

#include <stddef.h>
#include <stdlib.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef void* ALLOC_HANDLE;

typedef struct {
    void* pNext;
} ALLOC_Block;

/* 64 bits, which C89 has not. */
#if defined(__GNUC__)
__extension__ typedef unsigned long long ALLOC_Word_;
#else
typedef unsigned long long ALLOC_Word_;
#endif

/** Room for the fixed pool behind an allocator, and its lock. Private. */
typedef struct {
    ALLOC_Word_ words[8];
} ALLOC_Core;

/** An allocator, made by ALLOC_DEFINE. A program may read the public members, and write none. */
typedef struct ALLOC_Allocator {
    const char*  name;
    const char*  pPool; /* the blocks */
    const size_t objectSize;
    const size_t blockSize; /* from one block to the next: objectSize rounded up */
    const UINT32 maxBlocks;
    ALLOC_Block* pHead;          /* always NULL: the free list is elsewhere */
    UINT32       poolIndex;      /* blocks handed out at least once */
    UINT32       blocksInUse;    /* now */
    UINT32       maxBlocksInUse; /* the most at one time */
    UINT32       allocations;    /* ever, modulo 2^32 */
    UINT32       deallocations;  /* ever, modulo 2^32 */

    /* Private. */
    ALLOC_Core* core;
    UINT32*     live;
    size_t      liveBytes;
    void*       listed; /* a note of x_allocator.h; NULL: none yet */
} ALLOC_Allocator;

/** Addresses and sizes of blocks are multiples of this number, unless a block is no larger than a
 * pointer. 16 is enough for any object. A program may define another power of two before it
 * includes this file; 1 and 2 act as 4.
 */
#if !defined(ALLOC_MEM_ALIGN)
  #define ALLOC_MEM_ALIGN (16)
#endif

#define ALLOC_MAX(a, b) (((a) > (b)) ? (a) : (b))

/** Rounds up to a multiple. */
#define ALLOC_ROUND_UP(_numToRound_, _multiple_)                          \
    ((((_numToRound_) + (_multiple_) - 1) / (_multiple_)) * (_multiple_))

/** The bytes from one block to the next for objects of `_size_` bytes. */
#define ALLOC_BLOCK_SIZE(_size_)                                  \
    ((size_t)(_size_) <= sizeof(ALLOC_Allocator*)                 \
         ? sizeof(ALLOC_Allocator*)                               \
         : ALLOC_ROUND_UP((size_t)(_size_), (size_t)ALLOC_STEP_))

/** Defines an allocator of `_objects_` blocks of `_size_` bytes, at file scope. Pass `_name_` to
 * the functions; read numbers from `_name_Obj`. A semicolon may follow, but not with -Wpedantic.
 * The allocator is usable before main, without ALLOC_Init(). At most 16 GiB.
 */
#define ALLOC_DEFINE(_name_, _size_, _objects_)                                                \
    ALLOC_ALIGNED_ static char _name_##Memory[ALLOC_BLOCK_SIZE(_size_) * (size_t)(_objects_)]; \
    static UINT32              _name_##Live[ALLOC_OUTSIDE_(_size_, (size_t)(_objects_))];      \
    static ALLOC_Core          _name_##Core;                                                   \
    static ALLOC_Allocator     _name_##Obj = {                                                 \
        #_name_,                                                                           \
        _name_##Memory,                                                                    \
        (_size_),                                                                          \
        ALLOC_BLOCK_SIZE(_size_),                                                          \
        (_objects_),                                                                       \
        NULL,                                                                              \
        0,                                                                                 \
        0,                                                                                 \
        0,                                                                                 \
        0,                                                                                 \
        0,                                                                                 \
        &_name_##Core,                                                                     \
        _name_##Live,                                                                      \
        sizeof(_name_##Live),                                                              \
        NULL                                                                               \
    };                                                                                     \
    ALLOC_UNUSED_ static ALLOC_HANDLE _name_ = &_name_##Obj;

/** No effect: allocators need no start and no end. Programs that call these need not change. */
void ALLOC_Init(void);
void ALLOC_Term(void);

/** Takes a block.
 *
 * Returns  the block, with unspecified contents; NULL if `size` is larger than a block, no block
 *          is left, or `hAlloc` is NULL. FaultHandler() (Fault.h) is called before NULL is
 *          returned.
 * Misuse   EGB_MISUSE_OVERWRITTEN: a free block was written to. That has no other effect. For this
 *          event alone the handler is called with the lock held: it must return, and must not use
 *          this allocator.
 */
void* ALLOC_Alloc(ALLOC_HANDLE hAlloc, size_t size);

/** As ALLOC_Alloc() of num * size bytes, which are then zero. NULL also if the product
 * overflows.
 */
void* ALLOC_Calloc(ALLOC_HANDLE hAlloc, size_t num, size_t size);

/** Gives a block back. NULL: no effect.
 *
 * Misuse   EGB_MISUSE_FOREIGN, EGB_MISUSE_INTERIOR, EGB_MISUSE_NEVER_ALLOCATED,
 *          EGB_MISUSE_DOUBLE_FREE: always found, whatever was written to free blocks.
 *          EGB_MISUSE_NO_POOL: `hAlloc` is NULL.
 */
void ALLOC_Free(ALLOC_HANDLE hAlloc, void* pBlock);

/* ---- private --------------------------------------------------------------------------------- */

#define ALLOC_STEP_ ALLOC_MAX(ALLOC_MEM_ALIGN, 4)

/* Words outside the blocks: the bits, and for long blocks the free list as well, so that no block
 * is touched.
 */
#define ALLOC_OUTSIDE_(_size_, _objects_)                                        \
    ((_objects_) / 32 + 5 + (ALLOC_BLOCK_SIZE(_size_) < 2048 ? 0 : (_objects_)))

#if defined(__GNUC__)
  #define ALLOC_ALIGNED_ __attribute__((aligned(ALLOC_STEP_)))
  #define ALLOC_UNUSED_  __attribute__((unused))
#else
  #if defined(__cplusplus)
    #define ALLOC_ALIGNED_ alignas(ALLOC_STEP_)
  #else
    #define ALLOC_ALIGNED_ _Alignas(ALLOC_STEP_)
  #endif
  #define ALLOC_UNUSED_
#endif

#if defined(__cplusplus)
}
#endif

#endif /* EGGBOX_COMPAT_FB_ALLOCATOR_H */

// SPDX-License-Identifier: MIT
// Layer faces: the interface of C_Allocator's fb_allocator on eggbox's fixed pools: static pools of
// equal blocks for any thread. Put this folder on the include path and link eggbox.
//
//     ALLOC_DEFINE(messages, 32, 5)                    // at file scope
//
//     void* block = ALLOC_Alloc(messages, 32);
//     ALLOC_Free(messages, block);                     // messagesObj.blocksInUse says 0 again
//
// The block freed last is handed out first; no block is touched before it is handed out, and those
// of 2 KiB and more never. Everything is static memory: the blocks, one bit for each, 4 bytes more
// for each of 2 KiB and more, and about 200 bytes for a pool.
//
// What is better than it was, and each call's native name: docs/guide/migrate.md.
//
// Threads  Any thread, any call, at any time. Numbers of an ALLOC_Allocator are exact while no
//          other thread is inside a call.
// Fork     In the child only if no other thread was inside a call.
// Cost     O(1), and a lock of the allocator for a few dozen instructions.
// Misuse   goes to eggbox's handler (eggbox/check.h), which by default reports it on stderr, and is
//          refused. The handler may use any pool; but of a free list that was overwritten it is
//          told while this allocator is locked.
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

/// Room for the fixed pool behind an allocator, and its lock. Private.
typedef struct {
    unsigned long long words[7];
} ALLOC_Core;

/// An allocator, which ALLOC_DEFINE makes. What a program may read; nothing is for it to write.
typedef struct ALLOC_Allocator {
    const char*  name;
    const char*  pPool;  // the blocks
    const size_t objectSize;
    const size_t blockSize;  // from one block to the next: objectSize rounded up
    const UINT32 maxBlocks;
    ALLOC_Block* pHead;           // NULL: the list of free blocks is not here any more
    UINT32       poolIndex;       // blocks that were handed out at least once
    UINT32       blocksInUse;     // now
    UINT32       maxBlocksInUse;  // the most at one time
    UINT32       allocations;     // ever, modulo 2^32
    UINT32       deallocations;   // ever, modulo 2^32

    // Private.
    ALLOC_Core* core;
    UINT32*     live;
    size_t      liveBytes;
    void*       listed;  // where x_allocator.h has noted it; NULL: not yet
} ALLOC_Allocator;

/// What blocks and block sizes are multiples of, unless they are no larger than a pointer: enough
/// for any object. A program may define another power of two before it includes this file; 1 and 2
/// are as 4.
#if !defined(ALLOC_MEM_ALIGN)
  #define ALLOC_MEM_ALIGN (16)
#endif

#define ALLOC_MAX(a, b) (((a) > (b)) ? (a) : (b))

/// The next multiple.
#define ALLOC_ROUND_UP(_numToRound_, _multiple_)                          \
    ((((_numToRound_) + (_multiple_) - 1) / (_multiple_)) * (_multiple_))

/// The bytes from one block to the next for objects of `_size_` bytes.
#define ALLOC_BLOCK_SIZE(_size_)                                  \
    ((size_t)(_size_) <= sizeof(ALLOC_Allocator*)                 \
         ? sizeof(ALLOC_Allocator*)                               \
         : ALLOC_ROUND_UP((size_t)(_size_), (size_t)ALLOC_STEP_))

/// Defines an allocator of `_objects_` blocks of `_size_` bytes: `_name_` to pass to the functions,
/// `_name_Obj` to read numbers from. At file scope, with or, as -Wpedantic would have it, without a
/// semicolon behind it. Usable before main, with no ALLOC_Init(). At most 16 GiB.
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

/// Nothing needs to be made ready or ended; programs that call these need not change.
void ALLOC_Init(void);
void ALLOC_Term(void);

/// Takes a block.
///
/// Returns  the block, with unspecified contents; NULL, and before that FaultHandler() is called
///          (Fault.h), if `size` is larger than a block, no block is left, or `hAlloc` is NULL.
/// Misuse   EGB_EVENT_OVERWRITTEN: a free block was written to, and that has no other effect. Of
///          this alone the handler is called with the lock held: it must return, and not come here.
void* ALLOC_Alloc(ALLOC_HANDLE hAlloc, size_t size);

/// As ALLOC_Alloc() of num * size bytes, which are then zero. NULL also if the product overflows.
void* ALLOC_Calloc(ALLOC_HANDLE hAlloc, size_t num, size_t size);

/// Gives a block back. NULL: no effect.
///
/// Misuse   EGB_EVENT_FOREIGN, EGB_EVENT_INTERIOR, EGB_EVENT_NEVER_ALLOCATED,
///          EGB_EVENT_DOUBLE_FREE: for certain, whatever was written to free blocks.
///          EGB_EVENT_NO_POOL: `hAlloc` is NULL.
void ALLOC_Free(ALLOC_HANDLE hAlloc, void* pBlock);

// ---- private ------------------------------------------------------------------------------------

#define ALLOC_STEP_ ALLOC_MAX(ALLOC_MEM_ALIGN, 4)

// Words outside of the blocks: bits; of long blocks the list of free ones as well, so that none is
// touched.
#define ALLOC_OUTSIDE_(_size_, _objects_)                                        \
    ((_objects_) / 32 + 5 + (ALLOC_BLOCK_SIZE(_size_) < 2048 ? 0 : (_objects_)))

#if defined(__cplusplus)
  #define ALLOC_ALIGNED_ alignas(ALLOC_STEP_)
#else
  #define ALLOC_ALIGNED_ _Alignas(ALLOC_STEP_)
#endif

#if defined(__GNUC__)
  #define ALLOC_UNUSED_ __attribute__((unused))
#else
  #define ALLOC_UNUSED_
#endif

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_COMPAT_FB_ALLOCATOR_H

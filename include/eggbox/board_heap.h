// SPDX-License-Identifier: MIT
// Layer core: a heap on static memory, for boards: blocks of some sizes, each size a fixed pool for
// threads and interrupts.
//
//     memory: | 16 16 16 ... | 48 48 48 ... | 256 256 ... |
//               class 0        class 1        class 2
//
// A request takes a block of the smallest class that has one and is large enough. If that class is
// empty, a larger block serves. Nothing is ever split or joined: no history of requests can change
// what a request takes, or how many blocks of a class there are.
//
// Worst case: an alloc asks each class once, a free finds the class of an address by asking each
// once. There is no other loop, but that of a free whose block happens to hold a mark, see there.
// docs/guide/boards.md has the numbers of instructions.
//
// Threads  any, and interrupts as far as the port keeps them out, for every call but init. Each
//          critical section is that of one alloc or free of one fixed pool.
#ifndef EGGBOX_BOARD_HEAP_H
#define EGGBOX_BOARD_HEAP_H

#include "fixed_shared.h"

EGB_C_BEGIN_

/// Every block of a board heap has this alignment, that of malloc on 32-bit Arm, or more. If malloc
/// or a kernel owes its callers 16, as on RISC-V and 64-bit machines, align the memory to 16, and
/// make all sizes multiples of 16: every block is then so aligned.
#define EGB_BOARD_ALIGN 8u

/// One size of blocks: 64 bytes on 32-bit machines. The program fills in the first two fields.
typedef struct egb_board_class {
    size_t block_bytes;  // a multiple of 8, more than that of the class before
    size_t count;        // blocks; 1 or more
    // Private from here on.
    egb_fixed        pool;
    egb_fixed_shared shared;
} egb_board_class;

/// A heap. Treat every field as private. All zero: not initialised.
typedef struct egb_board_heap {
    egb_board_class* classes;  // NULL: not initialised
    size_t           class_count;
} egb_board_heap;

/// Makes a heap of the `class_count` classes, whose blocks lie in `memory` in their order.
///
///     static egb_board_class classes[] = {{.block_bytes = 16, .count = 64}, {64, 16}, {256, 4}};
///     static _Alignas(8) unsigned char memory[16 * 64 + 64 * 16 + 256 * 4];
///
/// `memory`   aligned to 8 bytes, and of the sum of `block_bytes * count` of all classes, or more.
///            Need not be cleared. It and the classes belong to the heap from now on.
/// `reserve`  blocks of each class that only egb_board_alloc_urgent() takes; a class of as many
///            blocks or fewer has one block that is not in the reserve.
/// Returns    EGB_OK;
///            EGB_INVALID if a pointer is NULL, `class_count` is 0, `memory` is not aligned, a size
///            is no multiple of 8 or not more than the one before, a count is 0, or `memory_bytes`
///            are too few;
///            EGB_LIMIT if a class is over 16 GiB.
///            On anything but EGB_OK `*heap` is not initialised.
EGB_NODISCARD egb_status egb_board_init(
    egb_board_heap*  heap,
    void*            memory,
    size_t           memory_bytes,
    egb_board_class* classes,
    size_t           class_count,
    const egb_port*  port,
    size_t           reserve
);

/// Takes a block of `bytes` or more, with unspecified contents. 0 bytes are as 1.
///
/// Returns  a block; NULL if no class of so large blocks has one.
/// Misuse   EGB_MISUSE_NO_POOL if `heap` is not initialised; else as egb_fixed_shared_alloc().
EGB_NODISCARD void* egb_board_alloc(egb_board_heap* heap, size_t bytes);

/// The same for an urgent caller, which gets the reserve too.
EGB_NODISCARD void* egb_board_alloc_urgent(egb_board_heap* heap, size_t bytes);

/// The same, and the block's address is a multiple of `align`, a power of two. Only classes whose
/// blocks are all so aligned serve, as those do whose size is a multiple of `align` in a memory so
/// aligned. NULL also if `align` is no power of two.
EGB_NODISCARD void* egb_board_aligned_alloc(egb_board_heap* heap, size_t align, size_t bytes);

/// Takes a block for `count` objects of `bytes` each, all zero. NULL also if the product does not
/// fit in a size_t. Cost: O(bytes), outside critical sections.
EGB_NODISCARD void* egb_board_calloc(egb_board_heap* heap, size_t count, size_t bytes);

/// Gives a block back. NULL: no effect.
///
/// Misuse   refused, and nothing changes: as egb_fixed_shared_free(). For an address in no class
///          the event is EGB_MISUSE_FOREIGN, and its `pool` is the heap.
/// Cost     asks each class once. If the block's second 4 bytes happen to hold the mark of a free
///          block, also O(free blocks of its class), as with egb_fixed_free().
void egb_board_free(egb_board_heap* heap, void* block);

/// Changes the size of a block: in place if its class is still right, which is so if no smaller
/// class has room for `bytes`, or no other block is free. Else it moves to another block, with as
/// much of its contents as fits. NULL as `block`: as egb_board_alloc().
///
/// Returns  the block; NULL if none is so large: then the old one is as before. For 0 bytes the
///          block stays, as for 1.
/// Misuse   as egb_board_free(), for a block that is not in use: returns NULL.
/// Cost     one alloc, one free, and the copy, which is outside critical sections.
EGB_NODISCARD void* egb_board_realloc(egb_board_heap* heap, void* block, size_t bytes);

/// The bytes of a block, those of its class: the caller may use all of them. 0 for an address that
/// is no block of the heap.
size_t egb_board_usable(const egb_board_heap* heap, const void* block);

/// Bytes of the blocks that no caller holds, of all classes together. A request may be refused
/// although they are more: ask for each class by egb_board_class_in_use().
size_t egb_board_available(const egb_board_heap* heap);

/// Blocks of class `at` that callers hold now, and the most of them at one time: by the second the
/// counts can be chosen. 0 if there is no such class.
size_t egb_board_class_in_use(const egb_board_heap* heap, size_t at);
size_t egb_board_class_peak(const egb_board_heap* heap, size_t at);

/// Checks every invariant of all classes: for tests and debugging. False if `heap` is not
/// initialised.
bool egb_board_whole(const egb_board_heap* heap);

EGB_C_END_

#endif  // EGGBOX_BOARD_HEAP_H

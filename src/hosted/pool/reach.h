// SPDX-License-Identifier: MIT
// Room pool: which blocks in use the program can still reach, as a garbage collector finds them:
// H. Boehm and M. Weiser, "Garbage Collection in an Uncooperative Environment", 1988. The words of
// LeakSanitizer: a block is still reachable if a chain of pointers leads to it from memory of the
// program that is no block; it is lost indirectly if a lost block points to it, and else directly.
// A pointer to any byte of a block counts. Blocks of other levels, sampled ones also, are memory of
// the program here: blocks that they point to are reachable, and they themselves are not judged.
//
// Only the library that is the C library's malloc looks: it knows all blocks. It looks through the
// writable memory of the process, once, except its own: data of the program and its libraries,
// memory that the program mapped, and stacks. Threads are not stopped, but those that allocate
// wait. A pointer that is only in a register of another thread is not seen.
//
// The stack of the first thread, and those that glibc made for others, are looked through from
// their stack pointers on, or as a whole while their thread runs. glibc keeps the stacks of threads
// that have ended; these are left out. Such a stack is known by the descriptor of its thread, whose
// first and third word lead to itself, as they do on x86, and which says that the stack begins in
// the inaccessible memory before it. All other memory is looked through as a whole: in doubt a
// block is reachable, because a leak that is not listed is better than a false one.
//
// Cost: a read of each page that the process has written to, and two of each block in use; 182 KiB
// of memory, however many blocks there are: a block's own record has its mark.
#ifndef EGGBOX_SRC_HOSTED_POOL_REACH_H
#define EGGBOX_SRC_HOSTED_POOL_REACH_H

#include "../../os/os.h"

typedef enum egb_reach {
    EGB_REACH_UNKNOWN,
    EGB_REACH_DIRECTLY_LOST,
    EGB_REACH_INDIRECTLY_LOST,
    EGB_REACH_STILL
} egb_reach;

#if EGB_IS_MALLOC

// Notes where the frames of the library begin on the stack of this thread, as
// EGB_REPORT_FRAME_() says.
void egb_reach_enter_(const void* frame);

// Marks all blocks in use of pools at level "track", and large blocks at that level, with
// the registry, all these pools and large blocks locked. False: the system does not show enough.
bool egb_reach_mark_(void);

// The reach that the mark of a block tells; the mark is taken back.
egb_reach egb_reach_take_(const void** mark);

#else

static inline void egb_reach_enter_(const void* frame)
{
    (void)frame;
}

static inline bool egb_reach_mark_(void)
{
    return false;
}

static inline egb_reach egb_reach_take_(const void** mark)
{
    (void)mark;
    return EGB_REACH_UNKNOWN;
}

#endif

#endif  // EGGBOX_SRC_HOSTED_POOL_REACH_H

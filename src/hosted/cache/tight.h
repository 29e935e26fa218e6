// SPDX-License-Identifier: MIT
// Room cache: pools that ran out of blocks. Before such a pool says no, it looks for free blocks in
// the magazines of all threads, which costs a fence in each of them. The look closes the magazines,
// and the pool is tight from then on: each call takes its lock, and gives or takes one block of the
// chunks. While it is tight, every free takes the lock, except that of a thread whose magazine is
// unsure. `top` of such a magazine is led aside, to an entry of no block: its thread's next free
// takes the lock, unless the thread was in a call when `top` was led aside.
//
// The pool is tight no more when it has a free block, no thread waits for one, and there were as
// many calls as it has magazines: the next look then costs no more than the calls before it. It
// also ends when a magazine is loaded while no thread waits. docs/decisions/0035. The pool is
// locked.
#ifndef EGGBOX_SRC_HOSTED_CACHE_TIGHT_H
#define EGGBOX_SRC_HOSTED_CACHE_TIGHT_H

#include "magazine.h"

// Counts a call. Whether the call is to do without magazines; if so, that of the caller is to be
// settled first. The call may be the one that ends the tight time.
bool egb_depot_is_tight_(egb_depot* depot);

// Takes its blocks out and closes it. Its thread calls this.
void egb_magazine_settle_(egb_depot* depot, egb_magazine_* magazine);

// Takes the block back that its thread's push put aside, because `top` was led there. False: it put
// none there. Its thread calls this.
bool egb_magazine_take_back_aside_(const egb_depot* depot, egb_magazine_* magazine);

// Makes it forget the block that was taken last: the free of that is no undo then. Its thread calls
// this.
void egb_magazine_forget_(egb_magazine_* magazine);

// Whether a look at the magazines would find nothing, because every change since the last look is
// known. O(1)
bool egb_depot_is_bare_(const egb_depot* depot);

// Whether each free from now on is with the lock, as long as threads wait for a block.
bool egb_depot_knows_all_(const egb_depot* depot);

// Moves all free blocks of all magazines, and of the depot, into the chunks, and makes the pool
// tight, unless the system refuses the fence. The registry is locked. O(threads); without a fence
// if the pool is tight and no magazine has a block.
void egb_depot_look_(egb_depot* depot);

#endif  // EGGBOX_SRC_HOSTED_CACHE_TIGHT_H

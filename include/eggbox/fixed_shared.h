// SPDX-License-Identifier: MIT
// Layer core: a fixed pool for threads and interrupts, in critical sections of a port.
//
//     egb_fixed: blocks, checks  <-  egb_fixed_shared  ->  egb_port: PRIMASK, an RTOS, ...
//                                           |
//                                        waiters: urgent ones first, by priority, by arrival
//
// Each call is one critical section of constant length around the call of the fixed pool. A thread
// may wait for a block. A freed block goes straight to the first thread that waits, and is never
// free in between: no other thread can take it on the way.
//
// A reserve of some blocks is for callers who say that they are urgent: others find the pool empty
// when only the reserve is left.
//
// Threads  any, and interrupts as far as the port keeps them out: every call here. The calls of
//          fixed.h on the pool below are for one owner at a time, as always.
// Cost     O(1) in one critical section, unless a function says otherwise.
#ifndef EGGBOX_FIXED_SHARED_H
#define EGGBOX_FIXED_SHARED_H

#include "fixed.h"
#include "port.h"

EGB_C_BEGIN_

/// A fixed pool for threads and interrupts: 40 bytes on 64-bit machines, 20 on 32-bit ones. Treat
/// every field as private. Threads that wait are in a list: the object must not be moved.
typedef struct egb_fixed_shared {
    egb_fixed*      pool;     // NULL: not initialised
    const egb_port* port;     // not NULL
    egb_waiter*     waiters;  // the one to be served first is the first; NULL: none
    size_t          in_use;   // blocks
    size_t          reserve;  // blocks that are for urgent callers
} egb_fixed_shared;

/// The value of a static egb_fixed_shared: over a pool with no block in use, such as one from
/// EGB_FIXED_DEFINE(), all of it constant. The first `reserve` blocks are for urgent callers.
///
///     EGB_FIXED_DEFINE_MARKED(packet_blocks, struct packet, 16);
///     static egb_fixed_shared packets =
///         EGB_FIXED_SHARED_OF(&packet_blocks, &egb_port_primask, 2);
#define EGB_FIXED_SHARED_OF(pool, port, reserve) {(pool), (port), EGB_NULL_, 0, (reserve)}

/// Lets threads and interrupts use `pool`, of any kind, which may have blocks in use.
///
/// `reserve`  blocks that only urgent callers get.
/// Returns    EGB_OK; EGB_INVALID if a pointer is NULL, `pool` is not initialised, or the reserve
///            is not smaller than the pool. Then `*shared` is unchanged.
/// Cost       as egb_fixed_in_use().
///
/// From now on use the pool through `shared` alone. There is nothing to undo.
EGB_NODISCARD egb_status egb_fixed_shared_init(
    egb_fixed_shared* shared, egb_fixed* pool, const egb_port* port, size_t reserve
);

/// Takes a block. Never waits: interrupts may call it.
///
/// Returns  a block; NULL when every block but the reserve is in use.
/// Misuse   as egb_fixed_alloc(). The handler is called within the critical section if it is told
///          of EGB_MISUSE_OVERWRITTEN: it may return, and use any pool, but must not leave by
///          longjmp. Blocks that an overwritten list has lost count as free here, and so may take
///          the place of the reserve.
EGB_NODISCARD void* egb_fixed_shared_alloc(egb_fixed_shared* shared);

/// The same for an urgent caller: NULL when every block is in use.
EGB_NODISCARD void* egb_fixed_shared_alloc_urgent(egb_fixed_shared* shared);

/// Takes a block, and waits for one as long as `timeout_ms` milliseconds; EGB_FOREVER: without an
/// end; 0: not at all. For threads, outside critical sections.
///
/// The thread that waits is served before each one that begins to wait later, unless the later one
/// has a higher priority, as the port says. A priority that changes meanwhile is not looked at.
///
/// Returns  EGB_OK, and `*out` is the block. On every other answer `*out` is NULL:
///          EGB_EMPTY if none is free, and `timeout_ms` is 0;
///          EGB_TIMED_OUT if none was freed in time;
///          EGB_CANCELLED if egb_fixed_shared_cancel() ended the wait;
///          EGB_UNSUPPORTED if none is free, and the port cannot wait;
///          EGB_INVALID if `out` is NULL, or with misuse EGB_MISUSE_NO_POOL.
/// Misuse   as egb_fixed_shared_alloc().
/// Cost     O(threads that wait) in a critical section if it waits, else O(1).
EGB_NODISCARD egb_status
egb_fixed_shared_alloc_for(egb_fixed_shared* shared, void** out, uint32_t timeout_ms);

/// The same for an urgent caller, which is served before all that are not.
EGB_NODISCARD egb_status
egb_fixed_shared_alloc_urgent_for(egb_fixed_shared* shared, void** out, uint32_t timeout_ms);

/// Gives a block back: to the first thread that waits, else to the pool. While the reserve is not
/// full, only urgent threads get it. Never waits: interrupts may call it. NULL: no effect.
///
/// Misuse   as egb_fixed_free(): refused, and nothing changes. The handler is called after the
///          critical section.
/// Cost     as egb_fixed_free(), in a critical section.
void egb_fixed_shared_free(egb_fixed_shared* shared, void* block);

/// Ends the wait of every thread that waits now: they get EGB_CANCELLED. Interrupts may call it.
///
/// Returns  how many there were.
/// Cost     O(threads that wait) in a critical section.
size_t egb_fixed_shared_cancel(egb_fixed_shared* shared);

/// Blocks of the pool, the reserve included. This and the numbers below are 0 if `shared` is not
/// initialised.
size_t egb_fixed_shared_capacity(const egb_fixed_shared* shared);

/// Blocks that callers hold now.
size_t egb_fixed_shared_in_use(const egb_fixed_shared* shared);

/// The most blocks that were in use at one time.
size_t egb_fixed_shared_peak(const egb_fixed_shared* shared);

/// Threads that wait now. Cost: O(that number), in a critical section.
size_t egb_fixed_shared_waiting(const egb_fixed_shared* shared);

/// Checks every invariant of the pool and of the list of waiting threads: for tests and debugging.
/// Cost: O(touched blocks and waiting threads), in a critical section.
bool egb_fixed_shared_whole(const egb_fixed_shared* shared);

EGB_C_END_

#endif  // EGGBOX_FIXED_SHARED_H

// SPDX-License-Identifier: MIT
// Layer core: misuse, the errors that are the caller's, and the one handler they all go to.
//
// Exhaustion (no block left) is not misuse: allocation returns NULL. Failure (the system refused)
// is not misuse: the call returns a status. Misuse is a call that a correct program cannot make.
// The pool refuses the call, stays as before it, and calls egb_misuse(). (The call goes on in four
// cases: OVERWRITTEN, OVERRUN and UNDERRUN, because the misuse was an earlier write, and
// WRONG_SIZE, because the right size is known.)
#ifndef EGGBOX_MISUSE_H
#define EGGBOX_MISUSE_H

#include "base.h"

EGB_C_BEGIN_

/// The kind of a misuse. The numbers never change.
typedef enum egb_misuse_kind {
    EGB_MISUSE_NO_POOL  = 1,  // the pool is NULL or all zero: it was never initialised
    EGB_MISUSE_FOREIGN  = 2,  // a free of memory that is not this pool's
    EGB_MISUSE_INTERIOR = 3,  // a free of an address inside a block, not at its start
    EGB_MISUSE_NEVER_ALLOCATED =
        4,                        // a free of a block that was not handed out since init or clear
    EGB_MISUSE_DOUBLE_FREE = 5,   // a free of a block that is free already
    EGB_MISUSE_OVERWRITTEN = 6,   // a free block was written to after its free; seen by an alloc
    EGB_MISUSE_WRONG_POOL  = 7,   // a free of a block that is another pool's
    EGB_MISUSE_STALE       = 8,   // a handle of a pool that was destroyed
    EGB_MISUSE_OVERRUN     = 9,   // bytes behind the end of a block were written to
    EGB_MISUSE_UNDERRUN    = 10,  // bytes before the start of a block were written to
    EGB_MISUSE_SEALED      = 11,  // a request that the frozen library has no memory for
    EGB_MISUSE_WRONG_SIZE  = 12   // a sized free, as C++ delete, of another size or alignment
} egb_misuse_kind;

/// The check level of a pool: each level finds all that the one before it finds, and more; "sample"
/// finds what "check" finds. The numbers never change.
typedef enum egb_level {
    EGB_LEVEL_DEFAULT     = 0,  // in options: "check", or "guard" if a tool watches; no pool has it
    EGB_LEVEL_OFF         = 1,  // stale handles only
    EGB_LEVEL_CHECK       = 2,  // and each free that is wrong
    EGB_LEVEL_GUARD       = 3,  // and writes outside of blocks, and to blocks that are free
    EGB_LEVEL_TRACK       = 4,  // and knows the site of each allocation, and of each free
    EGB_LEVEL_PASSTHROUGH = 5,  // each block is one of the C library's malloc, for tools to watch
    EGB_LEVEL_SAMPLE      = 6   // as "check", and knows the sites of a sample of the blocks
} egb_level;

/// "default", "off", "check", "guard", "track", "passthrough", "sample"; "unknown" for any other
/// number. The string lives for ever. Threads: any.
const char* egb_level_text(egb_level level);

/// The history of a block: known in pools at level "guard" or above, and for blocks of the heap
/// with a guard page (heap.h). Unless a field says otherwise, 0 or NULL means: not known, or none.
typedef struct egb_history {
    egb_level level;    // the pool's
    size_t    bytes;    // as requested
    ptrdiff_t damaged;  // for OVERRUN, UNDERRUN, OVERWRITTEN: the first byte that was written to,
                        // counted from the start of the block
    uint64_t serial;    // number of the allocation in its pool, from 1. Only level "track" knows
                        // this and the fields below; guard pages also have the two sites
    const void* alloc_site;  // code address of the allocation
    const char* alloc_file;  // its source file, if the caller passed it on; a string that stays
    unsigned    alloc_line;
    uint32_t    alloc_thread;        // the system's number of the thread
    const void* free_site;           // code address of the free, if the block is free
    const void* const* alloc_stack;  // the calls that led to the allocation, at "track"; see below
    const void* const* free_stack;   // and to the free
} egb_history;

// A stack is an array of return addresses, the innermost first and NULL behind the last: all of
// them, or of more than 512 the innermost 64. It stays as long as the process. NULL in place of a
// stack: not known. The calls are known on Linux, if the unwinder of the compiler's library
// (libgcc_s.so.1) is there.

/// One misuse, as the handler gets it. Everything in it is valid only during the call, and for all
/// of it: a name is a copy, whatever happens to the pool meanwhile.
typedef struct egb_misuse_event {
    egb_misuse_kind kind;
    const char*     pool_name;  // NULL: the pool has none
    const void*     pool;       // the egb_fixed, egb_growing, egb_slots or egb_board_heap; for an
                                // egb_pool an address that only tells it from others, NULL if the
                                // handle is stale or null
    const void* address;        // the freed address; for OVERWRITTEN, the address that the free
                                // list led to, or the block that was written to
    size_t      block_index;    // counts from 0; EGB_NO_INDEX: `address` is in no block
    const void* site;  // a code address in the function that made the call, or in its caller
                       // if the call was its last act and became a jump; NULL: not known
    const egb_history* history;  // NULL: not known, as for most blocks at "off" and "check"
    const void* const* stack;  // the calls that led to `site`, if the process has pools at "track"
} egb_misuse_event;

#define EGB_NO_INDEX SIZE_MAX

/// `kind` in a few words: "double free", "free of a pointer that is not from this pool", ...
///
/// Returns  a string that lives for ever; never NULL, whatever number is passed.
/// Threads  any.
const char* egb_misuse_text(egb_misuse_kind kind);

/// The handler: every pool calls this function for every misuse, before it refuses the call.
/// (OVERRUN, UNDERRUN and OVERWRITTEN tell of damage that a correct call finds: that call goes on.
/// A free of a wrong size goes on too, because the heap knows the right size.)
///
/// In the hosted library this function passes the event on to the function set with
/// egb_misuse_set_handler(), by default a report on stderr, once per site. A program may replace
/// it at link time by defining a function of this name; for Windows the one-file build, eggbox.c,
/// is then compiled with EGB_OWN_MISUSE=1. A program without the hosted library must define it; ten
/// lines that light a lamp will do.
///
/// The handler may return: the misused call then does nothing and the pool is intact. It may leave
/// by longjmp instead, and the pool is intact too; it must not leave by a C++ exception. It may use
/// any pool, the misused one included, but must not init that one anew. If it allocates, and the
/// alloc finds overwritten free blocks, the handler is called again, within itself.
void egb_misuse(const egb_misuse_event* event);

/// A handler set at run time. It gets `user` as passed to egb_misuse_set_handler().
typedef void (*egb_misuse_fn)(const egb_misuse_event* event, void* user);

/// Sets the function that gets every misuse from now on. NULL sets the default again, which prints
/// the event to stderr. For pools at level "off" and "check" the default prints once for each site,
/// and lets the program go on; for other pools it then calls abort(). Hosted library only.
///
/// Threads  any, at any time, but not in a signal handler. A misuse in another thread at this very
///          moment may still reach the handler set before, or the default; a handler is never
///          called with the `user` of another handler.
void egb_misuse_set_handler(egb_misuse_fn handler, void* user);

EGB_C_END_

#endif  // EGGBOX_MISUSE_H

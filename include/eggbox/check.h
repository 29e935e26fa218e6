// SPDX-License-Identifier: MIT
// Layer core: misuse, the errors that are the caller's, and the one handler they all go to.
//
// Exhaustion (no block left) is not misuse: allocation returns NULL. Failure (the system said no)
// is not misuse: the call returns a status. Misuse is a call that a correct program cannot make. It
// is refused, the pool stays as it was before the call, and egb_misuse() is told. (The exceptions
// are EGB_EVENT_OVERWRITTEN, OVERRUN and UNDERRUN, where the misuse was a write, long ago, and
// WRONG_SIZE, where it is known what is meant: the call that finds them goes on.)
#ifndef EGGBOX_CHECK_H
#define EGGBOX_CHECK_H

#include "base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// What went wrong. The numbers never change.
typedef enum egb_event_kind {
    EGB_EVENT_NO_POOL         = 1,  // the pool is NULL or all zero: it was never initialised
    EGB_EVENT_FOREIGN         = 2,  // a free of memory that is not this pool's
    EGB_EVENT_INTERIOR        = 3,  // a free of an address inside a block, not at its start
    EGB_EVENT_NEVER_ALLOCATED = 4,  // a free of a block that was not handed out since init or clear
    EGB_EVENT_DOUBLE_FREE     = 5,  // a free of a block that is free already
    EGB_EVENT_OVERWRITTEN     = 6,  // a free block was written to after its free; seen by an alloc
    EGB_EVENT_WRONG_POOL      = 7,  // a free of a block that is another pool's
    EGB_EVENT_STALE           = 8,  // a handle of a pool that was destroyed
    EGB_EVENT_OVERRUN         = 9,  // bytes behind the end of a block were written to
    EGB_EVENT_UNDERRUN        = 10,  // bytes before the start of a block were written to
    EGB_EVENT_SEALED          = 11,  // memory was asked for that the sealed library does not have
    EGB_EVENT_WRONG_SIZE      = 12   // C++ delete of another size or alignment than new's
} egb_event_kind;

/// How closely a pool looks: each finds what the one before it finds, and more. The numbers never
/// change.
typedef enum egb_level {
    EGB_LEVEL_OFF         = 0,  // stale handles only
    EGB_LEVEL_CHECK       = 1,  // and each free that is wrong
    EGB_LEVEL_GUARD       = 2,  // and writes outside of blocks, and to blocks that are free
    EGB_LEVEL_TRACK       = 3,  // and knows where each block was allocated, and freed
    EGB_LEVEL_PASSTHROUGH = 4   // each block is one of the C library's malloc, for tools to watch
} egb_level;

/// "off", "check", "guard", "track", "passthrough"; of any other number "unknown". It lives for
/// ever. Threads: any.
const char* egb_level_text(egb_level level);

/// What is known beside the event itself of a block of a pool at level "guard" or above, and of one
/// of the heap that has a guard page (heap.h). Unless it is said otherwise 0 or NULL is: not known,
/// or not so.
typedef struct egb_history {
    egb_level level;    // of the pool
    size_t    bytes;    // how many were asked for
    ptrdiff_t damaged;  // of OVERRUN, UNDERRUN, OVERWRITTEN: the first byte that was written to,
                        // counted from the start of the block
    uint64_t serial;    // which of the pool's allocations the block is, from 1. This and all
                        // below at level "track"; the two sites of blocks with a guard page, too
    const void* alloc_site;  // where it was allocated: a code address
    const char* alloc_file;  // and in the source, where that was said; a string that stays
    unsigned    alloc_line;
    uint32_t    alloc_thread;  // the system's number of it
    const void* free_site;     // where it was freed, if it is free
} egb_history;

/// One misuse, as the handler gets it. Everything in it is valid during the call only.
typedef struct egb_event {
    egb_event_kind kind;
    const char*    pool_name;  // NULL: the pool has none
    const void*    pool;       // the egb_fixed or egb_growing; of an egb_pool an address that only
                               // tells it from others, NULL if the handle is stale or null
    const void* address;       // what was freed; of OVERWRITTEN, where the free list led to, or
                               // the block that was written to
    size_t      block_index;   // counts from 0; EGB_NO_INDEX: `address` is in no block
    const void* site;  // a code address in the function that made the call, or in its caller
                       // if the call was its last act and became a jump; NULL: not known
    const egb_history* history;  // NULL: nothing, as of most blocks at "off" and "check"
} egb_event;

#define EGB_NO_INDEX SIZE_MAX

/// Says `kind` in a few words: "double free", "free of a pointer that is not from this pool", ...
///
/// Returns  a string that lives for ever; never NULL, whatever number is passed.
/// Threads  any.
const char* egb_event_text(egb_event_kind kind);

/// The handler: every pool calls this function for every misuse, before it refuses the call.
/// (What is found in a block beside a free that is right - OVERRUN, UNDERRUN, OVERWRITTEN - does
/// not make it wrong: that call goes on. So does a delete of a wrong size, which the heap knows
/// better.)
///
/// In the hosted library it passes the event on to the function set with
/// egb_set_misuse_handler(), by default a report on stderr, once per site. A program may replace
/// it at link time by defining a function of this name. A program without the hosted library must
/// define it; ten lines that light a lamp will do.
///
/// It may return: the misused call then does nothing and the pool is intact. It may leave by
/// longjmp instead, and the pool is intact too; not by a C++ exception. It may use any pool, the
/// misused one included, but not init that one anew; an alloc that finds free blocks written to
/// calls it again, within itself.
void egb_misuse(const egb_event* event);

/// A handler set at run time. `user` is passed on as it was given.
typedef void (*egb_misuse_fn)(const egb_event* event, void* user);

/// Sets the function that gets every misuse from now on; NULL sets the default again, which
/// prints what is known to stderr. Of pools at level "off" and "check" it does so once for each
/// site, and lets the program go on; of others it then calls abort(). Hosted library only.
///
/// Threads  any, at any time, but not in a signal handler. A misuse in another thread at this very
///          moment may still reach the handler set before, or the default; it never sees one
///          handler with another's `user`.
void egb_set_misuse_handler(egb_misuse_fn handler, void* user);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_CHECK_H

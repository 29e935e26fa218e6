// SPDX-License-Identifier: MIT
// Layer core: misuse, the errors that are the caller's, and the one handler they all go to.
//
// Exhaustion (no block left) is not misuse: allocation returns NULL. Failure (the system said no)
// is not misuse: the call returns a status. Misuse is a call that a correct program cannot make. It
// is refused, the pool stays as it was before the call, and egb_misuse() is told. (The exception is
// EGB_EVENT_OVERWRITTEN: the misuse was a write, long ago; the alloc that finds it goes on.)
#ifndef EGGBOX_CHECK_H
#define EGGBOX_CHECK_H

#include "eggbox/base.h"

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
    EGB_EVENT_STALE           = 8   // a handle of a pool that was destroyed
} egb_event_kind;

/// One misuse, as the handler gets it. Everything in it is valid during the call only.
typedef struct egb_event {
    egb_event_kind kind;
    const char*    pool_name;    // NULL: the pool has none
    const void*    pool;         // as the caller passed it
    const void*    address;      // what was freed; of OVERWRITTEN, where the free list led to
    size_t         block_index;  // counts from 0; EGB_NO_INDEX: `address` is in no block
    const void*    site;  // a code address in the function that made the call, or in its caller
                          // if the call was its last act and became a jump; NULL: not known
} egb_event;

#define EGB_NO_INDEX SIZE_MAX

/// Says `kind` in a few words: "double free", "free of a pointer that is not from this pool", ...
///
/// Returns  a string that lives for ever; never NULL, whatever number is passed.
/// Threads  any.
const char* egb_event_text(egb_event_kind kind);

/// The handler: every pool calls this function for every misuse, before it refuses the call.
///
/// In the hosted library it passes the event on to the function set with
/// egb_set_misuse_handler(), by default a report on stderr, once per site. A program may replace
/// it at link time by defining a function of this name. A program without the hosted library must
/// define it; ten lines that light a lamp will do.
///
/// It may return: the misused call then does nothing and the pool is intact. It may leave by
/// longjmp instead, and the pool is intact too; not by a C++ exception. It may use any pool, the
/// misused one included, but not init that one anew.
void egb_misuse(const egb_event* event);

/// A handler set at run time. `user` is passed on as it was given.
typedef void (*egb_misuse_fn)(const egb_event* event, void* user);

/// Sets the function that gets every misuse from now on; NULL sets the default again, which
/// prints one line to stderr for each new site and lets the program go on. Hosted library only.
///
/// Threads  any, at any time, but not in a signal handler. A misuse in another thread at this very
///          moment may still reach the handler set before, or the default; it never sees one
///          handler with another's `user`.
void egb_set_misuse_handler(egb_misuse_fn handler, void* user);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_CHECK_H

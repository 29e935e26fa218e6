// SPDX-License-Identifier: MIT
// Layer os: all that eggbox asks of an operating system. One file per system answers.
//
// Nothing here calls malloc, so that a malloc may stand on it; the C library may, in the two calls
// that say so. Nothing changes errno, nor what GetLastError() says.
#ifndef EGGBOX_SRC_OS_OS_H
#define EGGBOX_SRC_OS_OS_H

#include "eggbox/base.h"

#if defined(__cplusplus)
extern "C" {
#endif

// Writes to where a program's complaints go. Without buffering, allocation or a change of errno;
// what cannot be written is lost. Safe in a signal handler.
void egb_os_write_error(const char* text, size_t bytes);

// ---- pages --------------------------------------------------------------------------------------

// Bytes of a page, read at run time: a power of two. 0: this system has no pages to give.
size_t egb_os_page_bytes(void);

// An address range of `bytes`, aligned to `align`, a power of two; both multiples of a page. No
// page of it is there yet. Its memory is all zero when committed, and not to be touched before.
// NULL: refused, as 0 bytes and more than PTRDIFF_MAX always are.
void* egb_os_reserve(size_t bytes, size_t align);

// Wishes for the pages of a range, independent of each other.
#define EGB_OS_PREFAULT   1u  // all pages are there before the call returns
#define EGB_OS_HUGE_PAGES 2u  // large pages

// What was obtained: bytes of the range that are in memory, or in large pages, now. Less where the
// system does not tell all, never more.
typedef struct egb_os_obtained {
    size_t prefaulted;
    size_t huge;
} egb_os_obtained;

// Makes memory of a range or of a part of it, whole pages, not committed before. `wishes` are tried
// and no error if not granted: `obtained` (may be NULL) says what came of them, and is not cheap to
// find out. But EGB_OS_PREFAULT may find that the system has no memory for all the pages.
// Returns EGB_OK, or EGB_NO_MEMORY and nothing has changed.
egb_status egb_os_commit(void* region, size_t bytes, unsigned wishes, egb_os_obtained* obtained);

// Gives a range back, whole, as it was reserved.
void egb_os_release(void* region, size_t bytes);

// Lets the system take the pages of a committed part of a range: what it holds is lost, and it
// reads as it likes from now on, zero or what was there. May be written to again. A hint.
void egb_os_forget(void* region, size_t bytes);

// Makes a committed range larger or smaller where it is: whole pages, more or fewer. What is new is
// committed, and all zero. Returns EGB_OK; EGB_NO_MEMORY: refused, or the addresses behind it are
// in use; EGB_UNSUPPORTED: this system cannot. But for EGB_OK nothing has changed.
egb_status egb_os_resize(void* region, size_t bytes, size_t new_bytes);

// Moves the memory of a committed range into another, without copying it. `to` was reserved, is not
// smaller, and stays where it is; what is behind the moved is committed, and all zero. `from` is
// given back by it. Returns EGB_OK; EGB_UNSUPPORTED: this system cannot; EGB_NO_MEMORY: refused,
// and then `to` must not be used nor released, because another may have its addresses: they are
// lost. But for EGB_OK `from` is as it was.
egb_status egb_os_move(void* from, size_t bytes, void* to, size_t to_bytes);

// ---- time ---------------------------------------------------------------------------------------

// Milliseconds since some moment, never fewer than before, and not finer than a few of them. Cheap.
// A system without a clock stays at 0.
uint64_t egb_os_milliseconds(void);

// ---- threads ------------------------------------------------------------------------------------

// A lock. All zero is unlocked; nothing to undo at its end.
typedef struct egb_os_mutex {
    EGB_ALIGNAS_(8) unsigned char bytes[64];
} egb_os_mutex;

void egb_os_lock(egb_os_mutex* mutex);
void egb_os_unlock(egb_os_mutex* mutex);

// Makes a lock unlocked whatever it was: in the child of a fork, whose other threads are gone.
void egb_os_lock_reset(egb_os_mutex* mutex);

// Names the one function that is called when a thread ends that has armed it, with what it armed
// it with (not NULL). False: there can be no such call. Called once, before the first arm. A thread
// whose end is the end of the process calls it or not, as the system likes.
bool egb_os_at_thread_exit(void (*function)(void* argument));

// Arms it for this thread, from now on with `argument`; NULL disarms. False: refused. May be called
// from the function itself, which is then called again, a few times at most. A C library may
// allocate here, once per thread: glibc if the program made 32 thread-specific keys before ours.
bool egb_os_arm_thread_exit(void* argument);

// Names the functions that are called around each fork of the process. False: refused. A system
// without fork calls none and says true. A C library may allocate here: musl does.
bool egb_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

// Whether the next can be had. Ask before the first, ideally before there are threads: the first
// call may be expensive. The answer holds in the child of a fork too.
bool egb_os_can_fence_threads(void);

// Every other thread of the process that is running has passed a full memory barrier between the
// start and the end of this call; those that are not running pass one before they go on. False: not
// so. After a yes of the call above that is only when the process has since forbidden it to itself.
EGB_NODISCARD bool egb_os_fence_threads(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_SRC_OS_OS_H

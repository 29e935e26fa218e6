// SPDX-License-Identifier: MIT
// Layer os: all that eggbox asks of an operating system. One file per system answers.
//
// Nothing here calls malloc, so that a malloc may stand on it; the C library may, in the calls that
// say so, and so may a library that stands before the C library's functions. Those calls are made
// without a lock; all others, when this library is the C library's malloc, call no function that
// such a library could have. Nothing changes errno, nor what GetLastError() says.
#ifndef EGGBOX_SRC_OS_OS_H
#define EGGBOX_SRC_OS_OS_H

#include "eggbox/base.h"

#if defined(__cplusplus)
extern "C" {
#endif

// Writes to the program's error stream, without buffering, allocation, a signal or a change of
// errno; text that cannot be written is lost. Safe in a signal handler.
void egb_os_write_error_(const char* text, size_t bytes);

#if !defined(EGB_IS_MALLOC)
  #define EGB_IS_MALLOC 0  // 1: this library is to be the C library's malloc
#endif

// A small variable that the first calls of a process need. It stands among the data with initial
// values: a page or two that the loader has written to as a rule. Among the zeros it would be on a
// page with parts of long tables, and bring that page into memory: first for a read, and then for a
// write.
#if defined(__ELF__)
  #define EGB_AMONG_DATA_ __attribute__((section(".data")))
#else
  #define EGB_AMONG_DATA_
#endif

// Ends the program at once, as abort() does. Does not return.
void egb_os_abort_(void);

// Asks the C library for all that the calls below must not ask for with a lock held, such as the
// bytes of a page. The first call of all, and harmless at any time. May allocate, as others may.
void egb_os_prepare_(void);

// The value of an environment variable; NULL: it is not set, or this program has rights that its
// caller lacks. The text lives as long as nobody changes the environment.
const char* egb_os_variable_(const char* name);

// The C library's malloc, for programs that its tools are to watch; `align` is a power of two.
// NULL: refused, or there is none, as when this library is the C library's malloc itself.
bool  egb_os_has_malloc_(void);
void* egb_os_malloc_(size_t align, size_t bytes);
void  egb_os_free_(void* block);

// The bytes of a block of the C library's own malloc, when this library is the malloc that programs
// call; 0: it is none, or nobody can tell. Such a block goes back there. Both may allocate.
size_t egb_os_c_library_bytes_(void* block);
void   egb_os_c_library_free_(void* block);

// ---- tools that watch memory --------------------------------------------------------------------

// Whether AddressSanitizer or Valgrind watches this process and wants to be told about blocks. The
// answer never changes. If it is no, the others have no effect.
bool egb_os_is_watched_(void);

// A pool begins, or ends with all its blocks.
void egb_os_watch_pool_(const void* pool, bool is_made);

// A block is in use from now on, with meaningless contents; or is free, and any use is an error.
void egb_os_watch_taken_(const void* pool, const void* block, size_t bytes);
void egb_os_watch_given_(const void* pool, const void* block, size_t bytes);

// The library itself, or the memory's next owner, may read it; or no longer.
void egb_os_watch_open_(const void* start, size_t bytes);
void egb_os_watch_close_(const void* start, size_t bytes);

// ---- faults -------------------------------------------------------------------------------------

// The kind of an access that the system did not permit.
typedef enum egb_os_access { EGB_OS_ACCESS, EGB_OS_READ, EGB_OS_WRITE } egb_os_access;

// From now on `explain` is called, as a signal handler is, before such an access ends the program,
// as it still does. False, and nothing has changed: the program has its own handler, or this system
// has no such call. Others may allocate here.
bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access));

// ---- pages --------------------------------------------------------------------------------------

// Bytes of a page, read at run time: a power of two. 0: this system has no pages to give.
size_t egb_os_page_bytes_(void);

// The bytes of memory that this process may have: by limits of its own, beyond which the system
// refuses (RLIMIT_AS, RLIMIT_DATA); and by limits of its control groups, beyond which the system
// ends or stops a process of the group. SIZE_MAX: none. The second reads a few files, 100 us, and
// is for one thread at a time.
size_t egb_os_process_limit_(void);
size_t egb_os_group_limit_(void);

// An address range of `bytes`, aligned to `align`, a power of two; both multiples of a page. No
// page of it is there yet. Its memory is all zero when committed, and not to be touched before.
// NULL: refused, as 0 bytes and more than PTRDIFF_MAX always are.
void* egb_os_reserve_(size_t bytes, size_t align);

// Options for the pages of a range, independent of each other.
#define EGB_OS_PREFAULT   1u  // all pages are there before the call returns
#define EGB_OS_HUGE_PAGES 2u  // large pages

// The result: bytes of the range that are in memory, or in large pages, now. Less if the system
// does not tell all, never more. Large pages are told only if they were requested: on Linux the
// answer takes time for each mapping of the process, 300 us for a few hundred.
typedef struct egb_os_obtained {
    size_t prefaulted;
    size_t huge;
} egb_os_obtained;

// Makes memory of a range or of a part of it, whole pages, not committed before. `page_options` are
// tried, and it is no error if they are not granted: `obtained` (may be NULL) tells the result, and
// is not cheap. With EGB_OS_PREFAULT the system may lack memory for all the pages. Returns EGB_OK,
// or EGB_NO_MEMORY and nothing has changed.
egb_status
egb_os_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained);

// Gives a whole range back, as it was reserved; if ranges can be split, also a part, or several
// side by side.
void egb_os_release_(void* region, size_t bytes);

// Whether every range of pages counts as one that was reserved, however it was got: a part of one,
// or several side by side. But resize and move may be refused where it was not got as one.
bool egb_os_can_split_(void);

// Lets the system take the pages of a committed part of a range: the contents are lost, and it
// reads as zero or as before. It may be written to again. A hint. Returns whether the system took
// it; if not, some pages may be lost all the same.
bool egb_os_forget_(void* region, size_t bytes);

// Whether a range that the system took then reads as zero. `page`: of such a range; it may be tried
// there, and is lost. An emulator may say that it took the pages, and leave them as they are.
bool egb_os_forgets_to_zero_(void* page);

// Whether egb_os_protect_() works.
bool egb_os_can_protect_(void);

// Makes pages of a committed range inaccessible, with their contents kept; or accessible again.
// Returns EGB_OK; EGB_NO_MEMORY: refused, and nothing has changed; EGB_UNSUPPORTED.
EGB_NODISCARD egb_status egb_os_protect_(void* region, size_t bytes, bool is_open);

// Makes pages of a committed range inaccessible, and lets the system take them: opened again they
// read as zero or as before. Returns as egb_os_protect_().
EGB_NODISCARD egb_status egb_os_shut_(void* region, size_t bytes);

// Makes a committed range larger or smaller in place, by whole pages. New pages are committed, and
// all zero. Returns EGB_OK; EGB_NO_MEMORY: refused, or the addresses behind it are in use;
// EGB_UNSUPPORTED: this system cannot. Unless EGB_OK, nothing has changed.
egb_status egb_os_resize_(void* region, size_t bytes, size_t new_bytes);

// Moves the memory of a committed range into another, without copying it. `to` was reserved, is not
// smaller, and stays in place; pages behind the moved ones are committed, and all zero. `from` is
// given back. The source must have been got as one. Returns EGB_OK; EGB_UNSUPPORTED: this system
// cannot, or forbids it, and `to` is as it was; EGB_NO_MEMORY: refused, and `to` must not be used
// nor released: it was given back, or its addresses may be in use. Unless EGB_OK, `from` is as it
// was.
egb_status egb_os_move_(void* from, size_t bytes, void* to, size_t to_bytes);

// ---- time, chance -------------------------------------------------------------------------------

// Milliseconds since some moment, never fewer than before, and not finer than a few of them. Cheap.
// A system without a clock stays at 0.
uint64_t egb_os_milliseconds_(void);

// The same, as fine as the system has it.
uint64_t egb_os_nanoseconds_(void);

// A number that nobody can guess; 0: the system has none, or none yet.
uint64_t egb_os_random_(void);

// ---- threads ------------------------------------------------------------------------------------

// A lock. All zero is unlocked; it needs no cleanup. It uses as many bytes as a pointer has: the
// others keep its neighbours out of its cache line, and may hold protected data. If the C library
// tells whether a thread is the only one (eggbox/lock.h), the lock begins with a word of 4 bytes,
// which is 0 while the lock is free, 1 while it is held, and another value while threads wait for
// it.
typedef struct egb_os_mutex {
    EGB_ALIGNAS_(8) unsigned char bytes[64];
} egb_os_mutex;

void egb_os_lock_(egb_os_mutex* mutex);
void egb_os_unlock_(egb_os_mutex* mutex);

// Takes the lock if it is free now, or within about so many milliseconds. False: it was not.
bool egb_os_try_lock_(egb_os_mutex* mutex);
bool egb_os_lock_soon_(egb_os_mutex* mutex, int milliseconds);

// Whether the lock is free at a moment within the time.
static inline bool egb_os_is_free_soon_(egb_os_mutex* mutex, int milliseconds)
{
    const bool is_free = egb_os_lock_soon_(mutex, milliseconds);
    if (is_free) {
        egb_os_unlock_(mutex);
    }
    return is_free;
}

// Makes a lock unlocked whatever it was: in the child of a fork, whose other threads are gone.
void egb_os_lock_reset_(egb_os_mutex* mutex);

// Waits while the word is `value`, until egb_os_wake_() or the time in milliseconds is over; 0:
// there is no limit. May return sooner. The wake is for the thread that waits for this word, or for
// one of them; it knows the address alone, and that thread may be gone.
void egb_os_wait_(uint32_t* word, uint32_t value, uint32_t milliseconds);
void egb_os_wake_(uint32_t* word);

// The number of processors that the process may use; at least 1.
size_t egb_os_processors_(void);

// The system's number of the calling thread; 0: there is none.
uint32_t egb_os_thread_number_(void);

// In the child of a fork: its thread has another number than in the parent.
void egb_os_thread_is_forked_(void);

// Names the one function to call when a thread ends that armed it, with its argument (not NULL).
// False: no such call is possible. Called once, before the first arm. When the thread's end is the
// end of the process, the system may skip the call.
bool egb_os_at_thread_exit_(void (*function)(void* argument));

// Arms the call for this thread, with `argument` from now on; NULL disarms. False: refused. The
// function itself may arm again and is then called again, a few times at most. A C library may
// allocate here, once per thread: glibc if the program made 32 thread-specific keys before ours.
bool egb_os_arm_thread_exit_(void* argument);

// Names the functions that are called around each fork of the process. False: refused. A system
// without fork calls none and says true. A C library may allocate here: musl does.
bool egb_os_at_fork_(void (*prepare)(void), void (*parent)(void), void (*child)(void));

// Whether egb_os_fence_threads_() works. Ask before its first call, ideally before there are
// threads: the first question may be expensive. The answer holds in the child of a fork too.
bool egb_os_can_fence_threads_(void);

// Every other thread of the process that is running has passed a full memory barrier between the
// start and the end of this call; those that are not running pass one before they go on. False: not
// so. After a yes of the call above that is only when the process has since forbidden it to itself.
EGB_NODISCARD bool egb_os_fence_threads_(void);

#if defined(__cplusplus)
}
#endif

#include "os_process.h"
#include "os_shared.h"

#endif  // EGGBOX_SRC_OS_OS_H

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
void egb_os_write_error_(const char* text, size_t bytes);

#if !defined(EGB_IS_MALLOC)
  #define EGB_IS_MALLOC 0  // 1: this library is to be the C library's malloc
#endif

// Ends the program at once, as abort() does. Does not return.
void egb_os_abort_(void);

// What the environment says of a name; NULL: nothing, or this program has rights that its caller
// lacks. It lives as long as nobody changes the environment.
const char* egb_os_variable_(const char* name);

// The C library's malloc, for who wants to be watched by its tools; `align` is a power of two.
// NULL: refused, or there is none, as where this library is the C library's malloc itself.
bool  egb_os_has_malloc_(void);
void* egb_os_malloc_(size_t align, size_t bytes);
void  egb_os_free_(void* block);

// ---- tools that watch memory --------------------------------------------------------------------

// Whether AddressSanitizer or Valgrind watches this process and wants to be told about blocks. The
// answer never changes. Where it is no, the others have no effect.
bool egb_os_is_watched_(void);

// A pool begins, or ends with all its blocks.
void egb_os_watch_pool_(const void* pool, bool is_made);

// A block is in use from now on, and what is in it means nothing; or is free, and any use of it is
// an error.
void egb_os_watch_taken_(const void* pool, const void* block, size_t bytes);
void egb_os_watch_given_(const void* pool, const void* block, size_t bytes);

// The library itself, or whoever gets the memory next, may look at it; or no longer.
void egb_os_watch_open_(const void* start, size_t bytes);
void egb_os_watch_close_(const void* start, size_t bytes);

// ---- faults -------------------------------------------------------------------------------------

// What the access was that the system did not permit.
typedef enum egb_os_access { EGB_OS_ACCESS, EGB_OS_READ, EGB_OS_WRITE } egb_os_access;

// From now on `explain` is called, as a signal handler is, before such an access ends the program,
// which it does all the same, as ever. False, and nothing has changed: the program has a handler of
// its own, or this system has no such call.
bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access));

// ---- pages --------------------------------------------------------------------------------------

// Bytes of a page, read at run time: a power of two. 0: this system has no pages to give.
size_t egb_os_page_bytes_(void);

// How many bytes of addresses this process may have. SIZE_MAX: the system sets no limit.
size_t egb_os_address_bytes_(void);

// An address range of `bytes`, aligned to `align`, a power of two; both multiples of a page. No
// page of it is there yet. Its memory is all zero when committed, and not to be touched before.
// NULL: refused, as 0 bytes and more than PTRDIFF_MAX always are.
void* egb_os_reserve_(size_t bytes, size_t align);

// Wishes for the pages of a range, independent of each other.
#define EGB_OS_PREFAULT   1u  // all pages are there before the call returns
#define EGB_OS_HUGE_PAGES 2u  // large pages

// What was obtained: bytes of the range that are in memory, or in large pages, now. Less where the
// system does not tell all, never more. Who did not wish for large pages is told of none: on Linux
// to find out takes as long as the process has mappings, 300 us where it has a few hundred.
typedef struct egb_os_obtained {
    size_t prefaulted;
    size_t huge;
} egb_os_obtained;

// Makes memory of a range or of a part of it, whole pages, not committed before. `page_options` are
// tried and no error if not granted: `obtained` (may be NULL) says what came of them, and is not
// cheap to find out. But EGB_OS_PREFAULT may find that the system has no memory for all the pages.
// Returns EGB_OK, or EGB_NO_MEMORY and nothing has changed.
egb_status
egb_os_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained);

// Gives a range back, whole, as it was reserved; and where ranges can be split, any part of it, or
// several side by side.
void egb_os_release_(void* region, size_t bytes);

// Whether every range of pages counts as one that was reserved, however it was got: a part of one,
// or several side by side. But resize and move may be refused where it was not got as one.
bool egb_os_can_split_(void);

// Lets the system take the pages of a committed part of a range: what it holds is lost, and it
// reads as it likes from now on, zero or what was there. May be written to again. A hint.
void egb_os_forget_(void* region, size_t bytes);

// Whether the next can be had.
bool egb_os_can_protect_(void);

// Makes pages of a committed range inaccessible, and what was in them stays; or accessible again.
// Returns EGB_OK; EGB_NO_MEMORY: refused, and nothing has changed; EGB_UNSUPPORTED.
EGB_NODISCARD egb_status egb_os_protect_(void* region, size_t bytes, bool is_open);

// Makes a committed range larger or smaller where it is: whole pages, more or fewer. What is new is
// committed, and all zero. Returns EGB_OK; EGB_NO_MEMORY: refused, or the addresses behind it are
// in use; EGB_UNSUPPORTED: this system cannot. But for EGB_OK nothing has changed.
egb_status egb_os_resize_(void* region, size_t bytes, size_t new_bytes);

// Moves the memory of a committed range into another, without copying it. `to` was reserved, is not
// smaller, and stays where it is; what is behind the moved is committed, and all zero. `from` is
// given back by it. Returns EGB_OK; EGB_UNSUPPORTED: this system cannot, or no longer, and `to` is
// as it was; EGB_NO_MEMORY: refused, and then `to` must not be used nor released: it was given
// back, or another may have its addresses. But for EGB_OK `from` is as it was.
egb_status egb_os_move_(void* from, size_t bytes, void* to, size_t to_bytes);

// ---- time ---------------------------------------------------------------------------------------

// Milliseconds since some moment, never fewer than before, and not finer than a few of them. Cheap.
// A system without a clock stays at 0.
uint64_t egb_os_milliseconds_(void);

// The same, as fine as the system has it.
uint64_t egb_os_nanoseconds_(void);

// ---- a process, and the file its report goes to -------------------------------------------------

// False: all below says no.
bool egb_os_has_reports_(void);

typedef struct egb_os_process {
    uint64_t pid;
    uint64_t parent_pid;
    uint64_t started_ticks;        // when it began; of what follows a pid, no other has the same
    uint64_t peak_resident_bytes;  // of the program that it is now
    uint64_t minor_faults;         // since it began
    uint64_t major_faults;
} egb_os_process;

egb_os_process egb_os_this_process_(void);

// The path of the file that this process runs, not ended by a zero; its length, 0: not known.
size_t egb_os_program_(char* out, size_t bytes);

// Opens the arguments of this process, each ended by a zero; makes an empty file. -1: refused.
int egb_os_open_arguments_(void);
int egb_os_create_(const char* path);

// Some more bytes; 0: that was all. And writes all; false: refused.
size_t egb_os_read_(int file, char* to, size_t bytes);
bool   egb_os_write_(int file, const char* text, size_t bytes);
void   egb_os_close_(int file);

bool egb_os_rename_(const char* from, const char* to);
void egb_os_remove_(const char* path);

// The file whose code or data an address is in, and how far from where that starts in memory.
// False: not known. The path lives as long as the file is loaded; that of the program is "".
bool egb_os_find_module_(const void* address, const char** path, uintptr_t* offset);

// ---- threads ------------------------------------------------------------------------------------

// A lock. All zero is unlocked; nothing to undo at its end. As many bytes are used of it as a
// pointer has: the others keep its neighbours out of its cache line. Where the C library says
// whether a thread is the only one (eggbox/lock.h) these begin with a word of 4 bytes, which is 0
// while the lock is free, 1 while it is held, and something else while it is waited for.
typedef struct egb_os_mutex {
    EGB_ALIGNAS_(8) unsigned char bytes[64];
} egb_os_mutex;

void egb_os_lock_(egb_os_mutex* mutex);
void egb_os_unlock_(egb_os_mutex* mutex);

// Takes the lock if it is free now, or within some tenths of a second. False: it was not.
bool egb_os_try_lock_(egb_os_mutex* mutex);
bool egb_os_lock_soon_(egb_os_mutex* mutex);

// Whether nobody holds the lock for longer than a moment.
static inline bool egb_os_is_free_soon_(egb_os_mutex* mutex)
{
    const bool is_free = egb_os_lock_soon_(mutex);
    if (is_free) {
        egb_os_unlock_(mutex);
    }
    return is_free;
}

// Makes a lock unlocked whatever it was: in the child of a fork, whose other threads are gone.
void egb_os_lock_reset_(egb_os_mutex* mutex);

// The system's number of the calling thread; 0: there is none.
uint32_t egb_os_thread_number_(void);

// Names the one function that is called when a thread ends that has armed it, with what it armed
// it with (not NULL). False: there can be no such call. Called once, before the first arm. A thread
// whose end is the end of the process calls it or not, as the system likes.
bool egb_os_at_thread_exit_(void (*function)(void* argument));

// Arms it for this thread, from now on with `argument`; NULL disarms. False: refused. May be called
// from the function itself, which is then called again, a few times at most. A C library may
// allocate here, once per thread: glibc if the program made 32 thread-specific keys before ours.
bool egb_os_arm_thread_exit_(void* argument);

// Names the functions that are called around each fork of the process. False: refused. A system
// without fork calls none and says true. A C library may allocate here: musl does.
bool egb_os_at_fork_(void (*prepare)(void), void (*parent)(void), void (*child)(void));

// Whether the next can be had. Ask before the first, ideally before there are threads: the first
// call may be expensive. The answer holds in the child of a fork too.
bool egb_os_can_fence_threads_(void);

// Every other thread of the process that is running has passed a full memory barrier between the
// start and the end of this call; those that are not running pass one before they go on. False: not
// so. After a yes of the call above that is only when the process has since forbidden it to itself.
EGB_NODISCARD bool egb_os_fence_threads_(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_SRC_OS_OS_H

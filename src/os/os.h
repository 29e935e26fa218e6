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

// Writes to the program's error stream, without buffering, allocation or a change of errno; text
// that cannot be written is lost. Safe in a signal handler.
void egb_os_write_error_(const char* text, size_t bytes);

#if !defined(EGB_IS_MALLOC)
  #define EGB_IS_MALLOC 0  // 1: this library is to be the C library's malloc
#endif

// Ends the program at once, as abort() does. Does not return.
void egb_os_abort_(void);

// The value of an environment variable; NULL: it is not set, or this program has rights that its
// caller lacks. The text lives as long as nobody changes the environment.
const char* egb_os_variable_(const char* name);

// The C library's malloc, for programs that its tools are to watch; `align` is a power of two.
// NULL: refused, or there is none, as when this library is the C library's malloc itself.
bool  egb_os_has_malloc_(void);
void* egb_os_malloc_(size_t align, size_t bytes);
void  egb_os_free_(void* block);

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
// has no such call.
bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access));

// ---- pages --------------------------------------------------------------------------------------

// Bytes of a page, read at run time: a power of two. 0: this system has no pages to give.
size_t egb_os_page_bytes_(void);

// The bytes of addresses that this process may have. SIZE_MAX: the system sets no limit.
size_t egb_os_address_bytes_(void);

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
// reads as zero or as before. It may be written to again. A hint.
void egb_os_forget_(void* region, size_t bytes);

// Whether egb_os_protect_() works.
bool egb_os_can_protect_(void);

// Makes pages of a committed range inaccessible, with their contents kept; or accessible again.
// Returns EGB_OK; EGB_NO_MEMORY: refused, and nothing has changed; EGB_UNSUPPORTED.
EGB_NODISCARD egb_status egb_os_protect_(void* region, size_t bytes, bool is_open);

// Makes a committed range larger or smaller in place, by whole pages. New pages are committed, and
// all zero. Returns EGB_OK; EGB_NO_MEMORY: refused, or the addresses behind it are in use;
// EGB_UNSUPPORTED: this system cannot. Unless EGB_OK, nothing has changed.
egb_status egb_os_resize_(void* region, size_t bytes, size_t new_bytes);

// Moves the memory of a committed range into another, without copying it. `to` was reserved, is not
// smaller, and stays in place; pages behind the moved ones are committed, and all zero. `from` is
// given back. Returns EGB_OK; EGB_UNSUPPORTED: this system cannot, or no longer, and `to` is as it
// was; EGB_NO_MEMORY: refused, and `to` must not be used nor released: it was given back, or its
// addresses may be in use. Unless EGB_OK, `from` is as it was.
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
    uint64_t started_ticks;        // start time; a later process with this pid has another
    uint64_t peak_resident_bytes;  // peak of the current program
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

// A lock. All zero is unlocked; it needs no cleanup. It uses as many bytes as a pointer has: the
// others keep its neighbours out of its cache line. If the C library tells whether a thread is the
// only one (eggbox/lock.h), the lock begins with a word of 4 bytes, which is 0 while the lock is
// free, 1 while it is held, and another value while threads wait for it.
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

#endif  // EGGBOX_SRC_OS_OS_H

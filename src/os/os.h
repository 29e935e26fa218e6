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

// Writes to the program's error stream, without buffering, allocation or a change of errno; text
// that cannot be written is lost. Safe in a signal handler.
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
uint64_t       egb_os_process_number_(void);  // its pid alone, without a look at files
uint64_t       egb_os_parent_number_(void);   // its parent's

// False: no process has this number, not even one that has ended and is waited for.
bool egb_os_process_exists_(uint64_t pid);

// The path of the file that this process runs, not ended by a zero; its length, 0: not known.
size_t egb_os_program_(char* out, size_t bytes);

// Opens the arguments of this process, each ended by a zero. -1: refused.
int egb_os_open_arguments_(void);

// Some more bytes; 0: that was all.
size_t egb_os_read_(int file, char* to, size_t bytes);

// Makes an empty file, unless there is anything of this name, such as a link or a pipe; below 0:
// refused, and the number of the system's error, negated.
int egb_os_create_(const char* path);

// Each returns 0, or the number of the system's error. Write writes all, and raises no signal where
// the size of files is limited. Some systems refuse only at the close what was written.
int egb_os_write_(int file, const char* text, size_t bytes);
int egb_os_close_(int file);
int egb_os_rename_(const char* from, const char* to);

void egb_os_remove_(const char* path);

// Makes a symbolic link that holds a text of any kind: a small file that a full disk, a limit on
// the size of files and a limit on open files do not hinder.
void egb_os_note_(const char* text, const char* path);

// The file whose code or data an address is in, and how far from where that starts in memory.
// False: not known. The path lives as long as the file is loaded; that of the program is "".
bool egb_os_find_module_(const void* address, const char** path, uintptr_t* offset);

// ---- the calls of a thread ----------------------------------------------------------------------

// A call that has not returned: its return address, and the stack pointer and the frame pointer
// behind the return. The frame pointer is known only on x86-64, and not from the unwinder. Both may
// have been read from words of the stack: their places, or 0.
typedef struct egb_os_call {
    const void* address;
    uintptr_t   top;
    uintptr_t   frame;
    uintptr_t   top_from;
    uintptr_t   frame_from;
} egb_os_call;

// The calls that a thread is in, the outermost first. All zero at first. The next stack of the same
// thread is read faster with what is left of this one, and any thread may use it next.
//
// A stack of more calls is cut: it has the innermost EGB_OS_CALLS_CUT.
enum { EGB_OS_CALLS_MAX = 512, EGB_OS_CALLS_CUT = 72 };

typedef struct egb_os_calls {
    size_t      count;
    size_t      same;            // so many of the outermost have the addresses that they had before
    uintptr_t   end;             // private to the walk: where the stack ends; 0: it was not walked
    uint64_t    age;             // the same: of the rules
    bool        ends_with_zero;  // the same
    bool        is_cut;
    egb_os_call calls[EGB_OS_CALLS_MAX];
    egb_os_call found[EGB_OS_CALLS_MAX];  // on the way, the innermost first
} egb_os_calls;

// The call of the function that this is in, which must not be inlined. A function that asks for its
// own frame has one, and the caller's frame pointer is saved there.
#if defined(__GNUC__) && defined(__x86_64__)
  #define EGB_OS_CALL_HERE_()                         \
      {__builtin_return_address(0),                   \
       (uintptr_t)__builtin_dwarf_cfa(),              \
       *(const uintptr_t*)__builtin_frame_address(0), \
       0,                                             \
       0}
#elif defined(__GNUC__)
  #define EGB_OS_CALL_HERE_()                                                  \
      {__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(), 0, 0, 0}
#else
  #define EGB_OS_CALL_HERE_() {NULL, 0, 0, 0, 0}
#endif

// Finds the unwinder. Others may allocate here. A system without one does nothing.
void egb_os_prepare_calls_(void);

// The calls that this thread is in, from the outermost to `first`, which is one of them. False: not
// known, and `out` is as it was. `is_fast`: the unwinder is not asked for a stack that is hard to
// read. If it is, others may allocate here, and with a C library older than glibc 2.35 take the
// loader's lock.
bool egb_os_calls_(egb_os_call first, egb_os_calls* out, bool is_fast);

// ---- the memory of this process, as a file ------------------------------------------------------

// Only for the library that is the C library's malloc, on Linux. A page that is not there is an
// answer here, not a signal. No call allocates or takes a lock.
#if EGB_IS_MALLOC

enum { EGB_OS_PAGE_FLAGS = 512 };

typedef struct egb_os_memory {
    int       file;
    int       flags_file;
    bool      is_failed;  // some of it could not be read, for another reason than that it is gone
    uintptr_t first;      // the page that the first of the flags is of, as a number
    size_t    known;
    uint64_t  flags[EGB_OS_PAGE_FLAGS];
} egb_os_memory;

// False: the system does not show it.
bool egb_os_memory_open_(egb_os_memory* memory);
void egb_os_memory_close_(const egb_os_memory* memory);

// Copies as much as is there. Returns the bytes.
size_t egb_os_memory_read_(egb_os_memory* memory, uintptr_t from, void* to, size_t bytes);

// Whether the process has written to the page of this address, since it got the page.
bool egb_os_memory_is_written_(egb_os_memory* memory, uintptr_t address);

typedef struct egb_os_mapping {
    uintptr_t start;
    uintptr_t end;
    bool      is_writable;     // and readable, and no other process writes to it
    bool      is_closed;       // nobody may read or write it
    bool      is_first_stack;  // of the thread that the process began with
} egb_os_mapping;

// Calls `visit` with each mapping, in order of address. False: the system does not tell.
bool egb_os_each_mapping_(void (*visit)(const egb_os_mapping* mapping, void* user), void* user);

typedef void (*egb_os_visit_stack)(uint32_t thread, uintptr_t top, void* user);

// Calls `visit` with the number and the stack pointer of each other thread; 0: the pointer is not
// known, as of a thread that runs. Waits 50 ms at most until none does. False: the system does not
// tell the threads.
bool egb_os_each_stack_(egb_os_visit_stack visit, void* user);

#endif

// ---- memory that processes share ----------------------------------------------------------------

// False: all below says no, EGB_UNSUPPORTED. A file is a number from 0. A call that makes one
// stores it in `*file` and returns EGB_OK; EGB_STALE: no such file is there; EGB_BUSY: one is;
// EGB_CORRUPT: it is no ordinary file; EGB_NO_MEMORY: refused; EGB_UNSUPPORTED. No program that is
// started inherits one.
bool egb_os_has_shared_(void);

// A new, empty file for `bytes`, all of them allocated, so that no access ever fails for want of
// memory. `path` NULL: memory only, sealed against another length. Else in the folder of `path`,
// without a name, and with these permissions.
egb_status egb_os_shared_make_(int* file, const char* path, unsigned mode, uint64_t bytes);

// Gives it the name `path`, at once and complete. EGB_BUSY: the name exists.
egb_status egb_os_shared_name_(int file, const char* path);

// Opens the file of that name for reading and writing; no link, no device, no pipe.
egb_status egb_os_shared_open_(int* file, const char* path);

// Opens the same file once more, with locks of its own: `file` need not be ours.
egb_status egb_os_shared_again_(int* again, int file);
void       egb_os_shared_close_(int file);

// Opens the file that the process `pid` has open as `number`.
egb_status egb_os_shared_of_(int* file, uint64_t pid, int number);

// Another descriptor for the file that this process has open as `number`.
egb_status egb_os_shared_twin_(int* file, int number);

// Another descriptor for the file in place of this one, far from the numbers that programs expect
// for their own; the same one if there is none.
int egb_os_shared_step_aside_(int file);

typedef struct egb_os_shared_file {
    uint64_t bytes;
    bool     has_name;     // of any path
    bool     is_writable;  // opened for reading and writing
    bool     is_sealed;    // nobody can make it shorter
} egb_os_shared_file;

// EGB_INVALID: no open file; EGB_CORRUPT: no ordinary one.
egb_status egb_os_shared_look_(int file, egb_os_shared_file* out);

// Whether `path` is a name of this very file.
bool egb_os_shared_is_named_(int file, const char* path);

// Calls `visit` with the name of each file in a folder whose name begins with `prefix`. May
// allocate.
void egb_os_shared_each_(
    const char* folder, const char* prefix, void (*visit)(const char* name, void* user), void* user
);

// A part of a file, whole pages, as memory; NULL: refused. `page_options` are tried.
void* egb_os_shared_map_(
    int file, uint64_t offset, size_t bytes, bool is_writable, unsigned page_options
);
void egb_os_shared_unmap_(void* start, size_t bytes);

// Locks `count` bytes of a number each, if no other opening of the file has one of them: true. The
// system gives them back when the last descriptor of this opening is closed, whatever ends its
// processes. is_locked: whether another opening has one.
bool egb_os_shared_lock_(int file, unsigned first, unsigned count);
void egb_os_shared_unlock_(int file, unsigned first, unsigned count);
bool egb_os_shared_is_locked_(int file, unsigned first, unsigned count);

// Waits while the word, which processes share, is `value`, until egb_os_shared_wake_() or the time
// is over. May return sooner.
void egb_os_shared_wait_(void* word, uint32_t value, uint64_t nanoseconds);
void egb_os_shared_wake_(void* word);

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

#endif  // EGGBOX_SRC_OS_OS_H

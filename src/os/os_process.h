// SPDX-License-Identifier: MIT
// Layer os: a process, the file its report goes to, the calls of a thread, and the memory of the
// process as a file. A part of os.h, which includes this file.
#ifndef EGGBOX_SRC_OS_OS_PROCESS_H
#define EGGBOX_SRC_OS_OS_PROCESS_H

#include "os.h"

#if defined(__cplusplus)
extern "C" {
#endif

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

// Whether the first thread of this process has ended, and other threads go on. False also if the
// system does not tell.
bool egb_os_first_has_ended_(void);

// The path of the file that this process runs, not ended by a zero; its length, 0: not known.
size_t egb_os_program_(char* out, size_t bytes);

// Opens the arguments of this process, each ended by a zero. -1: refused.
int egb_os_open_arguments_(void);

// Some more bytes; 0: that was all.
size_t egb_os_read_(int file, char* to, size_t bytes);

// Makes an empty file, unless there is anything of this name, such as a link or a pipe; below 0:
// refused, and the number of the system's error, negated.
int egb_os_create_(const char* path);

// Each returns 0, or the number of the system's error. Write writes all, and raises no signal. Some
// systems tell only at the close that a write failed.
int egb_os_write_(int file, const char* text, size_t bytes);

// As write, from this place of the file on, wherever another descriptor of it writes. Nothing is
// written from `end` on: that is an error.
int egb_os_write_at_(int file, uint64_t place, uint64_t end, const char* text, size_t bytes);
int egb_os_close_(int file);
int egb_os_rename_(const char* from, const char* to);

void egb_os_remove_(const char* path);

// Makes a symbolic link that holds a text of any kind: a small file that a full disk, a limit on
// the size of files and a limit on open files do not hinder.
void egb_os_note_(const char* text, const char* path);

// The file whose code or data an address is in, and how far from where that starts in memory.
// False: not known. The path is the system's for the file that is loaded, as far as it fits, with a
// 0 at its end; " (deleted)" follows if that file is no longer there. If the system tells none,
// it is the loader's; "": there is none.
bool egb_os_find_module_(const void* address, char* path, size_t bytes, uintptr_t* offset);

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

// The calls that a thread is in, the outermost first. All zero at first. The data of one stack
// makes the next read of the same thread faster, and any thread may use the data next.
//
// A stack of more calls is cut: it has the innermost EGB_OS_CALLS_CUT.
//
// A walk was led to each call by one to three words of the stack. They are side by side here: each
// next walk compares all of them, so for one it takes a few instructions.
enum {
    EGB_OS_CALLS_MAX  = 512,
    EGB_OS_CALLS_CUT  = 72,
    EGB_OS_CALL_WORDS = 3  // the return address, a frame pointer and a top
};

typedef struct egb_os_word {
    uintptr_t place;
    uintptr_t word;
} egb_os_word;

typedef struct egb_os_calls {
    size_t      count;
    size_t      same;            // outermost calls with the addresses that they had before
    uintptr_t   end;             // private to the walk: where the stack ends; 0: it was not walked
    uint64_t    age;             // the same: of the rules
    bool        ends_with_zero;  // the same
    bool        is_cut;
    egb_os_call calls[EGB_OS_CALLS_MAX];
    egb_os_call found[EGB_OS_CALLS_MAX];      // on the way, the innermost first
    uint16_t    words_end[EGB_OS_CALLS_MAX];  // for each call: the number of words up to it
    uint16_t    call_of[EGB_OS_CALLS_MAX * EGB_OS_CALL_WORDS];  // for each word: its call
    egb_os_word words[EGB_OS_CALLS_MAX * EGB_OS_CALL_WORDS];
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

// From now on libraries can be opened: the C library's constructor is over.
void egb_os_c_library_has_begun_(void);

// Finds the unwinder, once. Others may allocate here. False: it is too early, or another call is at
// it. A system without an unwinder says true.
bool egb_os_prepare_calls_(void);

// The calls that this thread is in, from the outermost to `first`, which is one of them. Those
// farther in than the innermost one with the return address `site` may be left out. False: not
// known, and `out` is as it was. `is_fast`: the unwinder is not asked for a stack that is hard to
// read. If it is, others may allocate here, and with a C library older than glibc 2.35 take the
// loader's lock.
bool egb_os_calls_(const egb_os_call* first, const void* site, egb_os_calls* out, bool is_fast);

// The begin of the part of this thread's stack that the program can still need, if its main() has
// returned: between that and `frame`, the frame of a function of the library, are frames of the C
// library and the loader alone. 0: a function of the program has not returned, or nobody knows. It
// reads nothing but the stack, and only if egb_os_calls_() was called on it before.
uintptr_t egb_os_top_after_return_(uintptr_t frame);

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

// Whether the process has written to the page of this address, since it got the page. Shared: it
// has read or written it.
bool egb_os_memory_is_written_(egb_os_memory* memory, uintptr_t address, bool is_shared);

typedef struct egb_os_mapping {
    uintptr_t start;
    uintptr_t end;
    bool      is_data;         // to be read: it is private and writable, or of no file
    bool      is_shared;       // with other processes, or with other mappings of this one
    bool      is_closed;       // nobody may read or write it
    bool      is_first_stack;  // the stack of the thread that the process began with
} egb_os_mapping;

// Calls `visit` with each mapping, in order of address. False: the system does not tell. Only one
// thread at a time makes this call or the next one.
bool egb_os_each_mapping_(void (*visit)(const egb_os_mapping* mapping, void* user), void* user);

typedef void (*egb_os_visit_stack)(uint32_t thread, uintptr_t top, void* user);

// Calls `visit` with the number and the stack pointer of each other thread; 0: the pointer is not
// known, as of a thread that runs. Waits 50 ms at most until none does. False: the system does not
// tell the threads.
bool egb_os_each_stack_(egb_os_visit_stack visit, void* user);

#endif

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_SRC_OS_OS_PROCESS_H

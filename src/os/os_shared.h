// SPDX-License-Identifier: MIT
// Layer os: memory that processes share. A part of os.h, which includes this file.
#ifndef EGGBOX_SRC_OS_OS_SHARED_H
#define EGGBOX_SRC_OS_OS_SHARED_H

#include "os.h"

#if defined(__cplusplus)
extern "C" {
#endif

// False: all below says no, EGB_UNSUPPORTED. A file is a number from 0. A call that makes one
// stores it in `*file` and returns EGB_OK; EGB_STALE: no such file is there; EGB_BUSY: one is;
// EGB_CORRUPT: it is no ordinary file; EGB_NO_MEMORY: refused; EGB_UNSUPPORTED. No program that is
// started inherits one.
bool egb_os_has_shared_(void);

// A new, empty file for `bytes`, all of them allocated, so that no access ever fails for want of
// memory. `path` NULL: memory only, sealed against another length. Else in the folder of `path`,
// without a name, and with these permissions. EGB_NO_MEMORY: no room, and there may be some when
// other files are gone. EGB_UNSUPPORTED. Any other answer: refused for another reason.
egb_status egb_os_shared_make_(int* file, const char* path, unsigned mode, uint64_t bytes);

// Allocates the holes of a file that others made, up to `bytes`: a copy may have some. EGB_OK also
// in a file system that cannot allocate. EGB_NO_MEMORY: no room.
egb_status egb_os_shared_fill_(int file, uint64_t bytes);

// The bytes that a new file in the folder of `path` may have. UINT64_MAX: nobody knows.
uint64_t egb_os_shared_room_(const char* path);

// The pages of a file are whole ones of so many bytes: of this file, of a new one at `path`. 0:
// those of the process.
uint64_t egb_os_shared_page_(int file);
uint64_t egb_os_shared_page_at_(const char* path);

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
    uint64_t device;  // with `number`: which file it is, on this machine
    uint64_t number;
    uint64_t allocated;    // without holes; all bytes where nobody counts
    bool     has_name;     // a path leads to it
    bool     is_writable;  // opened for reading and writing
    bool     is_sealed;    // nobody can make it shorter
} egb_os_shared_file;

// EGB_INVALID: no open file; EGB_CORRUPT: no ordinary one.
egb_status egb_os_shared_look_(int file, egb_os_shared_file* out);

// Copies the first bytes of a file. A map of them would be a signal at a page that another process
// cuts off, and at one that has no memory yet where there is none. False: it has fewer.
bool egb_os_shared_read_(int file, void* to, size_t bytes);

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
// processes. is_locked: whether another opening has one. keep: tells that this opening has the byte
// for long. is_locked_briefly: whether another opening has one that it does not keep.
bool egb_os_shared_lock_(int file, unsigned first, unsigned count);
void egb_os_shared_unlock_(int file, unsigned first, unsigned count);
bool egb_os_shared_is_locked_(int file, unsigned first, unsigned count);
void egb_os_shared_keep_(int file, unsigned byte);
bool egb_os_shared_is_locked_briefly_(int file, unsigned first, unsigned count);

// Waits while the word, which processes share, is `value`, until egb_os_shared_wake_() or the time
// is over. May return sooner.
void egb_os_shared_wait_(void* word, uint32_t value, uint64_t nanoseconds);
void egb_os_shared_wake_(void* word);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_SRC_OS_OS_SHARED_H

// SPDX-License-Identifier: MIT
// Layer os: the program and its libraries in memory, with their call-frame information, for
// posix_walk.c. Nothing here allocates, takes a lock, or waits for another thread.
#ifndef EGGBOX_SRC_OS_POSIX_MODULES_H
#define EGGBOX_SRC_OS_POSIX_MODULES_H

#include "os.h"

#if defined(__linux__) && defined(__GNUC__) && defined(__x86_64__)
  #include <dlfcn.h>

  #include "posix_cfi.h"

  // In C libraries without _dl_find_object() (glibc 2.35) the loader tells of its libraries only
  // under its lock, which the caller may hold already, in another order.
  #ifdef DLFO_STRUCT_HAS_EH_DBASE
    #define EGB_OS_HAS_MODULES 1

typedef struct egb_module {
    uintptr_t      from;
    uintptr_t      to;
    egb_cfi_module information;  // may be empty
} egb_module;

// False: the C library of this process does not tell of its modules. Call it before the others.
bool egb_modules_prepare_(void);

const egb_module* egb_modules_program_(void);
bool              egb_module_is_in_program_(uintptr_t address);

// False: no module has the address.
bool egb_module_find_(uintptr_t address, egb_module* out);

// Notes the libraries that calls of this thread are in. False: there is no room for one.
bool egb_modules_note_(const egb_os_call* calls, size_t count);

// Moves on when other code is noticed in the place of a library. Atomic.
extern uint64_t egb_modules_age_;

  #endif
#endif

#endif  // EGGBOX_SRC_OS_POSIX_MODULES_H

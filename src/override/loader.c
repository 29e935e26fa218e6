// SPDX-License-Identifier: MIT
// Layer override: modules that a program loads while it runs.
#include "next.h"

#include <dlfcn.h>

#if !defined(RTLD_DEEPBIND)
  #define RTLD_DEEPBIND 0  // musl has no such flag
#endif

#define EXPORT __attribute__((visibility("default")))

typedef void* (*dlopen_function)(const char*, int);

EGB_NEXT_(dlopen_function, dlopen)

// With RTLD_DEEPBIND a module's own libraries come first, the C library's malloc is one of them,
// and what the module gets from the program it would free there. PHP loads its extensions and
// Apache its modules like that. The flag therefore goes. A module loses only that its own functions
// are preferred to others of the same names.
//
// It ends in a jump: the loader looks at who called, and searches the caller's folders.
EXPORT void* dlopen(const char* path, int flags)
{
    return next_dlopen()(path, flags & ~RTLD_DEEPBIND);
}

// SPDX-License-Identifier: MIT
// Layer override: the functions that ours stand before.
#include "next.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The linker's names for the first and the last byte of this library. dladdr() would tell whose a
// function is, too, but it walks through all symbols of the C library: 700,000 instructions at the
// start of a process.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool egb_next_is_ours_(const void* function)
{
    const uintptr_t place = (uintptr_t)function;
    return place >= (uintptr_t)__ehdr_start && place < (uintptr_t)_end;
}

#if !defined(__GLIBC__)
// musl's loader asks nobody else, and has no versions.
static void* dlvsym(void* handle, const char* name, const char* version)
{
    (void)version;
    return dlsym(handle, name);
}
#endif

// A library may stand before dlsym() itself. The loader then takes that library for the caller, and
// finds our function behind it. Such libraries do not stand before dlvsym(). These are the versions
// in which the C libraries of all machines have the functions.
static void* look_up(const char* name)
{
    static const char* const versions[] = {
        "GLIBC_2.34",
        "GLIBC_2.17",
        "GLIBC_2.11",
        "GLIBC_2.4",
        "GLIBC_2.2.5",
        "GLIBC_2.2",
        "GLIBC_2.1",
        "GLIBC_2.0"
    };
    void* function = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; egb_next_is_ours_(function) && i < sizeof versions / sizeof versions[0];
         i++) {
        function = dlvsym(RTLD_NEXT, name, versions[i]);
        function = function != NULL ? function : (void*)(uintptr_t)__ehdr_start;  // look on
    }
    return egb_next_is_ours_(function) ? NULL : function;
}

void* egb_next_function_(void** kept, const char* name)
{
    void* function = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = look_up(name);
        __atomic_store_n(kept, function, __ATOMIC_RELAXED);
    }
    return function;
}

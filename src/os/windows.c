// SPDX-License-Identifier: MIT
#include "os.h"

#include <stdlib.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "no_c_library_blocks.h"
#include "no_calls.h"
#include "no_malloc.h"
#include "no_process.h"
#include "no_shared.h"

void egb_os_write_error_(const char* text, size_t bytes)
{
    const DWORD before = GetLastError();
    DWORD       written;
    (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)bytes, &written, NULL);
    SetLastError(before);
}

bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access))
{
    (void)explain;
    return false;
}

uint64_t egb_os_milliseconds_(void)
{
    return GetTickCount64();
}

uint64_t egb_os_nanoseconds_(void)
{
    return egb_os_milliseconds_() * 1000000;
}

uint64_t egb_os_random_(void)
{
    return 0;
}

void egb_os_abort_(void)
{
    abort();
}

void egb_os_prepare_(void) {}

const char* egb_os_variable_(const char* name)
{
    return getenv(name);
}

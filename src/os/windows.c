// SPDX-License-Identifier: MIT
#include "os.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

void egb_os_write_error(const char* text, size_t bytes)
{
    const DWORD before = GetLastError();
    DWORD       written;
    (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)bytes, &written, NULL);
    SetLastError(before);
}

uint64_t egb_os_milliseconds(void)
{
    return GetTickCount64();
}

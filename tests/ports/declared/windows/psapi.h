// SPDX-License-Identifier: MIT
// See windows.h.
#ifndef EGGBOX_TESTS_PORTS_PSAPI_H
#define EGGBOX_TESTS_PORTS_PSAPI_H

#include <windows.h>

typedef union PSAPI_WORKING_SET_EX_BLOCK {
    uintptr_t Flags;
    struct {
        uintptr_t Valid : 1;
        uintptr_t ShareCount : 3;
    };
} PSAPI_WORKING_SET_EX_BLOCK;

typedef struct PSAPI_WORKING_SET_EX_INFORMATION {
    void*                      VirtualAddress;
    PSAPI_WORKING_SET_EX_BLOCK VirtualAttributes;
} PSAPI_WORKING_SET_EX_INFORMATION;

WINIMPORT BOOL WINAPI K32QueryWorkingSetEx(HANDLE process, void* pages, DWORD bytes);
#define QueryWorkingSetEx K32QueryWorkingSetEx

#endif  // EGGBOX_TESTS_PORTS_PSAPI_H

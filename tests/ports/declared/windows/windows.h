// SPDX-License-Identifier: MIT
// The part of Windows' own header that the library and clang_cl.cpp use, declared by us from its
// documentation: the headers of Windows' SDK are in no registry that the tests can use, and those
// of mingw-w64 need GCC, or a clang that says it is GCC.
#ifndef EGGBOX_TESTS_PORTS_WINDOWS_H
#define EGGBOX_TESTS_PORTS_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define WINAPI    __stdcall
#define WINIMPORT __declspec(dllimport)

typedef int            BOOL;
typedef unsigned long  DWORD;
typedef long           LONG;
typedef void*          HANDLE;
typedef struct module* HMODULE;
typedef int64_t(WINAPI* FARPROC)(void);
typedef DWORD(WINAPI* LPTHREAD_START_ROUTINE)(void* argument);
typedef void(WINAPI* PFLS_CALLBACK_FUNCTION)(void* data);

typedef struct SRWLOCK {
    void* word;
} SRWLOCK;

typedef struct CONDITION_VARIABLE {
    void* word;
} CONDITION_VARIABLE;

typedef struct SYSTEM_INFO {
    uint16_t  wProcessorArchitecture;
    uint16_t  wReserved;
    DWORD     dwPageSize;
    void*     lpMinimumApplicationAddress;
    void*     lpMaximumApplicationAddress;
    uintptr_t dwActiveProcessorMask;
    DWORD     dwNumberOfProcessors;
    DWORD     dwProcessorType;
    DWORD     dwAllocationGranularity;
    uint16_t  wProcessorLevel;
    uint16_t  wProcessorRevision;
} SYSTEM_INFO;

#define FLS_OUT_OF_INDEXES                     ((DWORD)0xFFFFFFFF)
#define GET_MODULE_HANDLE_EX_FLAG_PIN          0x1
#define GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS 0x4
#define INFINITE                               0xFFFFFFFF
#define MEM_COMMIT                             0x1000
#define MEM_RESERVE                            0x2000
#define MEM_RELEASE                            0x8000
#define MEM_RESET                              0x80000
#define PAGE_NOACCESS                          0x01
#define PAGE_READWRITE                         0x04
#define STD_ERROR_HANDLE                       ((DWORD) - 12)

WINIMPORT void WINAPI AcquireSRWLockExclusive(SRWLOCK* lock);
WINIMPORT HANDLE WINAPI
CreateThread(void*, size_t stack, LPTHREAD_START_ROUTINE, void* argument, DWORD flags, DWORD* id);
WINIMPORT void WINAPI     ExitProcess(unsigned code);
WINIMPORT DWORD WINAPI    FlsAlloc(PFLS_CALLBACK_FUNCTION callback);
WINIMPORT void* WINAPI    FlsGetValue(DWORD index);
WINIMPORT BOOL WINAPI     FlsSetValue(DWORD index, void* data);
WINIMPORT void WINAPI     FlushProcessWriteBuffers(void);
WINIMPORT HANDLE WINAPI   GetCurrentProcess(void);
WINIMPORT DWORD WINAPI    GetCurrentThreadId(void);
WINIMPORT DWORD WINAPI    GetLastError(void);
WINIMPORT BOOL WINAPI     GetModuleHandleExA(DWORD flags, const char* name, HMODULE* module);
WINIMPORT HMODULE WINAPI  GetModuleHandleW(const wchar_t* name);
WINIMPORT FARPROC WINAPI  GetProcAddress(HMODULE module, const char* name);
WINIMPORT HANDLE WINAPI   GetStdHandle(DWORD handle);
WINIMPORT void WINAPI     GetSystemInfo(SYSTEM_INFO* info);
WINIMPORT uint64_t WINAPI GetTickCount64(void);
WINIMPORT void WINAPI     InitializeSRWLock(SRWLOCK* lock);
WINIMPORT void WINAPI     ReleaseSRWLockExclusive(SRWLOCK* lock);
WINIMPORT void WINAPI     SetLastError(DWORD code);
WINIMPORT void WINAPI     Sleep(DWORD milliseconds);
WINIMPORT BOOL WINAPI     SleepConditionVariableSRW(
        CONDITION_VARIABLE* change, SRWLOCK* lock, DWORD milliseconds, DWORD flags
    );
WINIMPORT unsigned char WINAPI TryAcquireSRWLockExclusive(SRWLOCK* lock);
WINIMPORT void* WINAPI VirtualAlloc(void* address, size_t bytes, DWORD type, DWORD protection);
WINIMPORT BOOL WINAPI  VirtualFree(void* address, size_t bytes, DWORD type);
WINIMPORT BOOL WINAPI  VirtualProtect(void* address, size_t bytes, DWORD now, DWORD* before);
WINIMPORT DWORD WINAPI WaitForSingleObject(HANDLE object, DWORD milliseconds);
WINIMPORT void WINAPI  WakeAllConditionVariable(CONDITION_VARIABLE* change);
WINIMPORT BOOL WINAPI
WriteFile(HANDLE file, const void* bytes, DWORD count, DWORD* written, void* overlapped);

LONG _InterlockedExchange(volatile LONG* target, LONG value);
#define InterlockedExchange _InterlockedExchange

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_WINDOWS_H

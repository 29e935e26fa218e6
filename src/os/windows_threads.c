// SPDX-License-Identifier: MIT
// Threads of Windows: SRW locks, waiting, fiber-local storage for the ends of threads, and fences.
#include "os.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

// ---- locks --------------------------------------------------------------------------------------

// SRWLOCK_INIT is all zero.
EGB_STATIC_ASSERT(sizeof(SRWLOCK) <= sizeof(void*), "a lock fits");

void egb_os_lock_(egb_os_mutex* mutex)
{
    AcquireSRWLockExclusive((SRWLOCK*)(void*)mutex);
}

bool egb_os_try_lock_(egb_os_mutex* mutex)
{
    return TryAcquireSRWLockExclusive((SRWLOCK*)(void*)mutex) != 0;
}

bool egb_os_lock_soon_(egb_os_mutex* mutex, int milliseconds)
{
    bool has = egb_os_try_lock_(mutex);
    for (int look = 0; look < milliseconds && !has; look++) {
        Sleep(1);
        has = egb_os_try_lock_(mutex);
    }
    return has;
}

// All that wait for a word are in one room, with some that wait for another one: each looks at its
// own word when somebody is woken. A room is all zero at first. (WaitOnAddress() is in a library
// that not each program is linked with.)
typedef struct waiting_room {
    SRWLOCK            lock;
    CONDITION_VARIABLE change;
} waiting_room;

enum { WAITING_ROOMS = 32 };

static waiting_room waiting_rooms[WAITING_ROOMS];

static waiting_room* waiting_room_of(const uint32_t* word)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)word * UINT64_C(0x9E3779B97F4A7C15);
    return &waiting_rooms[mixed >> 32 & (WAITING_ROOMS - 1)];
}

void egb_os_wait_(uint32_t* word, uint32_t value, uint32_t milliseconds)
{
    waiting_room* const room   = waiting_room_of(word);
    const DWORD         before = GetLastError();
    AcquireSRWLockExclusive(&room->lock);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == value) {
        const DWORD most = milliseconds == 0 ? INFINITE : milliseconds;
        (void)SleepConditionVariableSRW(&room->change, &room->lock, most, 0);
    }
    ReleaseSRWLockExclusive(&room->lock);
    SetLastError(before);
}

// The word was changed before: whoever has looked at it and sleeps is in the room by now.
void egb_os_wake_(uint32_t* word)
{
    waiting_room* const room = waiting_room_of(word);
    AcquireSRWLockExclusive(&room->lock);
    ReleaseSRWLockExclusive(&room->lock);
    WakeAllConditionVariable(&room->change);
}

size_t egb_os_processors_(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors;
}

uint32_t egb_os_thread_number_(void)
{
    return (uint32_t)GetCurrentThreadId();
}

void egb_os_thread_is_forked_(void) {}

void egb_os_unlock_(egb_os_mutex* mutex)
{
    ReleaseSRWLockExclusive((SRWLOCK*)(void*)mutex);
}

void egb_os_lock_reset_(egb_os_mutex* mutex)
{
    InitializeSRWLock((SRWLOCK*)(void*)mutex);
}

// ---- the end of a thread ------------------------------------------------------------------------

// The system calls back for a fiber-local value that is not NULL when its thread ends, but for a
// value that was set during that call it calls no more: hence the loop.
enum { THREAD_EXIT_CALLS_MAX = 4 };

static void (*thread_exit_function)(void* argument);
static DWORD thread_exit_slot = FLS_OUT_OF_INDEXES;

static void WINAPI on_thread_exit(void* argument)
{
    for (int calls = 0; argument != NULL && calls < THREAD_EXIT_CALLS_MAX; calls++) {
        (void)FlsSetValue(thread_exit_slot, NULL);
        thread_exit_function(argument);
        argument = FlsGetValue(thread_exit_slot);
    }
    (void)FlsSetValue(thread_exit_slot, NULL);
}

// The library can be a part of a DLL. The ends of threads call into it later: the DLL must not be
// unloaded.
static void stay_loaded(void)
{
    HMODULE own;
    (void)GetModuleHandleExA(
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
        (const char*)&thread_exit_slot,
        &own
    );
}

bool egb_os_at_thread_exit_(void (*function)(void* argument))
{
    const DWORD before   = GetLastError();
    thread_exit_function = function;
    stay_loaded();
    thread_exit_slot = FlsAlloc(on_thread_exit);
    SetLastError(before);
    return thread_exit_slot != FLS_OUT_OF_INDEXES;
}

bool egb_os_arm_thread_exit_(void* argument)
{
    if (thread_exit_slot == FLS_OUT_OF_INDEXES) {
        return false;
    }
    const DWORD before = GetLastError();
    const bool  is_set = FlsSetValue(thread_exit_slot, argument) != 0;
    SetLastError(before);
    return is_set;
}

// ---- forks: there are none ----------------------------------------------------------------------

bool egb_os_at_fork_(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return true;
}

// ---- fences -------------------------------------------------------------------------------------

// Wine up to version 8 at least answers FlushProcessWriteBuffers and does nothing, as a test shows;
// it makes itself known by a function of its own.
static bool is_wine(void)
{
    const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll != NULL && GetProcAddress(ntdll, "wine_get_version") != NULL;
}

static volatile LONG can_fence;

bool egb_os_can_fence_threads_(void)
{
    const DWORD before = GetLastError();
    const bool  can    = !is_wine();
    (void)InterlockedExchange(&can_fence, can);
    SetLastError(before);
    return can;
}

bool egb_os_fence_threads_(void)
{
    if (!can_fence) {
        return false;
    }
    FlushProcessWriteBuffers();
    return true;
}

// SPDX-License-Identifier: MIT
// The functions of elr_mtx.h. They are weak: a program's own functions of these names are used.
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
  #define _POSIX_C_SOURCE 200809L  // recursive mutexes
#endif

#include "eggbox/compat/elr_mtx.h"
#include "eggbox/base.h"

#if defined(_WIN32)
  #define WIN32_LEAN_AND_MEAN
  #include <windows.h>
typedef CRITICAL_SECTION elr_system_mutex;
#else
  #include <pthread.h>
typedef pthread_mutex_t elr_system_mutex;
#endif

EGB_STATIC_ASSERT(sizeof(elr_system_mutex) <= sizeof(elr_mtx), "elr_mtx has room for a mutex");
EGB_STATIC_ASSERT(
    EGB_ALIGNOF_(elr_system_mutex) <= EGB_ALIGNOF_(elr_mtx), "elr_mtx is aligned for a mutex"
);

EGB_WEAK elr_counter_t elr_atomic_inc(elr_atomic_t* v)
{
    return __atomic_add_fetch(v, 1, __ATOMIC_SEQ_CST);
}

EGB_WEAK elr_counter_t elr_atomic_dec(elr_atomic_t* v)
{
    return __atomic_sub_fetch(v, 1, __ATOMIC_SEQ_CST);
}

static elr_system_mutex* elr_mutex_in(elr_mtx* mtx)
{
    return (elr_system_mutex*)(void*)mtx;
}

#if defined(_WIN32)

EGB_WEAK int elr_mtx_init(elr_mtx* mtx)
{
    if (mtx == NULL) {
        return 0;
    }
    InitializeCriticalSection(elr_mutex_in(mtx));
    return 1;
}

EGB_WEAK void elr_mtx_lock(elr_mtx* mtx)
{
    EnterCriticalSection(elr_mutex_in(mtx));
}

EGB_WEAK void elr_mtx_unlock(elr_mtx* mtx)
{
    LeaveCriticalSection(elr_mutex_in(mtx));
}

EGB_WEAK void elr_mtx_finalize(elr_mtx* mtx)
{
    DeleteCriticalSection(elr_mutex_in(mtx));
}

#else

EGB_WEAK int elr_mtx_init(elr_mtx* mtx)
{
    pthread_mutexattr_t kind;
    if (mtx == NULL || pthread_mutexattr_init(&kind) != 0) {
        return 0;
    }
    const bool is_made = pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                         pthread_mutex_init(elr_mutex_in(mtx), &kind) == 0;
    (void)pthread_mutexattr_destroy(&kind);
    return is_made;
}

EGB_WEAK void elr_mtx_lock(elr_mtx* mtx)
{
    (void)pthread_mutex_lock(elr_mutex_in(mtx));
}

EGB_WEAK void elr_mtx_unlock(elr_mtx* mtx)
{
    (void)pthread_mutex_unlock(elr_mutex_in(mtx));
}

EGB_WEAK void elr_mtx_finalize(elr_mtx* mtx)
{
    (void)pthread_mutex_destroy(elr_mutex_in(mtx));
}

#endif

// SPDX-License-Identifier: MIT
// Layer faces: a lock that needs neither beginning nor end, for what compat keeps between calls.
#ifndef EGGBOX_COMPAT_LOCK_H
#define EGGBOX_COMPAT_LOCK_H

#include "eggbox/base.h"

#if defined(_WIN32)
  #define WIN32_LEAN_AND_MEAN
  #include <windows.h>

typedef SRWLOCK egb_compat_lock;
  #define EGB_COMPAT_UNLOCKED SRWLOCK_INIT

EGB_INLINE void egb_compat_take(egb_compat_lock* lock)
{
    AcquireSRWLockExclusive(lock);
}

EGB_INLINE void egb_compat_release(egb_compat_lock* lock)
{
    ReleaseSRWLockExclusive(lock);
}
#else
  #include <pthread.h>

typedef pthread_mutex_t egb_compat_lock;
  #define EGB_COMPAT_UNLOCKED PTHREAD_MUTEX_INITIALIZER

EGB_INLINE void egb_compat_take(egb_compat_lock* lock)
{
    (void)pthread_mutex_lock(lock);
}

EGB_INLINE void egb_compat_release(egb_compat_lock* lock)
{
    (void)pthread_mutex_unlock(lock);
}
#endif

#endif  // EGGBOX_COMPAT_LOCK_H

// SPDX-License-Identifier: MIT
// LockGuard.h, each function giving way to the program's own.
#include "eggbox/compat/LockGuard.h"

#include "compat_lock.h"

#include "eggbox/heap.h"

EGB_WEAK LOCK_HANDLE LK_Create(void)
{
    static const egb_compat_lock unlocked = EGB_COMPAT_UNLOCKED;
    egb_compat_lock* const       lock     = egb_malloc(sizeof *lock);
    if (lock != NULL) {
        *lock = unlocked;
    }
    return lock;
}

EGB_WEAK void LK_Destroy(LOCK_HANDLE hLock)
{
    egb_free(hLock);
}

EGB_WEAK void LK_Lock(LOCK_HANDLE hLock)
{
    if (hLock != NULL) {
        egb_compat_take(hLock);
    }
}

EGB_WEAK void LK_Unlock(LOCK_HANDLE hLock)
{
    if (hLock != NULL) {
        egb_compat_release(hLock);
    }
}

// SPDX-License-Identifier: MIT
// The functions of LockGuard.h. They are weak: a program's own functions of these names are used.
#include "eggbox/compat/LockGuard.h"

#include "eggbox/heap.h"
#include "eggbox/lock.h"

EGB_WEAK LOCK_HANDLE LK_Create(void)
{
    return egb_calloc(1, sizeof(egb_lock_));
}

EGB_WEAK void LK_Destroy(LOCK_HANDLE hLock)
{
    egb_free(hLock);
}

EGB_WEAK void LK_Lock(LOCK_HANDLE hLock)
{
    if (hLock != NULL) {
        egb_lock_take_(hLock);
    }
}

EGB_WEAK void LK_Unlock(LOCK_HANDLE hLock)
{
    if (hLock != NULL) {
        egb_lock_give_(hLock);
    }
}

/* SPDX-License-Identifier: MIT */
/* Layer faces: the locks of C_Allocator's port layer, for programs that call them directly. A
 * program's own functions of these names are used in place of these.
 */
#ifndef EGGBOX_COMPAT_LOCKGUARD_H
#define EGGBOX_COMPAT_LOCKGUARD_H

#include "DataTypes.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef void* LOCK_HANDLE;

#define LK_CREATE()   LK_Create()
#define LK_DESTROY(h) LK_Destroy(h)
#define LK_LOCK(h)    LK_Lock(h)
#define LK_UNLOCK(h)  LK_Unlock(h)

/** Makes a lock. NULL: the system refused memory. */
LOCK_HANDLE LK_Create(void);

/** Ends a lock. Misuse: while a thread holds it. NULL: no effect, here and in the calls below. */
void LK_Destroy(LOCK_HANDLE hLock);

/** Waits until no thread holds the lock, and takes it. Misuse: by the thread that holds it. */
void LK_Lock(LOCK_HANDLE hLock);

/** Releases the lock. Misuse: by a thread that does not hold it. */
void LK_Unlock(LOCK_HANDLE hLock);

#if defined(__cplusplus)
}
#endif

#endif /* EGGBOX_COMPAT_LOCKGUARD_H */

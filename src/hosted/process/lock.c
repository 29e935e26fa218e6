// SPDX-License-Identifier: MIT
// The lock of eggbox/lock.h among threads: the system's lock, stored in its bytes.
#include "eggbox/lock.h"

#include "eggbox/atomic_hot.h"

#include "../../os/os.h"

static egb_os_mutex* mutex_of(egb_lock_* lock)
{
    return (egb_os_mutex*)(void*)lock;
}

void egb_lock_take_shared_(egb_lock_* lock)
{
    egb_os_lock_(mutex_of(lock));
}

void egb_lock_give_shared_(egb_lock_* lock)
{
    egb_os_unlock_(mutex_of(lock));
}

static _Thread_local char this_thread;  // its address tells it from others

bool egb_handler_lock_take_(egb_handler_lock_* lock)
{
    if (EGB_LOAD_(lock->owner) == &this_thread) {
        return false;
    }
    egb_lock_take_(&lock->lock);
    EGB_STORE_(lock->owner, &this_thread);
    return true;
}

void egb_handler_lock_give_(egb_handler_lock_* lock)
{
    EGB_STORE_(lock->owner, NULL);
    egb_lock_give_(&lock->lock);
}

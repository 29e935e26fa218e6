// SPDX-License-Identifier: MIT
// The lock of eggbox/lock.h among threads: the system's lock, stored in its bytes.
#include "eggbox/lock.h"

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

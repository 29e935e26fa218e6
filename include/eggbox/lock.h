// SPDX-License-Identifier: MIT
// Layer hosted: the library's lock, for data that its headers keep in objects of the program.
// Everything here is private. A mutex of the C library would be five times as large, and take twice
// as long without contention. <mutex> would bring names such as lock into programs that say
// "using namespace std" and have such names of their own.
#ifndef EGGBOX_LOCK_H
#define EGGBOX_LOCK_H

#include "base.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
  #if __has_include(<sys/single_threaded.h>)
    #include <sys/single_threaded.h>  // glibc, from 2.32 on
    #define EGB_KNOWS_THREADS_ 1
  #endif
#endif

EGB_C_BEGIN_

// All zero is unlocked; nothing to undo at its end. A thread that holds the lock must not take it
// again.
typedef union egb_lock_ {
    void*    all;
    uint32_t word;  // 0: free; 1: held; else threads also wait. Windows has an order of its own
} egb_lock_;

void egb_lock_take_shared_(egb_lock_* lock);
void egb_lock_give_shared_(egb_lock_* lock);

// True if this thread is the only one, for certain.
//
// Then no instruction needs to be atomic: nobody else reads the word, and a signal handler that
// takes the lock gives it back before it returns. The answer holds until this thread itself starts
// another thread. It may do so with the lock held, in a handler of misuse. The word says "held" as
// always, and the new thread waits; the give asks again, and is then an atomic one that wakes the
// waiter. In the opposite case, a lock that was taken among threads and is given back when the
// others have ended, nobody waits.
EGB_INLINE bool egb_is_only_thread_(void)
{
#if defined(EGB_KNOWS_THREADS_)
    return EGB_LIKELY(__libc_single_threaded != 0);
#else
    return false;
#endif
}

// Takes the lock if that needs no call. If no call is made while the lock is held,
// egb_lock_give_alone_() gives it back.
EGB_INLINE bool egb_lock_take_alone_(egb_lock_* lock)
{
    if (egb_is_only_thread_() && EGB_LIKELY(__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0)) {
        __atomic_store_n(&lock->word, 1, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

EGB_INLINE void egb_lock_give_alone_(egb_lock_* lock)
{
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELAXED);
}

EGB_INLINE void egb_lock_take_(egb_lock_* lock)
{
    if (!egb_lock_take_alone_(lock)) {
        egb_lock_take_shared_(lock);
    }
}

EGB_INLINE void egb_lock_give_(egb_lock_* lock)
{
    if (egb_is_only_thread_()) {
        egb_lock_give_alone_(lock);
    } else {
        egb_lock_give_shared_(lock);
    }
}

// A lock that is held in calls that may report misuse. The handler may use the object that reports:
// its thread then goes on without taking the lock again. All zero is unlocked.
typedef struct egb_handler_lock_ {
    egb_lock_   lock;
    const void* owner;  // marks the thread that holds it by the calls below; atomic
} egb_handler_lock_;

// False: this thread holds it already, and must not give it back.
bool egb_handler_lock_take_(egb_handler_lock_* lock);
void egb_handler_lock_give_(egb_handler_lock_* lock);

EGB_C_END_

#if defined(__cplusplus)
EGB_QUIET_BEGIN_

// Holds the lock for its lifetime.
class egb_lock_held_
{
  public:
    explicit egb_lock_held_(egb_lock_& lock) noexcept : lock_(lock)
    {
        egb_lock_take_(&lock_);
    }

    egb_lock_held_(const egb_lock_held_&)            = delete;
    egb_lock_held_& operator=(const egb_lock_held_&) = delete;

    ~egb_lock_held_()
    {
        egb_lock_give_(&lock_);
    }

  private:
    egb_lock_& lock_;
};

class egb_handler_lock_held_
{
  public:
    explicit egb_handler_lock_held_(egb_handler_lock_& lock) noexcept
        : lock_(lock), is_taken_(egb_handler_lock_take_(&lock))
    {
    }

    egb_handler_lock_held_(const egb_handler_lock_held_&)            = delete;
    egb_handler_lock_held_& operator=(const egb_handler_lock_held_&) = delete;

    ~egb_handler_lock_held_()
    {
        if (is_taken_) {
            egb_handler_lock_give_(&lock_);
        }
    }

  private:
    egb_handler_lock_& lock_;
    const bool         is_taken_;
};

EGB_QUIET_END_
#endif

#endif  // EGGBOX_LOCK_H

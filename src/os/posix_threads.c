// SPDX-License-Identifier: MIT
// Threads of a POSIX system: locks, the ends of threads, forks, and fences for other threads.
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#if defined(__linux__)
  #include <sys/syscall.h>
#else
  #include <sched.h>
  #include <stdatomic.h>
#endif

// ---- locks --------------------------------------------------------------------------------------

#if defined(__linux__)

// PTHREAD_MUTEX_INITIALIZER is all zero in every C library of Linux, and a mutex owns nothing.
EGB_STATIC_ASSERT(sizeof(pthread_mutex_t) <= sizeof(egb_os_mutex), "a mutex fits");
EGB_STATIC_ASSERT(_Alignof(pthread_mutex_t) <= _Alignof(egb_os_mutex), "a mutex is aligned");

// Leaves the processor to the other thread of its core, if it has one.
static inline void wait_a_moment(void)
{
  #if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
  #elif defined(__aarch64__)
    __asm__ volatile("yield");
  #endif
}

// Whoever has the lock lets go of it in a fraction of the microseconds that two system calls take,
// to sleep and to be woken: so the first attempts are without them, each after a longer wait.
void egb_os_lock(egb_os_mutex* mutex)
{
    enum { LONGEST_WAIT = 256 };
    pthread_mutex_t* const it = (pthread_mutex_t*)(void*)mutex;
    for (int wait = 1; wait <= LONGEST_WAIT; wait *= 2) {
        if (pthread_mutex_trylock(it) == 0) {
            return;
        }
        for (int i = 0; i < wait; i++) {
            wait_a_moment();
        }
    }
    (void)pthread_mutex_lock(it);
}

void egb_os_unlock(egb_os_mutex* mutex)
{
    (void)pthread_mutex_unlock((pthread_mutex_t*)(void*)mutex);
}

#else

// Elsewhere an all-zero mutex may be an invalid one, or the first lock allocates: so the lock is a
// word of our own, and who waits for it gives way to others.
static atomic_uint* word_of(egb_os_mutex* mutex)
{
    return (atomic_uint*)(void*)mutex;
}

void egb_os_lock(egb_os_mutex* mutex)
{
    while (atomic_exchange_explicit(word_of(mutex), 1, memory_order_acquire) != 0) {
        (void)sched_yield();
    }
}

void egb_os_unlock(egb_os_mutex* mutex)
{
    atomic_store_explicit(word_of(mutex), 0, memory_order_release);
}

#endif

void egb_os_lock_reset(egb_os_mutex* mutex)
{
    *mutex = (egb_os_mutex){{0}};
}

// ---- the end of a thread ------------------------------------------------------------------------

static pthread_key_t thread_exit_key;
static bool          thread_exit_is_named;

bool egb_os_at_thread_exit(void (*function)(void* argument))
{
    const int before     = errno;
    thread_exit_is_named = pthread_key_create(&thread_exit_key, function) == 0;
    errno                = before;
    return thread_exit_is_named;
}

bool egb_os_arm_thread_exit(void* argument)
{
    const int  before = errno;
    const bool is_set = thread_exit_is_named && pthread_setspecific(thread_exit_key, argument) == 0;
    errno             = before;
    return is_set;
}

// ---- forks --------------------------------------------------------------------------------------

bool egb_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    const int  before = errno;
    const bool is_set = pthread_atfork(prepare, parent, child) == 0;
    errno             = before;
    return is_set;
}

// ---- fences -------------------------------------------------------------------------------------

#if defined(__linux__) && defined(SYS_membarrier)

// Commands of membarrier, by their numbers because headers may be older than the kernel.
enum { FENCE_PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static bool call_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

// Registers the process, which is cheap while it has one thread. A second time costs a system call
// and changes nothing; the child of a fork is registered like its parent.
bool egb_os_can_fence_threads(void)
{
    const int  before = errno;
    const bool can    = call_membarrier(REGISTER_PRIVATE_EXPEDITED);
    errno             = before;
    return can;
}

bool egb_os_fence_threads(void)
{
    const int before  = errno;
    bool      is_done = call_membarrier(FENCE_PRIVATE_EXPEDITED);
    errno             = before;
    return is_done;
}

#else

bool egb_os_can_fence_threads(void)
{
    return false;
}

bool egb_os_fence_threads(void)
{
    return false;
}

#endif

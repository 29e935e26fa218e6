// SPDX-License-Identifier: MIT
// Layer override: a thread that gives unused memory of the heap back, once the program has threads
// itself. A program with one thread stays so: the heap bounds the memory that it keeps there.
//
// EGGBOX_PURGE=calls: there is no such thread, and the calls of the program do its work.
//
// The system lets only a process with one thread enter some namespaces. A program whose threads
// have ended is such a process, so this thread ends for it.
//
// The first thread of a process may end before the others, by pthread_exit(). The process then goes
// on until its last thread ends, and that must not be this one.
#include "next.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "eggbox/heap.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

typedef int (*create_function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
typedef int (*c11_function)(void*, int (*)(void*), void*);

EGB_NEXT_(create_function, pthread_create)
EGB_NEXT_(c11_function, thrd_create)

// Not in every C library's headers.
EXPORT int thrd_create(void* thread, int (*start)(void*), void* argument);

enum { STACK_BYTES = 256 << 10 };

static bool is_started;       // atomic: a thread was made, or is not wanted
static bool is_there;         // atomic, as all that follow
static long thread_number;    // 0: not known
static long process_number;   // the same
static bool first_has_ended;  // the first thread of the process, or about to

// Raised when a thread is made, and when it is to end. A thread that could not end in time
// therefore ends later, although there is another one by then.
static uintptr_t turn;

static pthread_t purger;  // while it is there

#if defined(__GLIBC__)

// Held by the thread that made the first other one, as a rule the first of the process, until it
// ends. It is robust: the system marks it then, even if the thread ends by the system call itself.
// A look at it needs no system call, which a sandbox may forbid.
static pthread_mutex_t held_by_first;

// The first call takes the mutex.
static bool is_first_gone(void)
{
    return pthread_mutex_trylock(&held_by_first) == EOWNERDEAD;
}

static bool make_mutex(void)
{
    pthread_mutexattr_t attributes;
    const bool          is_made = pthread_mutexattr_init(&attributes) == 0 &&
                         pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                         pthread_mutex_init(&held_by_first, &attributes) == 0;
    (void)pthread_mutexattr_destroy(&attributes);
    return is_made;
}

#else  // musl tells the system of no such mutex, and loses its way if one is made anew after a fork

static bool is_first_gone(void)
{
    return egb_heap_purge_is_without_first_();
}

static bool make_mutex(void)
{
    return true;
}

#endif

static bool has_first_ended(void)
{
    if (is_first_gone()) {
        __atomic_store_n(&first_has_ended, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&first_has_ended, __ATOMIC_ACQUIRE);
}

static uintptr_t turns_since(const void* own)
{
    return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) - (uintptr_t)own;
}

// A sandbox may forbid system calls that a malloc has no need for.
static void* purge(void* own)
{
    if (!egb_heap_expects_sandbox_()) {
        (void)prctl(PR_SET_NAME, "eggbox-purge", 0, 0, 0);
        if (turns_since(own) < 2) {  // there is no other one
            __atomic_store_n(&thread_number, syscall(SYS_gettid), __ATOMIC_RELEASE);
        }
    }
    while (turns_since(own) == 0 && !has_first_ended()) {
        egb_heap_purge_wait_(egb_heap_purge());
    }
    if (has_first_ended()) {
        egb_heap_purge_ends_();  // the first thread may not have waited so long
    }
    return NULL;
}

// The program's signals are for its own threads.
static void start_purger(void)
{
    pthread_attr_t attributes;
    sigset_t       all, before;
    if (pthread_attr_init(&attributes) != 0) {
        return;
    }
    void* const own = (void*)__atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&thread_number, 0, __ATOMIC_RELAXED);
    __atomic_store_n(
        &process_number, egb_heap_expects_sandbox_() ? 0 : (long)getpid(), __ATOMIC_RELAXED
    );
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_made = next_pthread_create()(&purger, &attributes, purge, own) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_store_n(&is_there, is_made, __ATOMIC_RELEASE);
    if (!is_made) {
        egb_heap_purge_ends_();
    }
    (void)pthread_attr_destroy(&attributes);
}

// Has a value in the thread that made the first other one, as a rule the first of the process. Its
// destructor is called as that thread ends, but not as it returns from main(), which ends the
// process.
static pthread_key_t first_thread;

static void at_first_end(void* value);

static void in_forked_child(void)
{
    __atomic_store_n(&is_started, false, __ATOMIC_RELAXED);
    __atomic_store_n(&is_there, false, __ATOMIC_RELAXED);
    __atomic_store_n(&first_has_ended, false, __ATOMIC_RELAXED);
    (void)make_mutex();
}

static void complain_of_setting(void)
{
    static bool       has_complained;  // atomic
    static const char text[] = "eggbox: EGGBOX_PURGE is not calls; it is ignored\n";
    const int         before = errno;
    if (!__atomic_exchange_n(&has_complained, true, __ATOMIC_RELAXED)) {
        (void)syscall(SYS_write, STDERR_FILENO, text, sizeof text - 1);
    }
    errno = before;
}

static bool is_wanted(void)
{
    static bool       has_asked;
    const char* const setting = secure_getenv("EGGBOX_PURGE");
    if (setting != NULL && strcmp(setting, "calls") == 0) {
        return false;
    }
    if (setting != NULL && setting[0] != '\0') {
        complain_of_setting();
    }
    return has_asked ||
           (has_asked = make_mutex() && pthread_key_create(&first_thread, at_first_end) == 0 &&
                        egb_heap_call_in_children_(in_forked_child));
}

// ---- its end ------------------------------------------------------------------------------------

static struct timespec moment_after(long nanoseconds)
{
    enum { SECOND = 1000000000 };
    struct timespec out;
    (void)clock_gettime(CLOCK_REALTIME, &out);
    out.tv_nsec += nanoseconds;
    out.tv_sec += out.tv_nsec / SECOND;
    out.tv_nsec %= SECOND;
    return out;
}

// A second at most. It may have been about to sleep when it was woken.
static bool joins(pthread_t thread)
{
    enum { WAITS_MAX = 1000, WAIT_NANOSECONDS = 1000000 };
    int status = ETIMEDOUT;
    for (int i = 0; i < WAITS_MAX && status == ETIMEDOUT; i++) {
        egb_heap_purge_wake_();
        const struct timespec until = moment_after(WAIT_NANOSECONDS);
        status                      = pthread_timedjoin_np(thread, NULL, &until);
    }
    return status == 0;
}

// False: there is no thread, or another call ends it. Nothing but the wait for a thread needs the
// system here.
static bool stop_purger(void)
{
    int before;
    if (!__atomic_exchange_n(&is_there, false, __ATOMIC_ACQ_REL)) {
        return false;
    }
    const pthread_t thread = purger;
    (void)__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (!joins(thread)) {
        (void)pthread_detach(thread);
    }
    (void)pthread_setcancelstate(before, NULL);
    return true;
}

// The system counts a thread a moment longer than others wait for it. In a sandbox it is not asked.
static void wait_until_uncounted(void)
{
    enum { NAPS_MAX = 5000 };
    const struct timespec nap    = {.tv_sec = 0, .tv_nsec = 200000};
    const long            number = __atomic_load_n(&thread_number, __ATOMIC_ACQUIRE);
    int                   before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (int i = 0; i < NAPS_MAX && number != 0 && !egb_heap_expects_sandbox_() &&
                    syscall(SYS_tgkill, getpid(), number, 0) == 0;
         i++) {
        (void)nanosleep(&nap, NULL);
    }
    (void)pthread_setcancelstate(before, NULL);
}

// The child of a vfork has its parent's memory, and no thread of ours.
static bool end_purger(void)
{
    const bool is_ours = egb_heap_expects_sandbox_() ||
                         __atomic_load_n(&process_number, __ATOMIC_RELAXED) == (long)getpid();
    if (!is_ours || !stop_purger()) {
        return false;
    }
    wait_until_uncounted();
    return true;
}

// The calls of the threads that are left do the work.
static void at_first_end(void* value)
{
    (void)value;
    __atomic_store_n(&first_has_ended, true, __ATOMIC_RELEASE);
    __atomic_store_n(&is_started, true, __ATOMIC_RELAXED);
    (void)stop_purger();
    egb_heap_purge_ends_();
}

// The number of times, in all, that a call is made anew which the system refuses for one thread too
// many: in a sandbox nothing tells that the system does not count the purger any more.
enum { TRIES_MAX = 20 };

// Before such a call, in a sandbox: 0.4 s in all, because the purger may wait for a processor. The
// wait for a semaphore needs no system call but that for a lock.
static void pause_before(int try)
{
    enum { WITHOUT = 8, NANOSECONDS = 100000 };
    sem_t never;
    int   before;
    if (try < WITHOUT || !egb_heap_expects_sandbox_()) {
        return;
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    (void)sem_init(&never, 0, 0);
    const struct timespec until = moment_after((long)NANOSECONDS << (try - WITHOUT));
    (void)sem_timedwait(&never, &until);
    (void)pthread_setcancelstate(before, NULL);
}

// ---- threads of the program ---------------------------------------------------------------------

// A call that makes a thread. Those of C11 do not come by pthread_create().
typedef struct request {
    void*                 thread;
    const pthread_attr_t* attributes;
    void* (*start)(void*);
    int (*c11_start)(void*);  // NULL: not of C11
    void* argument;
} request;

static int make(const request* one)
{
    return one->c11_start == NULL
               ? next_pthread_create()(one->thread, one->attributes, one->start, one->argument)
               : next_thrd_create()(one->thread, one->c11_start, one->argument);
}

// The library's own thread comes after the first one of the program. Refused, it is not tried
// again: the calls of the program do the work. If the system refuses a thread of the program,
// perhaps because there are as many as may be, the place of this one is free for it. If that was
// not the reason, this one comes back.
static int make_with_purger(const request* one, int refusal)
{
    int status = make(one);
    if (status == refusal && end_purger()) {
        for (int i = 0; i < TRIES_MAX && status == refusal; i++) {
            pause_before(i);
            status = make(one);
        }
        if (status == 0) {
            egb_heap_purge_ends_();
        } else {
            start_purger();
        }
    }
    if (status == 0 && !__atomic_exchange_n(&is_started, true, __ATOMIC_RELAXED) && is_wanted() &&
        pthread_setspecific(first_thread, &is_there) == 0 && !has_first_ended()) {
        start_purger();
    }
    return status;
}

EXPORT int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument
)
{
    const request one = {thread, attributes, start, NULL, argument};
    return make_with_purger(&one, EAGAIN);
}

EXPORT int thrd_create(void* thread, int (*start)(void*), void* argument)
{
    enum { THRD_ERROR = 2 };  // the value of glibc and musl, for EAGAIN
    const request one = {thread, NULL, NULL, start, argument};
    return make_with_purger(&one, THRD_ERROR);
}

// ---- namespaces ---------------------------------------------------------------------------------

// The next thread of the program brings another purger. If the program has threads itself the
// system refuses again, and the purger comes back at once.
static int enter(long call, int first, int second)
{
    const long result = syscall(call, first, second);
    if (result == 0 || (errno != EINVAL && errno != EUSERS) || !end_purger()) {
        return (int)result;
    }
    long again = -1;
    for (int i = 0; i < TRIES_MAX && again != 0; i++) {
        pause_before(i);
        again = syscall(call, first, second);
    }
    if (again == 0) {
        egb_heap_purge_ends_();
        __atomic_store_n(&is_started, false, __ATOMIC_RELAXED);
        return 0;
    }
    const int error = errno;
    start_purger();
    errno = error;
    return (int)again;
}

EXPORT int unshare(int flags)
{
    return enter(SYS_unshare, flags, 0);
}

EXPORT int setns(int file, int kind)
{
    return enter(SYS_setns, file, kind);
}

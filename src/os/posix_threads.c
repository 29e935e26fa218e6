// SPDX-License-Identifier: MIT
// Threads of a POSIX system: locks, the ends of threads, forks, and fences for other threads.
#include "posix_features.h"

#include "os.h"
#include "posix_threads.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <stdatomic.h>

#if defined(__has_include)
  #if __has_include(<sys/single_threaded.h>)
    #include <sys/single_threaded.h>  // glibc, from 2.32 on
    #define EGB_OS_KNOWS_THREADS 1
  #endif
#endif

#if defined(__linux__)
  #include "posix_futex.h"
  #include "posix_loader.h"
  #include <dlfcn.h>
  #include <sys/syscall.h>
#endif

#include "posix_calls.h"

// ---- locks --------------------------------------------------------------------------------------

// A word, as in U. Drepper, "Futexes Are Tricky", 2011, and not a mutex of the C library: that may
// not be all zero at first, cannot be made anew in the child of a fork, and ThreadSanitizer gives
// up on a thread that holds more than 64, as destroy and fork do. os.h describes the word.
enum { LOCK_FREE = 0, LOCK_HELD = 1, LOCK_WAITED_FOR = 2 };

static atomic_uint* word_of(egb_os_mutex* mutex)
{
    return (atomic_uint*)(void*)mutex;
}

#if defined(__linux__)

static void futex(atomic_uint* word, int operation, unsigned value)
{
    const int before = errno;
    (void)syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
    errno = before;
}

static void sleep_on(atomic_uint* word)
{
    futex(word, FUTEX_WAIT_PRIVATE, LOCK_WAITED_FOR);
}

static void wake_one(atomic_uint* word)
{
    futex(word, FUTEX_WAKE_PRIVATE, 1);
}

#else

// Yielding would keep a thread of low priority from the processor, which has the lock.
static void sleep_on(atomic_uint* word)
{
    egb_os_wait_((uint32_t*)(void*)word, LOCK_WAITED_FOR, 0);
}

static void wake_one(atomic_uint* word)
{
    egb_os_wake_((uint32_t*)(void*)word);
}

#endif

#if defined(__linux__) && defined(__GNUC__)

// ThreadSanitizer's; NULL in a program without it.
extern void __tsan_acquire(void* address) __attribute__((weak));
extern void __tsan_release(void* address) __attribute__((weak));

// A program may be built with ThreadSanitizer and this library without: then it sees no lock.
static inline void say_locked(void* lock)
{
    if (__tsan_acquire != NULL) {
        __tsan_acquire(lock);
    }
}

static inline void say_unlocked(void* lock)
{
    if (__tsan_release != NULL) {
        __tsan_release(lock);
    }
}

#else

static inline void say_locked(void* lock)
{
    (void)lock;
}

static inline void say_unlocked(void* lock)
{
    (void)lock;
}

#endif

// Leaves the processor to the other thread of its core, if it has one.
static inline void wait_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool try_to_lock(atomic_uint* word)
{
    unsigned expected = LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(
        word, &expected, LOCK_HELD, memory_order_acquire, memory_order_relaxed
    );
}

// Then nobody else looks at a lock either, so no instruction needs to be atomic: eggbox/lock.h,
// which has the same inline, says why that holds.
bool egb_posix_is_only_thread_(void)
{
#if defined(EGB_OS_KNOWS_THREADS)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

// Whoever has the lock lets go of it in a fraction of the microseconds that two system calls take,
// to sleep and to be woken: so the first attempts are without them. Between them the word is only
// read, which does not take it from the processor that is about to write it.
void egb_os_lock_(egb_os_mutex* mutex)
{
    enum { LOOKS = 400 };
    atomic_uint* const word = word_of(mutex);
    if (egb_posix_is_only_thread_() &&
        atomic_load_explicit(word, memory_order_relaxed) == LOCK_FREE) {
        atomic_store_explicit(word, LOCK_HELD, memory_order_relaxed);
        say_locked(word);
        return;
    }
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load_explicit(word, memory_order_relaxed) == LOCK_FREE && try_to_lock(word)) {
            say_locked(word);
            return;
        }
        wait_a_moment();
    }
    while (atomic_exchange_explicit(word, LOCK_WAITED_FOR, memory_order_acquire) != LOCK_FREE) {
        sleep_on(word);
    }
    say_locked(word);
}

void egb_os_unlock_(egb_os_mutex* mutex)
{
    atomic_uint* const word = word_of(mutex);
    say_unlocked(word);
    if (egb_posix_is_only_thread_()) {
        atomic_store_explicit(word, LOCK_FREE, memory_order_release);
        return;
    }
    if (atomic_exchange_explicit(word, LOCK_FREE, memory_order_release) == LOCK_WAITED_FOR) {
        wake_one(word);
    }
}

bool egb_os_try_lock_(egb_os_mutex* mutex)
{
    atomic_uint* const word   = word_of(mutex);
    const bool         is_our = try_to_lock(word);
    if (is_our) {
        say_locked(word);
    }
    return is_our;
}

#if defined(__linux__)

void egb_os_wait_(uint32_t* word, uint32_t value, uint32_t milliseconds)
{
    const struct timespec limit = {
        (time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000
    };
    const int before = errno;
    (void)syscall(
        SYS_futex, word, FUTEX_WAIT_PRIVATE, value, milliseconds == 0 ? NULL : &limit, NULL, 0
    );
    errno = before;
}

void egb_os_wake_(uint32_t* word)
{
    wake_one((atomic_uint*)(void*)word);
}

void egb_posix_prepare_waits_(void) {}

#else

// All that wait for a word are in one room, with some that wait for another one: each looks at its
// own word when somebody is woken.
typedef struct waiting_room {
    pthread_mutex_t lock;
    pthread_cond_t  change;
} waiting_room;

enum { WAITING_ROOMS = 32 };

static waiting_room   waiting_rooms[WAITING_ROOMS];
static pthread_once_t rooms_are_made = PTHREAD_ONCE_INIT;

static waiting_room* waiting_room_of(const uint32_t* word)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)word * UINT64_C(0x9E3779B97F4A7C15);
    return &waiting_rooms[mixed >> 32 & (WAITING_ROOMS - 1)];
}

static void make_rooms(const pthread_condattr_t* attributes)
{
    for (size_t i = 0; i < WAITING_ROOMS; i++) {
        (void)pthread_mutex_init(&waiting_rooms[i].lock, NULL);
        (void)pthread_cond_init(&waiting_rooms[i].change, attributes);
    }
}

// By a clock that nobody sets, where the system lets us choose.
static void make_all_rooms(void)
{
  #if defined(__APPLE__)
    make_rooms(NULL);
  #else
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    make_rooms(&attributes);
    (void)pthread_condattr_destroy(&attributes);
  #endif
}

void egb_posix_prepare_waits_(void)
{
    (void)pthread_once(&rooms_are_made, make_all_rooms);
}

static void sleep_in_room(waiting_room* room, uint32_t milliseconds)
{
    struct timespec limit = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    if (milliseconds == 0) {
        (void)pthread_cond_wait(&room->change, &room->lock);
        return;
    }
  #if defined(__APPLE__)
    (void)pthread_cond_timedwait_relative_np(&room->change, &room->lock, &limit);
  #else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    limit.tv_sec += now.tv_sec + (now.tv_nsec + limit.tv_nsec) / 1000000000;
    limit.tv_nsec = (now.tv_nsec + limit.tv_nsec) % 1000000000;
    (void)pthread_cond_timedwait(&room->change, &room->lock, &limit);
  #endif
}

// A thread that is cancelled in here would keep the lock of the room for ever. As with a futex, it
// is cancelled later.
static void wait_in_room(waiting_room* room, uint32_t milliseconds)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    sleep_in_room(room, milliseconds);
    (void)pthread_setcancelstate(before, &before);
}

void egb_os_wait_(uint32_t* word, uint32_t value, uint32_t milliseconds)
{
    waiting_room* const room   = waiting_room_of(word);
    const int           before = errno;
    egb_posix_prepare_waits_();
    (void)pthread_mutex_lock(&room->lock);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == value) {
        wait_in_room(room, milliseconds);
    }
    (void)pthread_mutex_unlock(&room->lock);
    errno = before;
}

// The word was changed before: whoever has looked at it and sleeps is in the room by now.
void egb_os_wake_(uint32_t* word)
{
    waiting_room* const room   = waiting_room_of(word);
    const int           before = errno;
    egb_posix_prepare_waits_();
    (void)pthread_mutex_lock(&room->lock);
    (void)pthread_mutex_unlock(&room->lock);
    (void)pthread_cond_broadcast(&room->change);
    errno = before;
}

#endif

void egb_os_lock_reset_(egb_os_mutex* mutex)
{
    atomic_store_explicit(word_of(mutex), LOCK_FREE, memory_order_relaxed);
}

#if defined(__linux__) && defined(SYS_gettid)
// A system call is a tenth of the time of an allocation at level "track".
static __thread uint32_t known_number __attribute__((tls_model("initial-exec")));

uint32_t egb_os_thread_number_(void)
{
    if (known_number == 0) {
        known_number = (uint32_t)syscall(SYS_gettid);
    }
    return known_number;
}

void egb_os_thread_is_forked_(void)
{
    known_number = 0;
}
#else
uint32_t egb_os_thread_number_(void)
{
    return 0;
}

// A thread that is gone may have been in the room.
void egb_os_thread_is_forked_(void)
{
    egb_posix_prepare_waits_();
    make_all_rooms();
}
#endif

#if defined(__linux__)

// As get_nprocs() of the C library, which malloc of glibc calls, too.
EGB_COLD size_t egb_os_processors_(void)
{
    unsigned char mask[1024];
    const int     before = errno;
    const long    bytes  = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    size_t        count  = 0;
    for (long i = 0; i < bytes; i++) {
        count += (size_t)__builtin_popcount(mask[i]);
    }
    errno = before;
    return count == 0 ? 1 : count;
}

#else

EGB_COLD size_t egb_os_processors_(void)
{
    const int  before = errno;
    const long count  = sysconf(_SC_NPROCESSORS_ONLN);
    errno             = before;
    return count < 1 ? 1 : (size_t)count;
}

#endif

// ---- the end of a thread ------------------------------------------------------------------------

EGB_AMONG_DATA_ static pthread_key_t thread_exit_key;
EGB_AMONG_DATA_ static bool          thread_exit_is_named;  // atomic

bool egb_os_at_thread_exit_(void (*function)(void* argument))
{
    const int  before   = errno;
    const bool is_named = pthread_key_create(&thread_exit_key, function) == 0;
    errno               = before;
    __atomic_store_n(&thread_exit_is_named, is_named, __ATOMIC_RELEASE);
    return is_named;
}

bool egb_os_arm_thread_exit_(void* argument)
{
    const int  before = errno;
    const bool is_set = __atomic_load_n(&thread_exit_is_named, __ATOMIC_ACQUIRE) &&
                        pthread_setspecific(thread_exit_key, argument) == 0;
    errno = before;
    return is_set;
}

#if defined(__linux__) && !EGB_IS_MALLOC

  // A static program has no loader.
  #pragma weak dlopen

// The library can be a part of a plugin. The ends of threads, forks and signals call into it later:
// the plugin must not be unloaded. The malloc library says so to the linker. This thread has the
// loader's lock here; another one could wait for that as long as the constructor of a plugin runs.
__attribute__((constructor)) static void stay_loaded(void)
{
    const char* const name = egb_posix_loaded_as_(&thread_exit_key);
    if (dlopen != NULL && name[0] != '\0') {
        (void)dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

#endif

// ---- forks --------------------------------------------------------------------------------------

#if defined(__GLIBC__)

// The function behind pthread_atfork(). When the destructors of a library have run, at exit() as
// well, glibc forgets the functions that carry the handle of that library. Until 2.35 it waits for
// forks that are going on; since then a thread in a fork has its locks taken, and never gives them
// back. NULL is the handle of no library. The library stays loaded, so its functions are there.
extern int
__register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* library)
    __attribute__((weak));

static bool add_fork_calls(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork != NULL ? __register_atfork(prepare, parent, child, NULL) == 0
                                     : pthread_atfork(prepare, parent, child) == 0;
}

#else

static bool add_fork_calls(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(prepare, parent, child) == 0;
}

#endif

#if EGB_IS_MALLOC && defined(__GLIBC__)

// The lock of the list of all streams. A flush of all holds it and may call a function of the
// program, of a stream from fopencookie(), which may allocate. A fork takes it, too, but only after
// the functions that are called before a fork. It is recursive.
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

static bool has_streams;  // under that lock

static void lock_streams(void)
{
    if (!egb_posix_is_only_thread_() && _IO_list_lock != NULL) {
        _IO_list_lock();
        has_streams = true;
    }
}

static void unlock_streams(void)
{
    if (has_streams) {
        has_streams = false;
        _IO_list_unlock();
    }
}

static void reset_streams(void)
{
    if (has_streams) {
        has_streams = false;
        _IO_list_resetlock();
    }
}

// Functions that are set later are called earlier before a fork, and later after it. Those of the
// program are set later: its locks are taken before this one, as by a thread that opens a stream
// while it holds them.
static bool set_around_forks(void)
{
    static bool is_set;
    is_set = is_set || add_fork_calls(lock_streams, unlock_streams, reset_streams);
    return is_set;
}

#else

// The program may have set functions already, and its locks would be taken behind that of the
// streams.
static bool set_around_forks(void)
{
    return true;
}

#endif

bool egb_os_at_fork_(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    const int  before = errno;
    const bool is_set =
        add_fork_calls(prepare, parent, child) && (prepare == NULL || set_around_forks());
    errno = before;
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
bool egb_os_can_fence_threads_(void)
{
    const int  before = errno;
    const bool can    = call_membarrier(REGISTER_PRIVATE_EXPEDITED);
    errno             = before;
    return can;
}

// A thread alone needs none, and some programs forbid themselves the call.
bool egb_os_fence_threads_(void)
{
    if (egb_posix_is_only_thread_()) {
        return true;
    }
    const int before  = errno;
    bool      is_done = call_membarrier(FENCE_PRIVATE_EXPEDITED);
    errno             = before;
    return is_done;
}

#else

bool egb_os_can_fence_threads_(void)
{
    return false;
}

bool egb_os_fence_threads_(void)
{
    return false;
}

#endif

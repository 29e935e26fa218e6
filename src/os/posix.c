// SPDX-License-Identifier: MIT
#include "posix_features.h"

#include "posix_clock.h"
#include "posix_loader.h"
#include "posix_threads.h"
#include "posix_write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
  #include <sys/auxv.h>
  #include <sys/syscall.h>
#endif
#if EGB_IS_MALLOC
  #include <dlfcn.h>
  #if defined(__GLIBC__)
    #include <gnu/lib-names.h>
    #include <link.h>
  #else
    #define LIBC_SO "libc.so"  // musl's loader takes this name for itself, whatever its file is
  #endif
  #include <sys/syscall.h>
#endif

#include "posix_calls.h"

#if defined(CLOCK_MONOTONIC_COARSE)
  #define EGB_CLOCK CLOCK_MONOTONIC_COARSE  // read without asking the kernel, on every machine
#else
  #define EGB_CLOCK CLOCK_MONOTONIC
#endif

// ---- writing ------------------------------------------------------------------------------------

// A pipe that nobody reads raises SIGPIPE, and the limit on the size of files SIGXFSZ. The program
// has not written: such a signal is not for it. Both signals go to the thread that writes, so they
// can wait there until they are taken back. No look at the file beforehand would do: the reader may
// go meanwhile, and others may append to the file.
typedef struct held_signals {
    sigset_t before;   // the mask of the thread
    sigset_t pending;  // those of the program
    bool     is_held;
} held_signals;

// The program may have blocked a signal that it waits for. Any other one cannot be pending, and the
// system is not asked: a sandbox may know one of these calls alone.
static held_signals hold_signals(void)
{
    held_signals out;
    sigset_t     both;
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGPIPE);
    (void)sigaddset(&both, SIGXFSZ);
    (void)sigemptyset(&out.before);
    (void)sigemptyset(&out.pending);
    out.is_held = pthread_sigmask(SIG_BLOCK, &both, &out.before) == 0;
    if (sigismember(&out.before, SIGPIPE) == 1 || sigismember(&out.before, SIGXFSZ) == 1) {
        (void)sigpending(&out.pending);
    }
    return out;
}

static void take_signal(int number)
{
    sigset_t just;
    (void)sigemptyset(&just);
    (void)sigaddset(&just, number);
#if defined(__APPLE__) || defined(__OpenBSD__)  // which have no sigtimedwait()
    sigset_t now;
    int      taken = 0;
    if (sigpending(&now) == 0 && sigismember(&now, number) == 1) {
        (void)sigwait(&just, &taken);
    }
#else
    const struct timespec at_once = {0, 0};
    (void)sigtimedwait(&just, NULL, &at_once);
#endif
}

static void release_signals(const held_signals* held, int error)
{
    const int number = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (!held->is_held) {
        return;
    }
    if (number != 0 && sigismember(&held->pending, number) == 0) {
        take_signal(number);
    }
    (void)pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

int egb_posix_write_(int file, const off_t* place, const char* text, size_t bytes)
{
    const int          before = errno;
    const held_signals held   = hold_signals();
    size_t             done   = 0;
    int                error  = 0;
    while (done < bytes && error == 0) {
        const ssize_t written = place == NULL
                                    ? write(file, text + done, bytes - done)
                                    : pwrite(file, text + done, bytes - done, *place + (off_t)done);
        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0) {
            error = EIO;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    release_signals(&held, error);
    errno = before;
    return error;
}

void egb_os_write_error_(const char* text, size_t bytes)
{
    (void)egb_posix_write_(STDERR_FILENO, NULL, text, bytes);
}

// ---- the loader ---------------------------------------------------------------------------------

#if EGB_IS_MALLOC && defined(__GLIBC__)

EGB_AMONG_DATA_ static bool c_library_has_begun;  // atomic

void egb_os_c_library_has_begun_(void)
{
    __atomic_store_n(&c_library_has_begun, true, __ATOMIC_RELAXED);
}

// The C library's constructor sets the name. A program may empty it later.
bool egb_posix_may_open_(void)
{
    bool has_begun = __atomic_load_n(&c_library_has_begun, __ATOMIC_RELAXED);
    if (!has_begun && program_invocation_name[0] != '\0') {
        egb_os_c_library_has_begun_();
        has_begun = true;
    }
    return has_begun;
}

#else

bool egb_posix_may_open_(void)
{
    return true;
}

void egb_os_c_library_has_begun_(void) {}

#endif

// ---- the C library's own functions --------------------------------------------------------------

#if EGB_IS_MALLOC

static void* find_in_c_library(const char* name)
{
    void* const library = egb_posix_may_open_() ? dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return library == NULL ? NULL : dlsym(library, name);
}

EGB_AMONG_DATA_ static uintptr_t
    break_at_first;  // the start of the memory below the program's break; atomic

static uintptr_t current_break(void)
{
    return (uintptr_t)syscall(SYS_brk, 0);
}

static void find_break(void)
{
    if (__atomic_load_n(&break_at_first, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&break_at_first, current_break(), __ATOMIC_RELAXED);
    }
}

// Its first arena lies below the program's break, where nothing of ours is.
size_t egb_os_c_library_bytes_(void* block)
{
    const uintptr_t first = __atomic_load_n(&break_at_first, __ATOMIC_RELAXED);
    if (first == 0 || (uintptr_t)block < first || (uintptr_t)block >= current_break()) {
        return 0;
    }
    size_t (*usable)(void*);
    *(void**)&usable = find_in_c_library("malloc_usable_size");
    return usable == NULL ? 0 : usable(block);
}

void egb_os_c_library_free_(void* block)
{
    void (*its_free)(void*);
    *(void**)&its_free = find_in_c_library("free");
    if (its_free != NULL) {
        its_free(block);
    }
}

#else

static void find_break(void) {}

  #include "no_c_library_blocks.h"

#endif

// ---- time ---------------------------------------------------------------------------------------

#if EGB_IS_MALLOC

// The C library's clock_gettime(), whichever library stands before it: some callers hold a lock.
// Not the system call, which takes ten times as long, and which sandboxes need not permit.
typedef int clock_function(clockid_t clock, struct timespec* now);

EGB_AMONG_DATA_ static clock_function* c_library_clock;  // atomic

  #if defined(__GLIBC__)

    #if !defined(SYS_clock_gettime)
enum { CLOCK_CALL = SYS_clock_gettime64 };
    #elif defined(SYS_clock_gettime64)
enum { CLOCK_CALL = sizeof(time_t) > sizeof(long) ? SYS_clock_gettime64 : SYS_clock_gettime };
    #else
enum { CLOCK_CALL = SYS_clock_gettime };
    #endif

static int ask_kernel_for_time(clockid_t clock, struct timespec* now)
{
    return (int)syscall(CLOCK_CALL, clock, now);
}

// As long as no library may be opened, the next function of this name is the C library's as a rule.
static clock_function* find_next_clock(void)
{
    clock_function* found;
    void* const     known = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    *(void**)&found       = dlsym(RTLD_NEXT, "clock_gettime");
    return egb_posix_is_one_library_(*(void**)&found, known) ? found : ask_kernel_for_time;
}

  #else

static clock_function* find_next_clock(void)
{
    clock_function* found;
    *(void**)&found = find_in_c_library("clock_gettime");
    return found;
}

  #endif

static void find_clock(void)
{
    __atomic_store_n(&c_library_clock, find_next_clock(), __ATOMIC_RELEASE);
}

void egb_posix_clock_(clockid_t clock, struct timespec* now)
{
    clock_function* const own = __atomic_load_n(&c_library_clock, __ATOMIC_ACQUIRE);
    if (own != NULL) {
        (void)own(clock, now);
    }
}

#else

static void find_clock(void) {}

void egb_posix_clock_(clockid_t clock, struct timespec* now)
{
    (void)clock_gettime(clock, now);
}

#endif

uint64_t egb_os_milliseconds_(void)
{
    struct timespec now    = {0, 0};
    const int       before = errno;
    egb_posix_clock_(EGB_CLOCK, &now);
    errno = before;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// The C library's getrandom() is younger than the system's.
uint64_t egb_os_random_(void)
{
    uint64_t number = 0;
#if defined(SYS_getrandom)
    enum { DO_NOT_WAIT = 1 };
    const int before = errno;
    if (syscall(SYS_getrandom, &number, sizeof number, DO_NOT_WAIT) != (long)sizeof number) {
        number = 0;
    }
    errno = before;
#endif
    return number;
}

void egb_os_abort_(void)
{
    abort();
}

// ---- the environment ----------------------------------------------------------------------------

static bool is_privileged = true;  // until the system was asked; atomic

#if defined(__linux__)
static bool ask_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

// The text behind `name=`; NULL: the entry is of another variable.
static const char* value_in(const char* entry, const char* name)
{
    while (*name != '\0' && *entry == *name) {
        entry++;
        name++;
    }
    return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

// Not by the C library's function: the caller holds a lock.
static const char* find_variable(const char* name)
{
    const char* value = NULL;
    for (char** entry = environ; entry != NULL && *entry != NULL && value == NULL; entry++) {
        value = value_in(*entry, name);
    }
    return value;
}
#else
static bool ask_privileged(void)
{
    return getuid() != geteuid() || getgid() != getegid();
}

static const char* find_variable(const char* name)
{
    return getenv(name);
}
#endif

const char* egb_os_variable_(const char* name)
{
    return __atomic_load_n(&is_privileged, __ATOMIC_RELAXED) ? NULL : find_variable(name);
}

void egb_os_prepare_(void)
{
    const int before = errno;
    __atomic_store_n(&is_privileged, ask_privileged(), __ATOMIC_RELAXED);
    (void)egb_os_page_bytes_();
    find_break();
    find_clock();
    egb_posix_prepare_waits_();
    errno = before;
}

#if EGB_IS_MALLOC
  #include "no_malloc.h"
#else

bool egb_os_has_malloc_(void)
{
    return true;
}

void* egb_os_malloc_(size_t align, size_t bytes)
{
    void* block = NULL;
    if (align <= sizeof(void*)) {
        return malloc(bytes);
    }
    return posix_memalign(&block, align, bytes) == 0 ? block : NULL;
}

void egb_os_free_(void* block)
{
    free(block);
}

#endif

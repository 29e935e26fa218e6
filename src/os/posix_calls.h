// SPDX-License-Identifier: MIT
// The system calls of the library. The last header that a file includes.
//
// Those of a library that is the C library's malloc, on Linux. Another library may stand before the
// C library's functions, and call malloc in its own: if we held a lock meanwhile, that call would
// wait for ever. Such a library therefore asks the kernel itself, under the same names and with the
// same errno. Any other library calls the C library's functions: sanitizers watch them.
//
// No call of the library is a cancellation point, whatever it does: a thread that ended in it would
// leave locks and flags behind, and the end of its process half done. The functions of the C
// library that are such points are therefore called while the thread cannot be cancelled. fcntl()
// is not here: only its commands that wait are such points, and we have none of them.
#ifndef EGGBOX_SRC_OS_POSIX_CALLS_H
#define EGGBOX_SRC_OS_POSIX_CALLS_H

#include "os.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
  #include <dirent.h>
#endif
#if EGB_IS_MALLOC && defined(__linux__)
  #include <errno.h>
  #include <sys/mman.h>
  #include <sys/syscall.h>
#endif

// Others, such as s390x, pass the arguments of mmap in another way.
#if EGB_IS_MALLOC && defined(__linux__) &&                              \
    (defined(__x86_64__) || defined(__aarch64__) || defined(SYS_mmap2))

  #if defined(__x86_64__)

static inline long egb_kernel_(long number, long a, long b, long c, long d, long e, long f)
{
    long          result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8")   = e;
    register long sixth __asm__("r9")   = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

  #elif defined(__aarch64__)

static inline long egb_kernel_(long number, long a, long b, long c, long d, long e, long f)
{
    register long which __asm__("x8")  = number;
    register long result __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2")  = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4")  = e;
    register long sixth __asm__("x5")  = f;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    return result;
}

  #else  // by the C library's general function, which hardly any library stands before

static inline long egb_kernel_(long number, long a, long b, long c, long d, long e, long f)
{
    const long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -(long)errno : result;
}

  #endif

static inline long egb_call_(long number, long a, long b, long c, long d, long e, long f)
{
    enum { ERRORS_MAX = 4095 };
    const long result = egb_kernel_(number, a, b, c, d, e, f);
    if (result < 0 && result >= -ERRORS_MAX) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

  #define EGB_CALL_6_(number, a, b, c, d, e, f, ...)                                              \
      egb_call_((long)(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
  #define syscall(...) EGB_CALL_6_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

  // The offset is 0 in all of ours: in bytes, or in pages.
  #if defined(SYS_mmap2)
    #define mmap(start, bytes, protection, flags, file, offset)                    \
        ((void*)syscall(SYS_mmap2, start, bytes, protection, flags, file, offset))
  #else
    #define mmap(start, bytes, protection, flags, file, offset)                   \
        ((void*)syscall(SYS_mmap, start, bytes, protection, flags, file, offset))
  #endif
  #define munmap(start, bytes)               ((int)syscall(SYS_munmap, start, bytes))
  #define madvise(start, bytes, advice)      ((int)syscall(SYS_madvise, start, bytes, advice))
  #define mprotect(start, bytes, protection) ((int)syscall(SYS_mprotect, start, bytes, protection))
  #define mincore(start, bytes, flags)       ((int)syscall(SYS_mincore, start, bytes, flags))
  #define msync(start, bytes, flags)         ((int)syscall(SYS_msync, start, bytes, flags))

  #define getpid()          ((pid_t)syscall(SYS_getpid))
  #define getppid()         ((pid_t)syscall(SYS_getppid))
  #define kill(pid, number) ((int)syscall(SYS_kill, pid, number))

  #define read(file, to, bytes)    ((ssize_t)syscall(SYS_read, file, to, bytes))
  #define write(file, from, bytes) ((ssize_t)syscall(SYS_write, file, from, bytes))

  // The kernel's sets are shorter than those of the C library, and a time of 0 has one look in all
  // of its forms.
  #if defined(SYS_rt_sigtimedwait)
    #define EGB_SIGTIMEDWAIT_ SYS_rt_sigtimedwait
  #else
    #define EGB_SIGTIMEDWAIT_ SYS_rt_sigtimedwait_time64
  #endif
  #define EGB_SET_BYTES_ (_NSIG / 8)
  #define pthread_sigmask(how, set, before)                                \
      ((int)syscall(SYS_rt_sigprocmask, how, set, before, EGB_SET_BYTES_))
  #define sigpending(set) ((int)syscall(SYS_rt_sigpending, set, EGB_SET_BYTES_))
  #define sigtimedwait(set, about, time)                                  \
      ((int)syscall(EGB_SIGTIMEDWAIT_, set, about, time, EGB_SET_BYTES_))

#endif

// ---- no cancellation point ----------------------------------------------------------------------

#if defined(PTHREAD_CANCEL_DISABLE)

// Returns the state before. Neither call is a cancellation point itself.
static inline int egb_stay_(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void egb_stayed_(int before)
{
    (void)pthread_setcancelstate(before, &before);
}

#else  // threads cannot be cancelled

static inline int egb_stay_(void)
{
    return 0;
}

static inline void egb_stayed_(int before)
{
    (void)before;
}

#endif

// Defines egb_call_NAME_(), which calls the C library's NAME().
#define EGB_STAYING_(type, name, parameters, arguments) \
    static inline type egb_call_##name##_ parameters    \
    {                                                   \
        const int  before = egb_stay_();                \
        type const result = name arguments;             \
        egb_stayed_(before);                            \
        return result;                                  \
    }

EGB_STAYING_(int, open, (const char* path, int flags, mode_t mode), (path, flags, mode))
EGB_STAYING_(int, close, (int file), (file))
EGB_STAYING_(
    ssize_t, pwrite, (int file, const void* from, size_t bytes, off_t at), (file, from, bytes, at)
)
EGB_STAYING_(int, nanosleep, (const struct timespec* time, struct timespec* left), (time, left))

#define open(path, flags, mode)       egb_call_open_(path, flags, mode)
#define close(file)                   egb_call_close_(file)
#define pwrite(file, from, bytes, at) egb_call_pwrite_(file, from, bytes, at)
#define nanosleep(time, left)         egb_call_nanosleep_(time, left)

#if !defined(read)  // else by the kernel, which knows no such points
EGB_STAYING_(ssize_t, read, (int file, void* to, size_t bytes), (file, to, bytes))
EGB_STAYING_(ssize_t, write, (int file, const void* from, size_t bytes), (file, from, bytes))

  #define read(file, to, bytes)    egb_call_read_(file, to, bytes)
  #define write(file, from, bytes) egb_call_write_(file, from, bytes)

  #if defined(__APPLE__) || defined(__OpenBSD__)  // which have no sigtimedwait()
EGB_STAYING_(int, sigwait, (const sigset_t* set, int* number), (set, number))

    #define sigwait(set, number) egb_call_sigwait_(set, number)
  #else
EGB_STAYING_(
    int,
    sigtimedwait,
    (const sigset_t* set, siginfo_t* about, const struct timespec* time),
    (set, about, time)
)

    #define sigtimedwait(set, about, time) egb_call_sigtimedwait_(set, about, time)
  #endif
#endif

#if defined(__linux__)
EGB_STAYING_(ssize_t, pread, (int file, void* to, size_t bytes, off_t at), (file, to, bytes, at))
EGB_STAYING_(int, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes))
EGB_STAYING_(int, posix_fallocate, (int file, off_t at, off_t bytes), (file, at, bytes))
EGB_STAYING_(DIR*, opendir, (const char* path), (path))
EGB_STAYING_(int, closedir, (DIR * folder), (folder))

  #define pread(file, to, bytes, at)       egb_call_pread_(file, to, bytes, at)
  #define fallocate(file, mode, at, bytes) egb_call_fallocate_(file, mode, at, bytes)
  #define posix_fallocate(file, at, bytes) egb_call_posix_fallocate_(file, at, bytes)
  #define opendir(path)                    egb_call_opendir_(path)
  #define closedir(folder)                 egb_call_closedir_(folder)
#endif

#endif  // EGGBOX_SRC_OS_POSIX_CALLS_H

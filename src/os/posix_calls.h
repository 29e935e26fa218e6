// SPDX-License-Identifier: MIT
// The system calls of a library that is the C library's malloc, on Linux. Another library may stand
// before the C library's functions, and call malloc in its own: if we held a lock meanwhile, that
// call would wait for ever. Such a library therefore asks the kernel itself, under the same names
// and with the same errno. Any other library calls the C library's functions: sanitizers watch
// them. The last header that a file includes.
#ifndef EGGBOX_SRC_OS_POSIX_CALLS_H
#define EGGBOX_SRC_OS_POSIX_CALLS_H

#include "os.h"

#if EGB_IS_MALLOC && defined(__linux__)
  #include <errno.h>
  #include <signal.h>
  #include <sys/mman.h>
  #include <sys/syscall.h>
  #include <unistd.h>
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

#endif  // EGGBOX_SRC_OS_POSIX_CALLS_H

// SPDX-License-Identifier: MIT
// Libraries that stand before the C library's functions, one for each value of BEFORE, and allocate
// in their own, as such libraries do. Each finds the next function at its first call, and asks for
// one that is missing before: the loader allocates its words about that.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define CLOCK   1
#define TIME    2
#define FILES   3
#define BYTES   4
#define PAGES   5
#define LOADER  6
#define SETTING 7
#define THREAD  8
#define KEYS    9
#define SYSTEM  10

// A small and a large block, both used.
static void use_blocks(void)
{
    static const size_t sizes[] = {40, 3000, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char* volatile block = malloc(sizes[i]);
        if (block != NULL) {
            memset(block, 1, sizes[i]);
            block = realloc(block, sizes[i] * 2);
        }
        free(block);
    }
}

// Some of the calls that we stand before are made by malloc itself, if it does make them: then not
// again from here.
static __thread int depth __attribute__((tls_model("initial-exec")));

static void allocate(void)
{
    if (depth++ < 2) {
        use_blocks();
    }
    depth--;
}

// The real dlsym(), for a library that stands before it; a version of each machine's.
static void* find(const char* name)
{
#if BEFORE == LOADER
    static const char* const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0"};
    void* (*real)(void*, const char*)   = NULL;
    for (size_t i = 0; real == NULL && i < sizeof versions / sizeof versions[0]; i++) {
        *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    return real(RTLD_NEXT, name);
#else
    (void)dlsym(RTLD_NEXT, "no_such_name");
    return dlsym(RTLD_NEXT, name);
#endif
}

#define NEXT(result, name, ...)         \
    static result (*next)(__VA_ARGS__); \
    allocate();                         \
    if (next == NULL) {                 \
        *(void**)&next = find(#name);   \
    }

#if BEFORE == CLOCK
EXPORT int clock_gettime(clockid_t clock, struct timespec* now)
{
    NEXT(int, clock_gettime, clockid_t, struct timespec*)
    return next(clock, now);
}
#elif BEFORE == TIME
EXPORT int gettimeofday(struct timeval* restrict now, void* restrict zone)
{
    NEXT(int, gettimeofday, struct timeval*, void*)
    return next(now, zone);
}

EXPORT time_t time(time_t* now)
{
    NEXT(time_t, time, time_t*)
    return next(now);
}
#elif BEFORE == FILES
  #define MODE(last, mode)                \
      va_list more;                       \
      va_start(more, last);               \
      const int mode = va_arg(more, int); \
      va_end(more)

EXPORT int open(const char* path, int flags, ...)
{
    MODE(flags, mode);
    NEXT(int, open, const char*, int, int)
    return next(path, flags, mode);
}

EXPORT int openat(int folder, const char* path, int flags, ...)
{
    MODE(flags, mode);
    NEXT(int, openat, int, const char*, int, int)
    return next(folder, path, flags, mode);
}

EXPORT int close(int file)
{
    NEXT(int, close, int)
    return next(file);
}
#elif BEFORE == BYTES
EXPORT ssize_t read(int file, void* to, size_t bytes)
{
    NEXT(ssize_t, read, int, void*, size_t)
    return next(file, to, bytes);
}

EXPORT ssize_t write(int file, const void* from, size_t bytes)
{
    NEXT(ssize_t, write, int, const void*, size_t)
    return next(file, from, bytes);
}
#elif BEFORE == PAGES
EXPORT void* mmap(void* start, size_t bytes, int protection, int flags, int file, off_t offset)
{
    NEXT(void*, mmap, void*, size_t, int, int, int, off_t)
    return next(start, bytes, protection, flags, file, offset);
}

EXPORT int munmap(void* start, size_t bytes)
{
    NEXT(int, munmap, void*, size_t)
    return next(start, bytes);
}

EXPORT int madvise(void* start, size_t bytes, int advice)
{
    NEXT(int, madvise, void*, size_t, int)
    return next(start, bytes, advice);
}

EXPORT int mprotect(void* start, size_t bytes, int protection)
{
    NEXT(int, mprotect, void*, size_t, int)
    return next(start, bytes, protection);
}
#elif BEFORE == LOADER
EXPORT void* dlsym(void* restrict library, const char* restrict name)
{
    static void* (*next)(void*, const char*);
    allocate();
    if (next == NULL) {
        *(void**)&next = find("dlsym");
    }
    return next(library, name);
}
#elif BEFORE == SETTING
EXPORT char* getenv(const char* name)
{
    NEXT(char*, getenv, const char*)
    return next(name);
}

EXPORT char* secure_getenv(const char* name)
{
    NEXT(char*, secure_getenv, const char*)
    return next(name);
}
#elif BEFORE == THREAD
EXPORT int pthread_create(
    pthread_t* restrict thread,
    const pthread_attr_t* restrict how,
    void* (*run)(void*),
    void* restrict user
)
{
    NEXT(int, pthread_create, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)
    return next(thread, how, run, user);
}

EXPORT pid_t fork(void)
{
    NEXT(pid_t, fork, void)
    return next();
}
#elif BEFORE == KEYS
EXPORT int pthread_key_create(pthread_key_t* key, void (*at_end)(void*))
{
    NEXT(int, pthread_key_create, pthread_key_t*, void (*)(void*))
    return next(key, at_end);
}

EXPORT int pthread_setspecific(pthread_key_t key, const void* value)
{
    NEXT(int, pthread_setspecific, pthread_key_t, const void*)
    return next(key, value);
}
#elif BEFORE == SYSTEM
EXPORT long sysconf(int name)
{
    NEXT(long, sysconf, int)
    return next(name);
}

// The first block of a size takes a lock of the heap. The heap asks for the process in the child of
// a fork, where its locks are held at first.
static void use_new_sizes(void)
{
    enum { SIZES = 6, BYTES_MAX = 60000 };
    static size_t bytes = 1;
    for (int i = 0; i < SIZES; i++) {
        void* const block = malloc(bytes);
        bytes             = bytes < BYTES_MAX ? malloc_usable_size(block) + 1 : 1;
        free(block);
    }
}

EXPORT pid_t getpid(void)
{
    NEXT(pid_t, getpid, void)
    use_new_sizes();
    return next();
}

EXPORT pid_t getppid(void)
{
    NEXT(pid_t, getppid, void)
    use_new_sizes();
    return next();
}

EXPORT int sched_yield(void)
{
    NEXT(int, sched_yield, void)
    return next();
}

EXPORT int kill(pid_t process, int number)
{
    NEXT(int, kill, pid_t, int)
    return next(process, number);
}

// On other machines the library makes its system calls by this function, with its locks held.
  #if defined(__x86_64__) || defined(__aarch64__)
EXPORT long syscall(long number, ...)
{
    va_list more;
    long    word[6];
    va_start(more, number);
    for (int i = 0; i < 6; i++) {
        word[i] = va_arg(more, long);
    }
    va_end(more);
    NEXT(long, syscall, long, long, long, long, long, long, long)
    return next(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
  #endif
#endif

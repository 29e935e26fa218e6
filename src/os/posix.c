// SPDX-License-Identifier: MIT
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
  #include <sys/auxv.h>
#endif

#if defined(CLOCK_MONOTONIC_COARSE)
  #define EGB_CLOCK CLOCK_MONOTONIC_COARSE  // read without asking the kernel, on every machine
#else
  #define EGB_CLOCK CLOCK_MONOTONIC
#endif

void egb_os_write_error_(const char* text, size_t bytes)
{
    const int before = errno;
    while (bytes > 0) {
        const ssize_t written = write(STDERR_FILENO, text, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            break;
        }
        text += written;
        bytes -= (size_t)written;
    }
    errno = before;
}

uint64_t egb_os_milliseconds_(void)
{
    struct timespec now    = {0, 0};
    const int       before = errno;
    (void)clock_gettime(EGB_CLOCK, &now);
    errno = before;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void egb_os_abort_(void)
{
    abort();
}

#if defined(__linux__)
static bool is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}
#else
static bool is_privileged(void)
{
    return getuid() != geteuid() || getgid() != getegid();
}
#endif

const char* egb_os_variable_(const char* name)
{
    return is_privileged() ? NULL : getenv(name);
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

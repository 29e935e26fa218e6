// SPDX-License-Identifier: MIT
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#if defined(CLOCK_MONOTONIC_COARSE)
  #define EGB_CLOCK CLOCK_MONOTONIC_COARSE  // read without asking the kernel, on every machine
#else
  #define EGB_CLOCK CLOCK_MONOTONIC
#endif

void egb_os_write_error(const char* text, size_t bytes)
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

uint64_t egb_os_milliseconds(void)
{
    struct timespec now    = {0, 0};
    const int       before = errno;
    (void)clock_gettime(EGB_CLOCK, &now);
    errno = before;
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

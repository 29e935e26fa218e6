// SPDX-License-Identifier: MIT
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <unistd.h>

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

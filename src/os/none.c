// SPDX-License-Identifier: MIT
// A machine without an operating system, or one that we do not know: there is nowhere to write to.
#include "os.h"

void egb_os_write_error(const char* text, size_t bytes)
{
    (void)text;
    (void)bytes;
}

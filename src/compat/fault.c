// SPDX-License-Identifier: MIT
// The FaultHandler() of programs that have none of their own.
#include "eggbox/compat/Fault.h"

#include "fb_private.h"

#include <stdio.h>
#include <stdlib.h>

// A call that cannot be served returns NULL, which must not end a program that expects it.
EGB_WEAK void FaultHandler(const char* file, unsigned short line)
{
    if (file != egb_fb_not_served_) {
        (void)fprintf(stderr, "FaultHandler: %s:%d\n", file, line);
        abort();
    }
}

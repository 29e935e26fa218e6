// SPDX-License-Identifier: MIT
// What a failed ASSERT() of compat/Fault.h does, unless the program has a FaultHandler() itself.
#include "eggbox/compat/Fault.h"

#include "fb_private.h"

#include <stdio.h>
#include <stdlib.h>

// A call that cannot be served is no end of a program that looks at what it gets.
EGB_WEAK void FaultHandler(const char* file, unsigned short line)
{
    if (file != egb_fb_not_served) {
        (void)fprintf(stderr, "FaultHandler: %s:%d\n", file, line);
        abort();
    }
}

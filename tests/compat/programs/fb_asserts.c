/* SPDX-License-Identifier: MIT */
/* A program whose assertion fails: the library's FaultHandler() ends it. It has its own ASSERT. */
#define ASSERT(condition) ASSERT_TRUE(condition)
#include "Fault.h"
#include <signal.h>
#include <stdlib.h>

C_ASSERT(sizeof(INT8) == 1);
C_ASSERT(sizeof(INT32) == 4);

static void on_abort(int signal_number)
{
    (void)signal_number;
    _Exit(0);
}

int main(void)
{
    signal(SIGABRT, on_abort);
    C_ASSERT(sizeof(UINT16) == 2);
    ASSERT(1 == 1);
    ASSERT_TRUE(1 == 2);
    return 1;
}

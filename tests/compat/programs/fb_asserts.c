/* SPDX-License-Identifier: MIT */
/* A program whose assertion fails: the library's FaultHandler() ends it. */
#include "Fault.h"
#include <signal.h>
#include <stdlib.h>

static void on_abort(int signal_number)
{
    (void)signal_number;
    _Exit(0);
}

int main(void)
{
    signal(SIGABRT, on_abort);
    ASSERT_TRUE(1 == 1);
    ASSERT_TRUE(1 == 2);
    return 1;
}

// SPDX-License-Identifier: MIT
// Layer override: programs that are about to forbid themselves system calls. A filter may end the
// program for a call, and the heap reads the limits of its memory from files, now and then. Without
// rights, no filter is set before the program has said that it wants no new ones.
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "eggbox/heap.h"
#pragma GCC visibility pop

// The system call itself: a child of a fork may be here, which must not ask the loader for the next
// function.
__attribute__((visibility("default"))) int prctl(int option, ...)
{
    unsigned long words[4];
    va_list       list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) {
        words[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
        egb_heap_expect_sandbox_();
    }
    return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
}

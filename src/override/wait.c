// SPDX-License-Identifier: MIT
// Layer override: how children end. Only their parent sees it, so `eggbox run` learns it from here.
#include "next.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#pragma GCC visibility push(hidden)
#include "eggbox/live.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

typedef pid_t (*wait4_function)(pid_t, int*, int, struct rusage*);
typedef int (*waitid_function)(idtype_t, id_t, siginfo_t*, int);
typedef int (*system_function)(const char*);
typedef int (*pclose_function)(FILE*);

// The C library's own functions, which are cancellation points. They are looked up at the start,
// because a handler of SIGCHLD may wait, and dlsym() is not for handlers.
EGB_NEXT_(wait4_function, wait4)
EGB_NEXT_(waitid_function, waitid)
EGB_NEXT_(system_function, system)
EGB_NEXT_(pclose_function, pclose)

__attribute__((constructor(101))) static void look_up(void)
{
    (void)next_wait4();
    (void)next_waitid();
    (void)next_system();
    (void)next_pclose();
}

EXPORT pid_t wait4(pid_t which, int* status, int options, struct rusage* used)
{
    int own = 0;
    // The kernel writes it: a place that nobody can write to is its error, not a signal.
    int* const  to    = status != NULL ? status : &own;
    const pid_t ended = next_wait4()(which, to, options, used);
    if (ended > 0 && (WIFEXITED(*to) || WIFSIGNALED(*to))) {
        egb_live_note_wait_((uint32_t)ended, *to);
    }
    return ended;
}

EXPORT pid_t waitpid(pid_t which, int* status, int options)
{
    return wait4(which, status, options, NULL);
}

EXPORT pid_t wait3(int* status, int options, struct rusage* used)
{
    return wait4(-1, status, options, used);
}

EXPORT pid_t wait(int* status)
{
    return wait4(-1, status, 0, NULL);
}

// As wait4() says it.
static int status_of(const siginfo_t* about)
{
    enum { DUMPED = 0x80 };
    switch (about->si_code) {
        case CLD_EXITED: return (about->si_status & 0xFF) << 8;
        case CLD_KILLED: return about->si_status;
        case CLD_DUMPED: return about->si_status | DUMPED;
        default: return -1;  // it goes on
    }
}

EXPORT int waitid(idtype_t kind, id_t which, siginfo_t* about, int options)
{
    siginfo_t        own    = {0};
    siginfo_t* const to     = about != NULL ? about : &own;
    const int        result = next_waitid()(kind, which, to, options);
    if (result == 0 && to->si_pid > 0 && status_of(to) >= 0) {
        egb_live_note_wait_((uint32_t)to->si_pid, status_of(to));
    }
    return result;
}

// ---- children that the C library waits for ------------------------------------------------------

// It does so by a function that nobody can stand before, and keeps the number of the child.
static int noted(int status)
{
    if (status != -1) {
        egb_live_note_unseen_(status);
    }
    return status;
}

EXPORT int system(const char* command)
{
    const int status = next_system()(command);
    return command != NULL ? noted(status) : status;
}

EXPORT int pclose(FILE* pipe)
{
    return noted(next_pclose()(pipe));
}

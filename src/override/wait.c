// SPDX-License-Identifier: MIT
// Layer override: how children end. Only their parent sees it, so `eggbox run` learns it from here.
#include "next.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>

#pragma GCC visibility push(hidden)
#include "eggbox/live.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

typedef pid_t (*wait4_function)(pid_t, int*, int, struct rusage*);
typedef int (*waitid_function)(idtype_t, id_t, siginfo_t*, int);

// The C library's own functions, where a thread can be cancelled. They are looked up at the start,
// because a handler of SIGCHLD may wait, and dlsym() is not for handlers.
static wait4_function find_wait4(void)
{
    static void*   kept;
    wait4_function next;
    *(void**)&next = egb_next_function_(&kept, "wait4");
    return next;
}

static waitid_function find_waitid(void)
{
    static void*    kept;
    waitid_function next;
    *(void**)&next = egb_next_function_(&kept, "waitid");
    return next;
}

__attribute__((constructor(101))) static void find_both(void)
{
    (void)find_wait4();
    (void)find_waitid();
}

EXPORT pid_t wait4(pid_t which, int* status, int options, struct rusage* used)
{
    int         own   = 0;
    const pid_t ended = find_wait4()(which, &own, options, used);
    if (ended > 0 && (WIFEXITED(own) || WIFSIGNALED(own))) {
        egb_live_note_wait_((uint32_t)ended, own);
    }
    if (ended > 0 && status != NULL) {
        *status = own;
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
    const int        result = find_waitid()(kind, which, to, options);
    if (result == 0 && to->si_pid > 0 && status_of(to) >= 0) {
        egb_live_note_wait_((uint32_t)to->si_pid, status_of(to));
    }
    return result;
}

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
typedef FILE* (*popen_function)(const char*, const char*);
typedef int (*pclose_function)(FILE*);

// The C library's own functions, which are cancellation points. They are looked up at the start,
// because a handler of SIGCHLD may wait, and dlsym() is not for handlers.
EGB_NEXT_(wait4_function, wait4)
EGB_NEXT_(waitid_function, waitid)
EGB_NEXT_(system_function, system)
EGB_NEXT_(popen_function, popen)
EGB_NEXT_(pclose_function, pclose)

__attribute__((constructor(101))) static void look_up(void)
{
    (void)next_wait4();
    (void)next_waitid();
    (void)next_system();
    (void)next_popen();
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

EXPORT int system(const char* command)
{
    if (command == NULL) {
        return next_system()(command);
    }
    const uint64_t began_ns = egb_live_now_();
    egb_live_wait_begins_();
    const int status = next_system()(command);
    egb_live_wait_ends_(began_ns, status);
    return status;
}

static struct {
    uint32_t open;
    uint64_t oldest_ns;  // when the first of them began, which may be closed by now
} pipes;

EXPORT FILE* popen(const char* command, const char* mode)
{
    const uint64_t began_ns = egb_live_now_();
    if (__atomic_fetch_add(&pipes.open, 1, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&pipes.oldest_ns, began_ns, __ATOMIC_RELAXED);
    }
    FILE* const pipe = next_popen()(command, mode);
    if (pipe == NULL) {
        (void)__atomic_fetch_sub(&pipes.open, 1, __ATOMIC_RELAXED);
    }
    return pipe;
}

EXPORT int pclose(FILE* pipe)
{
    const uint64_t since_ns = __atomic_load_n(&pipes.oldest_ns, __ATOMIC_RELAXED);
    egb_live_wait_begins_();
    const int status = next_pclose()(pipe);
    egb_live_wait_ends_(since_ns, status);
    (void)__atomic_fetch_sub(&pipes.open, 1, __ATOMIC_RELAXED);
    return status;
}

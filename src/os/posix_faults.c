// SPDX-License-Identifier: MIT
// Accesses that the system does not permit: SIGSEGV, and SIGBUS where that is the same.
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <signal.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__))
  #include <ucontext.h>
#endif

static void (*explain_fault)(const void* address, egb_os_access access);

#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__))
static egb_os_access access_of(const void* context)
{
    enum { IS_WRITE = 2 };  // the processor's own words about a page fault
    const ucontext_t* const now = context;
    return (now->uc_mcontext.gregs[REG_ERR] & IS_WRITE) != 0 ? EGB_OS_WRITE : EGB_OS_READ;
}
#else
static egb_os_access access_of(const void* context)
{
    (void)context;
    return EGB_OS_ACCESS;
}
#endif

// Whether the instruction that is next was not permitted an access. Others are sent: by somebody,
// or by the system, which found no room for another signal's frame.
static bool comes_again(const siginfo_t* info)
{
    return info->si_signo == SIGSEGV ? info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR
                                     : info->si_code > 0;
}

// The access is made once more when this returns, and then ends the program as if we had not been
// here: with the default action, which the system has put back, and the state of its own that a
// core file is to show.
static void on_fault(int signal_number, siginfo_t* info, void* context)
{
    const int before = errno;
    if (comes_again(info)) {
        explain_fault(info->si_addr, access_of(context));
    } else {
        (void)raise(signal_number);
    }
    errno = before;
}

static bool is_ours_to_take(int signal_number)
{
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
           now.sa_handler == SIG_DFL;
}

// Our handler uses the stack for signal handlers, if the program has one: the fault may be that the
// normal stack is full. It serves one signal: its own calls of signal() would be hidden from the
// system by the malloc library, as those of the program are.
static bool set_handler(int signal_number)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
    ours.sa_sigaction     = on_fault;
    return sigemptyset(&ours.sa_mask) == 0 && sigaction(signal_number, &ours, NULL) == 0;
}

bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access))
{
    const int before = errno;
    bool      is_set = is_ours_to_take(SIGSEGV);
    if (is_set) {
        explain_fault = explain;
        is_set        = set_handler(SIGSEGV);
    }
#if defined(__APPLE__)
    if (is_set && is_ours_to_take(SIGBUS)) {
        (void)set_handler(SIGBUS);
    }
#endif
    errno = before;
    return is_set;
}

// SPDX-License-Identifier: MIT
// Layer override: signals that end a process from outside, such as those of a terminal or of kill.
// If a report is wanted, they have a handler that writes it, and then ends the process by the same
// signal. Signals of a crash have no such handler, because the heap may be damaged. SIGSEGV has
// another, if there are guard pages: it tells of the block. The program sees neither handler: the
// functions below show the default action in its place, and put it in the place of the default
// action. A runtime that sets a handler only where there is none, as Rust's does, sets its own.
#include "signals.h"
#include "next.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "eggbox/report.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

typedef void (*handler)(int);
typedef int (*sigaction_function)(int, const struct sigaction*, struct sigaction*);
typedef handler (*signal_function)(int, handler);

// Not in every C library's headers.
EXPORT int     __sigaction(int number, const struct sigaction* wanted, struct sigaction* before);
EXPORT handler bsd_signal(int number, handler wanted);
EXPORT handler ssignal(int number, handler wanted);
EXPORT handler sysv_signal(int number, handler wanted);
EXPORT handler __sysv_signal(int number, handler wanted);
EXPORT handler sigset(int number, handler wanted);

static const int watched[] = {SIGHUP, SIGINT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2};

enum { WATCHED = sizeof watched / sizeof watched[0] };

static bool (*before_the_end)(int number, int milliseconds);  // null: nothing is watched

static struct sigaction own[NSIG];  // the library's, by signal; the default action: it has none

// The action that the program last asked for, where the library's stands in place of the default
// one.
static struct sigaction asked[NSIG];

static bool is_program_there;

void egb_signals_program_begins_(void)
{
    is_program_there = true;
}

// Until then the library alone sets handlers. Later, one of its functions may be a handler of the
// program's, such as _exit().
static void note_own(int number, const struct sigaction* wanted)
{
    if (!is_program_there && wanted != NULL && number > 0 && number < NSIG &&
        egb_next_is_ours_((const void*)(uintptr_t)wanted->sa_handler)) {
        own[number] = *wanted;
    }
}

static bool has_own(int number)
{
    return number > 0 && number < NSIG && own[number].sa_handler != SIG_DFL;
}

static bool is_own(int number, handler which)
{
    return has_own(number) && own[number].sa_handler == which;
}

// The C library's own function. It is looked up at the start, because a handler of the program may
// call sigaction(), and dlsym() is not for handlers.
EGB_NEXT_(sigaction_function, sigaction)

// ---- the handler --------------------------------------------------------------------------------

static int      tries;       // atomic, as the next two
static int      coming;      // the signal that comes again
static uint32_t coming_for;  // the number of its process: a forked child has no such timer

// The program goes on only if the interrupted thread is likely to have the lock itself, that is if
// it was not free for long: a call that the signal ends, such as sleep(), would return. When the
// signal comes again the thread is likely to be in another call with a lock.
static int milliseconds_to_wait(void)
{
    enum { FIRST = 200, LATER = 50 };
    return __atomic_load_n(&tries, __ATOMIC_RELAXED) == 0 ? FIRST : LATER;
}

static void note_coming(int number)
{
    __atomic_store_n(&coming_for, (uint32_t)egb_report_process_(), __ATOMIC_RELAXED);
    __atomic_store_n(&coming, number, __ATOMIC_RELEASE);
}

// The signal again, in a moment: then its thread may have let go of a lock. The moments grow, so
// that the program gets on with a call that has a lock for long. The timer is the system's own
// call, because that of the C library allocates.
static bool comes_again(int number)
{
    enum { TRIES = 100, DOUBLINGS = 4, NANOSECONDS = 1000000 };
    const int               before  = __atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED);
    const int               doubled = before < DOUBLINGS ? before : DOUBLINGS;
    struct sigevent         event   = {.sigev_notify = SIGEV_SIGNAL};
    const struct itimerspec soon    = {.it_value = {.tv_nsec = NANOSECONDS << doubled}};
    int                     timer   = 0;
    event.sigev_signo               = number;
    note_coming(number);
    return before < TRIES && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0 &&
           syscall(SYS_timer_settime, timer, 0, &soon, NULL) == 0;
}

// The child of a vfork has its parent's memory, and leaves the parent's signal alone.
void egb_signals_hurry_(void)
{
    while (egb_report_or_check_is_due_() &&
           __atomic_load_n(&coming_for, __ATOMIC_RELAXED) == (uint32_t)egb_report_process_()) {
        const int number = __atomic_exchange_n(&coming, 0, __ATOMIC_ACQUIRE);
        if (number == 0) {
            return;
        }
        (void)raise(number);
    }
}

// ---- one end of two -----------------------------------------------------------------------------

static egb_signals_end ending;
static bool            is_told;  // atomic: by a report, and the process need not wait any more

static bool claim(egb_signals_end* end)
{
    const uint32_t process = (uint32_t)egb_report_process_();
    if (__atomic_exchange_n(&end->process, process, __ATOMIC_ACQ_REL) == process) {
        return false;
    }
    __atomic_store_n(&end->thread, &errno, __ATOMIC_RELAXED);
    if (end == &ending) {
        __atomic_store_n(&is_told, false, __ATOMIC_RELAXED);
    }
    return true;
}

static bool is_own_thread(const egb_signals_end* end)
{
    return __atomic_load_n(&end->thread, __ATOMIC_RELAXED) == &errno;
}

// Whether another thread ends the process, and its report is not there yet.
static bool must_wait(egb_signals_end* end)
{
    return before_the_end != NULL && !claim(end) && !is_own_thread(end) &&
           !__atomic_load_n(&is_told, __ATOMIC_ACQUIRE);
}

// The end that another thread has begun ends this thread, too, unless something keeps it. It is not
// cancelled meanwhile: its own end would not come.
static void begin(egb_signals_end* end)
{
    enum { TRIES = 10000, NANOSECONDS = 1000000 };
    const struct timespec soon = {.tv_nsec = NANOSECONDS};
    int                   before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (int i = 0; i < TRIES && must_wait(end); i++) {
        (void)nanosleep(&soon, NULL);
    }
    (void)pthread_setcancelstate(before, NULL);
}

bool egb_signals_begin_end_(void)
{
    begin(&ending);
    return before_the_end == NULL || is_own_thread(&ending) ||
           !__atomic_load_n(&is_told, __ATOMIC_ACQUIRE);
}

void egb_signals_begin_exit_(egb_signals_end* calls)
{
    if (egb_report_or_check_is_due_()) {
        begin(calls);
    }
}

void egb_signals_note_told_(void)
{
    __atomic_store_n(&is_told, true, __ATOMIC_RELEASE);
}

void egb_signals_go_on_(void)
{
    if (egb_report_or_check_is_due_()) {
        __atomic_store_n(&is_told, false, __ATOMIC_RELAXED);
        __atomic_store_n(&ending.process, 0, __ATOMIC_RELEASE);
    }
}

// A second signal that comes to another thread meanwhile has nothing to do, nor has one that comes
// while the process ends by itself. Once the report of such an end is there, it ends the process.
// A signal to the child of a vfork ends it, too.
static bool has_nothing_to_do(int number)
{
    if (!egb_report_or_check_is_due_()) {
        return false;
    }
    __atomic_store_n(&coming, 0, __ATOMIC_RELAXED);
    if (!claim(&ending)) {
        return !__atomic_load_n(&is_told, __ATOMIC_ACQUIRE);
    }
    if (before_the_end(number, milliseconds_to_wait())) {
        return false;
    }
    egb_signals_go_on_();  // before it comes again, maybe at once, to another thread
    return comes_again(number);
}

static void end_by(int number)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    const int              error = errno;
    sigset_t               just;
    if (has_nothing_to_do(number)) {
        errno = error;
        return;
    }
    (void)next_sigaction()(number, &usual, NULL);
    (void)raise(number);
    (void)sigemptyset(&just);
    (void)sigaddset(&just, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &just, NULL);
}

// While it runs, its thread gets no other of these signals.
static struct sigaction ours(void)
{
    struct sigaction out = {.sa_handler = end_by, .sa_flags = SA_RESTART};
    (void)sigemptyset(&out.sa_mask);
    for (size_t i = 0; i < WATCHED; i++) {
        (void)sigaddset(&out.sa_mask, watched[i]);
    }
    return out;
}

// The first process of a container is not ended by signals that have the default action.
void egb_signals_watch_(bool (*at_the_end)(int number, int milliseconds))
{
    if (getpid() == 1) {
        return;
    }
    before_the_end = at_the_end;
    for (size_t i = 0; i < WATCHED; i++) {
        struct sigaction now;
        own[watched[i]] = ours();
        if (next_sigaction()(watched[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            (void)next_sigaction()(watched[i], &own[watched[i]], NULL);
        }
    }
}

// ---- what the program sees ----------------------------------------------------------------------

// The library's handler is there, with the flags and the mask that the program asked for: they are
// kept as the system has them, and the handler gets its own. The child of a vfork has its parent's
// memory, and handlers of its own.
static void complete(int number)
{
    struct sigaction now;
    if (next_sigaction()(number, &own[number], &now) == 0 && egb_report_or_check_is_due_()) {
        now.sa_handler = SIG_DFL;
        asked[number]  = now;
    }
}

EXPORT int sigaction(int number, const struct sigaction* wanted, struct sigaction* before)
{
    struct sigaction in_place;
    note_own(number, wanted);
    const bool is_own_back = wanted != NULL && wanted->sa_handler == SIG_DFL && has_own(number);
    if (is_own_back) {
        in_place            = *wanted;
        in_place.sa_handler = own[number].sa_handler;
    }
    const int done = next_sigaction()(number, is_own_back ? &in_place : wanted, before);
    if (done == 0 && before != NULL && is_own(number, before->sa_handler)) {
        *before = asked[number];
    }
    if (done == 0 && is_own_back) {
        complete(number);
    }
    return done;
}

EXPORT int __sigaction(int number, const struct sigaction* wanted, struct sigaction* before)
{
    return sigaction(number, wanted, before);
}

// The older functions, each by its name in the C library, which may change the signal mask, too.
// Those of System V let a handler serve one signal and leave the next one to the default action,
// which then has no handler of ours.
static handler older(signal_function (*next)(void), int number, handler wanted)
{
    const bool    is_own_back = wanted == SIG_DFL && has_own(number);
    const handler before      = next()(number, is_own_back ? own[number].sa_handler : wanted);
    if (is_own_back && before != SIG_ERR) {
        complete(number);
    }
    return is_own(number, before) ? SIG_DFL : before;
}

#define OLDER(name)                                 \
    EGB_NEXT_(signal_function, name)                \
    EXPORT handler name(int number, handler wanted) \
    {                                               \
        return older(next_##name, number, wanted);  \
    }

OLDER(signal)
OLDER(bsd_signal)
OLDER(ssignal)
OLDER(sysv_signal)
OLDER(__sysv_signal)
OLDER(sigset)

__attribute__((constructor(101))) static void look_up(void)
{
    (void)next_sigaction();
    (void)next_signal();
    (void)next_bsd_signal();
    (void)next_ssignal();
    (void)next_sysv_signal();
    (void)next___sysv_signal();
    (void)next_sigset();
}

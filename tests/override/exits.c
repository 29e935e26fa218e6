// SPDX-License-Identifier: MIT
// Ends and forks at moments that a malloc has to bear, because that of the C library does.
//
//     exits forks      exit() while other threads fork: glibc forgets then what a library asked to
//                      be called before and after a fork, also between the two
//     exits raw        the first thread ends by the system call, and so the last one of the
//                      program is not the last of the process
//     exits handler    a signal handler that interrupted an allocation forks
//     exits caught     such a handler calls exit()
//     exits watchdog   exit() waits for a reader of a pipe, and a thread calls _exit(). Needs a
//                      report that must be there once only
//     exits vforks     exit() beside _exit(), while another thread makes children by vfork(): they
//                      have the memory of the process
//     exits twice, exits quick_twice
//                      two threads call exit(), or quick_exit(), at one time
//     exits again      an exit handler calls exit()
//     exits cancelled  a thread that is to be cancelled ends the process: no function that does so
//                      is a cancellation point
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 60, LIVE = 256, MICROSECONDS = 1300 };

static unsigned random_number(void)
{
    static unsigned state = 1;
    state                 = state * 1103515245 + 12345;
    return state >> 8;
}

static void allocate_at_random(void)
{
    static void* blocks[LIVE];
    void** const one = &blocks[random_number() % LIVE];
    free(*one);
    *one = malloc(random_number() % 20000 + 1);
}

static void interrupt_by(void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    const struct itimerval often  = {{0, MICROSECONDS}, {0, MICROSECONDS}};
    (void)sigaction(SIGPROF, &action, NULL);
    (void)setitimer(ITIMER_PROF, &often, NULL);
}

// ---- forks --------------------------------------------------------------------------------------

static atomic_int forks;

static void* fork_on(void* nothing)
{
    for (;;) {
        free(malloc(100));
        const pid_t child = fork();
        if (child == 0) {
            free(malloc(200));
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
        forks++;
    }
    return nothing;
}

static int end_beside_forks(void)
{
    enum { FORKERS = 4, FORKS_MIN = 40 };
    for (int i = 0; i < FORKERS; i++) {
        pthread_t forker;
        if (pthread_create(&forker, NULL, fork_on, NULL) != 0) {
            _exit(2);
        }
    }
    while (forks < FORKS_MIN) {
        (void)usleep(100);
    }
    exit(0);
}

// ---- the other ends -----------------------------------------------------------------------------

static void* work(void* nothing)
{
    for (int i = 0; i < 1000; i++) {
        free(malloc((size_t)i * 10));
    }
    return nothing;
}

static int end_raw(void)
{
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, NULL) != 0) {
        return 2;
    }
    return (int)syscall(SYS_exit, 0);
}

static void fork_in_handler(int number)
{
    (void)number;
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    forks++;
}

static int fork_in_handlers(void)
{
    enum { FORKS = 100 };
    interrupt_by(fork_in_handler);
    while (forks < FORKS) {
        allocate_at_random();
    }
    return 0;
}

static void exit_in_handler(int number)
{
    (void)number;
    exit(0);
}

static int end_in_handler(void)
{
    enum { MANY = 100000000 };
    interrupt_by(exit_in_handler);
    for (int i = 0; i < MANY; i++) {
        allocate_at_random();
    }
    return 2;
}

static int full_pipe(void)
{
    static const char zeros[4096];
    int               ends[2];
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) {
        _exit(2);
    }
    while (write(ends[1], zeros, sizeof zeros) > 0) {
    }
    (void)fcntl(ends[1], F_SETFL, 0);
    return ends[1];
}

static void* end_by_watchdog(void* nothing)
{
    (void)nothing;
    (void)usleep(300000);
    _exit(0);
}

static int end_beside_watchdog(void)
{
    FILE* const stream = fdopen(full_pipe(), "w");
    pthread_t   watchdog;
    (void)alarm(8);  // the wait for the other end would be 10 s
    (void)fputs("text", stream);
    if (pthread_create(&watchdog, NULL, end_by_watchdog, NULL) != 0) {
        return 2;
    }
    exit(0);
}

static void* vfork_on(void* nothing)
{
    for (;;) {
        const pid_t child = vfork();
        if (child == 0) {
            _exit(1);
        }
        (void)waitpid(child, NULL, 0);
    }
    return nothing;
}

static void* end_in_a_moment(void* nothing)
{
    (void)nothing;
    (void)usleep(2000);
    _exit(0);
}

// The report of the process takes a while.
static void make_blocks(void)
{
    enum { BLOCKS = 3000 };
    for (size_t i = 0; i < BLOCKS; i++) {
        if (malloc(100 + i) == NULL) {
            _exit(2);
        }
    }
}

static int end_beside_vforks(void)
{
    pthread_t thread;
    make_blocks();
    if (pthread_create(&thread, NULL, vfork_on, NULL) != 0 ||
        pthread_create(&thread, NULL, end_in_a_moment, NULL) != 0) {
        return 2;
    }
    (void)usleep(2000);
    exit(0);
}

// ---- two ends of one kind -----------------------------------------------------------------------

static void (*end_of_two)(int status);
static atomic_int ready;

static void* end_with_the_other(void* nothing)
{
    ready++;
    while (ready < 2) {
    }
    end_of_two(0);
    return nothing;
}

static void end_twice(void (*end)(int status))
{
    pthread_t other;
    end_of_two = end;
    make_blocks();
    if (pthread_create(&other, NULL, end_with_the_other, NULL) == 0) {
        (void)end_with_the_other(NULL);
    }
    _exit(2);
}

static int exit_twice(void)
{
    end_twice(exit);
    return 2;
}

static int quick_exit_twice(void)
{
    end_twice(quick_exit);
    return 2;
}

static void exit_again(void)
{
    exit(0);
}

static int exit_in_exit(void)
{
    (void)alarm(8);  // the wait for another thread would be 10 s
    (void)atexit(exit_again);
    exit(1);
}

// ---- a thread that is to be cancelled -----------------------------------------------------------

static void by_exit(void)
{
    exit(3);
}

static void by_quick_exit(void)
{
    quick_exit(3);
}

static void by_exit_without_handlers(void)
{
    _exit(3);
}

static void by_exec(void)
{
    (void)execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
}

static void by_signal(void)
{
    (void)raise(SIGTERM);
}

static const struct {
    void (*end)(void);
    int status;
} last_calls[] = {
    {by_exit, 3 << 8},
    {by_quick_exit, 3 << 8},
    {by_exit_without_handlers, 3 << 8},
    {by_exec, 3 << 8},
    {by_signal, SIGTERM},
    {abort, SIGABRT},
};

enum { LAST_CALLS = sizeof last_calls / sizeof last_calls[0] };

static void* end_though_cancelled(void* which)
{
    (void)pthread_cancel(pthread_self());
    last_calls[(size_t)which].end();
    return NULL;
}

static void end_in_thread(size_t which)
{
    const struct rlimit no_core = {0, 0};
    pthread_t           thread;
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (pthread_create(&thread, NULL, end_though_cancelled, (void*)which) == 0) {
        (void)pthread_join(thread, NULL);
    }
    (void)syscall(SYS_exit_group, 2);
}

static int end_cancelled(void)
{
    int good = 0;
    for (size_t which = 0; which < LAST_CALLS; which++) {
        int         status = 0;
        const pid_t child  = fork();
        if (child == 0) {
            end_in_thread(which);
        }
        good += waitpid(child, &status, 0) == child && status == last_calls[which].status ? 1 : 0;
    }
    return good == LAST_CALLS ? 0 : 1;
}

// ---- all ----------------------------------------------------------------------------------------

static const struct {
    const char* name;
    int         rounds;
    int (*end)(void);
} ways[] = {
    {"forks", 40, end_beside_forks},
    {"raw", 3, end_raw},
    {"handler", 1, fork_in_handlers},
    {"caught", 20, end_in_handler},
    {"watchdog", 1, end_beside_watchdog},
    {"vforks", 10, end_beside_vforks},
    {"twice", 10, exit_twice},
    {"quick_twice", 10, quick_exit_twice},
    {"again", 1, exit_in_exit},
    {"cancelled", 1, end_cancelled},
};

// A process that hangs is ended by the signal of its alarm.
static bool ends_well(int (*end)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(SECONDS_MAX);
        exit(end());
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char** words)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (count == 2 && strcmp(words[1], ways[i].name) == 0) {
            int good = 0;
            for (int round = 0; round < ways[i].rounds; round++) {
                good += ends_well(ways[i].end) ? 1 : 0;
            }
            printf("%d of %d processes ended\n", good, ways[i].rounds);
            return good == ways[i].rounds ? 0 : 1;
        }
    }
    return 2;
}

// SPDX-License-Identifier: MIT
// Enters namespaces that the system opens to a process with one thread only, after a thread of its
// own has ended. Says how that went. Or its first thread ends, and it goes on until its last one
// ends.
//
// usage: override_alone user|setns|kept|stopped|ends|child_ends|late|all|refused [c11|private]
//
// c11: its threads are made by thrd_create(). private: it wants no new rights, as before a filter
// of system calls.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static int look_at_threads(int* other)
{
    int        count  = 0;
    DIR* const folder = opendir("/proc/self/task");
    for (const struct dirent* one = NULL; folder != NULL && (one = readdir(folder)) != NULL;) {
        const int number = (int)strtol(one->d_name, NULL, 10);
        count += number != 0;
        *other = number != 0 && number != getpid() ? number : *other;
    }
    (void)closedir(folder);
    return count;
}

static int threads_of_process(void)
{
    int other = 0;
    return look_at_threads(&other);
}

static bool is_c11;
static void* (*c11_start)(void*);

static int start_c11(void* argument)
{
    (void)c11_start(argument);
    return 0;
}

static bool create(pthread_t* thread, void* (*start)(void*), void* argument)
{
    c11_start = start;
    return is_c11 ? thrd_create(thread, start_c11, argument) == thrd_success
                  : pthread_create(thread, NULL, start, argument) == 0;
}

// A thread that ends when a byte comes.
typedef struct own_thread {
    pthread_t thread;
    long      number;
    int       ends[2];
} own_thread;

static void* wait_for_byte(void* its)
{
    own_thread* const own = its;
    char              byte;
    own->number = syscall(SYS_gettid);
    free(malloc(100));
    (void)!read(own->ends[0], &byte, 1);
    return NULL;
}

static void begin(own_thread* own)
{
    if (pipe(own->ends) != 0 || !create(&own->thread, wait_for_byte, own)) {
        exit(2);
    }
}

// The system counts a thread a moment longer than pthread_join() waits for it.
static void end(own_thread* own)
{
    (void)!write(own->ends[1], "", 1);
    (void)pthread_join(own->thread, NULL);
    while (syscall(SYS_tgkill, getpid(), own->number, 0) == 0) {
        (void)sched_yield();
    }
}

static void begin_and_end_a_thread(void)
{
    own_thread own;
    begin(&own);
    end(&own);
}

static void say(bool is_done)
{
    printf("%s\n", is_done ? "entered" : errno == EINVAL ? "has threads" : strerror(errno));
}

static void enter_a_new_one(void)
{
    say(unshare(CLONE_NEWUSER) == 0);
}

// The child makes the namespace, and is there until its parent has entered it.
static void enter_that_of_a_child(void)
{
    char  path[64];
    char  byte;
    int   ready[2];
    pid_t child = -1;
    if (pipe(ready) != 0 || (child = fork()) < 0) {
        exit(2);
    }
    if (child == 0) {
        (void)unshare(CLONE_NEWUSER);
        (void)!write(ready[1], "", 1);
        (void)pause();
    }
    (void)!read(ready[0], &byte, 1);
    (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)child);
    say(setns(open(path, O_RDONLY), CLONE_NEWUSER) == 0);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

// While a thread of its own runs, the answer is no.
static void stay_with_a_thread(bool has_purger)
{
    own_thread own;
    begin(&own);
    enter_a_new_one();
    const bool is_there = threads_of_process() == 3;
    printf("%s\n", is_there == has_purger ? "the same threads" : "other threads");
    end(&own);
    enter_a_new_one();
}

static void hold_thread(int number, int held, int release)
{
    char byte;
    if (ptrace(PTRACE_SEIZE, number, NULL, NULL) != 0) {
        _exit(1);
    }
    (void)ptrace(PTRACE_INTERRUPT, number, NULL, NULL);
    (void)waitpid(number, NULL, __WALL);
    (void)!write(held, "", 1);
    (void)!read(release, &byte, 1);
    (void)ptrace(PTRACE_DETACH, number, NULL, NULL);
    _exit(0);
}

// The library's thread cannot end meanwhile: the answer is no. Once it can, there is one such
// thread, and not a second one beside it.
static void enter_while_it_is_stopped(void)
{
    int  held[2];
    int  release[2];
    int  number = 0;
    char byte;
    if (pipe(held) != 0 || pipe(release) != 0 || look_at_threads(&number) != 2) {
        exit(2);
    }
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)close(release[1]);  // else it would not end with its parent
        hold_thread(number, held[1], release[0]);
    }
    (void)close(held[1]);
    if (read(held[0], &byte, 1) != 1) {
        exit(77);  // such a stop is forbidden here
    }
    enter_a_new_one();
    (void)!write(release[1], "", 1);
    (void)waitpid(child, NULL, 0);
    (void)alarm(30);
    while (threads_of_process() > 2) {
        (void)usleep(1000);
    }
    printf("%d threads\n", threads_of_process());
}

// ---- the first thread ends ----------------------------------------------------------------------

static void* say_and_end(void* first)
{
    (void)pthread_join(*(pthread_t*)first, NULL);
    printf("the last thread ends\n");
    return NULL;
}

static void end_before_another(void)
{
    static pthread_t first;
    pthread_t        last;
    first = pthread_self();
    if (!create(&last, say_and_end, &first)) {
        exit(2);
    }
    pthread_exit(NULL);
}

// The first thread of the child is this one.
static void* fork_and_end(void* unused)
{
    (void)unused;
    const pid_t child = fork();
    if (child == 0) {
        begin_and_end_a_thread();
        return NULL;
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    printf("the child ends: %d\n", status);
    return NULL;
}

static void end_in_a_child(void)
{
    pthread_t thread;
    if (create(&thread, fork_and_end, NULL)) {
        (void)pthread_join(thread, NULL);
    }
}

// exit() flushes the streams last: all functions that libraries registered for its begin have
// returned by then.
static ssize_t fork_in_flush(void* cookie, const char* text, size_t bytes)
{
    int status = -1;
    (void)cookie;
    (void)text;
    const pid_t child = fork();
    if (child == 0) {
        own_thread own;
        begin(&own);
        _exit(threads_of_process());
    }
    (void)waitpid(child, &status, 0);
    (void)dprintf(STDOUT_FILENO, "%d threads\n", WEXITSTATUS(status));
    return (ssize_t)bytes;
}

static void fork_at_exit(void)
{
    const cookie_io_functions_t functions = {.write = fork_in_flush};
    FILE* const                 stream    = fopencookie(NULL, "w", functions);
    if (stream == NULL || fputs("text", stream) < 0) {
        exit(2);
    }
}

// ---- as many threads as may be ------------------------------------------------------------------

static void* stay(void* unused)
{
    (void)pause();
    return unused;
}

// The user is hardly that of another process, and the limit does not bind the superuser.
static void begin_all_threads(void)
{
    const struct rlimit limit = {9, 9};
    int                 count = 0;
    pthread_t           thread;
    if (setuid(100000 + (uid_t)getpid()) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0) {
        printf("not the superuser\n");
        return;
    }
    while (create(&thread, stay, NULL)) {
        count++;
    }
    printf("%d threads\n", count);
    (void)fflush(stdout);
    _exit(0);
}

// No system has so much memory. The refusal has nothing to do with the number of threads.
static void ask_for_a_huge_stack(void)
{
    pthread_attr_t attributes;
    pthread_t      thread;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, (size_t)3 << (sizeof(size_t) * 8 - 2));
    const int status = pthread_create(&thread, &attributes, stay, NULL);
    printf("%s, %d threads\n", strerror(status), threads_of_process());
    (void)pthread_attr_destroy(&attributes);
}

int main(int count, char** words)
{
    const char* const what = count > 1 ? words[1] : "";
    const char* const how  = count > 2 ? words[2] : "";
    is_c11                 = strcmp(how, "c11") == 0;
    if (strcmp(how, "private") == 0) {
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    begin_and_end_a_thread();
    if (strcmp(what, "kept") == 0) {
        stay_with_a_thread(threads_of_process() == 2);
    } else if (strcmp(what, "setns") == 0) {
        enter_that_of_a_child();
    } else if (strcmp(what, "stopped") == 0) {
        enter_while_it_is_stopped();
    } else if (strcmp(what, "ends") == 0) {
        end_before_another();
    } else if (strcmp(what, "child_ends") == 0) {
        end_in_a_child();
    } else if (strcmp(what, "late") == 0) {
        fork_at_exit();
    } else if (strcmp(what, "all") == 0) {
        begin_all_threads();
    } else if (strcmp(what, "refused") == 0) {
        ask_for_a_huge_stack();
    } else {
        enter_a_new_one();
    }
    begin_and_end_a_thread();
    return 0;
}

// SPDX-License-Identifier: MIT
// Layer override: the beginning and the ends of a process. Its report is written if EGGBOX_REPORT
// names a folder: at exit, and before the calls that end a program without its exit handlers. A
// signal that ends it, and the C library's own abort() in assert() and its kin, leave none: the
// program could notice a handler in their way.
//
// The child of a vfork has its parent's memory, so nothing is written for it: it is told by its
// number, which is not the one that the memory knows.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/report.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

// Not in every C library's headers.
EXPORT int execveat(
    int folder_file, const char* path, char* const arguments[], char* const environment[], int flags
);

static char folder[4096];  // empty: no report. A copy, because a program may change its environment
static pid_t owner;

static void write_report(void)
{
    if (folder[0] != '\0' && getpid() == owner) {
        (void)egb_report_write(folder);
    }
}

static void in_forked_child(void)
{
    owner = getpid();
    egb_report_restart();
}

// Before the constructors of all other libraries, by the linker's option initfirst. The first
// request gets the limited resources of the C library that the heap needs, before anybody else can
// take them. Its calls around a fork come first, so that the calls of others, and ours, find the
// heap's locks free.
__attribute__((constructor(101))) static void
begin(int argument_count, char** arguments, char** environment)
{
    (void)argument_count;
    (void)arguments;
    if (environ == NULL) {  // the C library begins later; it sets the same
        environ = environment;
    }
    egb_free(egb_malloc(1));
    const char* const wanted = secure_getenv("EGGBOX_REPORT");
    if (wanted == NULL || strlen(wanted) >= sizeof folder) {
        return;
    }
    if (pthread_atfork(NULL, NULL, in_forked_child) == 0) {
        egb_report_restart();  // that block was not the program's
        egb_heap_measure(true);
        owner = getpid();
        strcpy(folder, wanted);
        (void)at_quick_exit(write_report);
    }
}

static void leave_to_the_report(const egb_misuse_event* event, void* user)
{
    (void)event;
    (void)user;
}

// Damage that no call has come across yet is found now. The program has ended well so far, and does
// so in spite of it. If no report could be written, a lock may be held for good.
__attribute__((destructor)) static void end(void)
{
    if (folder[0] == '\0' || getpid() != owner || egb_report_write(folder) != EGB_OK) {
        return;
    }
    egb_misuse_set_handler(leave_to_the_report, NULL);
    if (egb_process_check() != 0) {
        write_report();
    }
    egb_misuse_set_handler(NULL, NULL);
}

// ---- ends without exit handlers -----------------------------------------------------------------

EXPORT void _exit(int status)
{
    write_report();
    for (;;) {
        (void)syscall(SYS_exit_group, status);
    }
}

EXPORT void _Exit(int status)
{
    _exit(status);
}

// As the C library does it, so a handler of the program's is called, and may not return.
EXPORT void abort(void)
{
    sigset_t just;
    write_report();
    (void)sigemptyset(&just);
    (void)sigaddset(&just, SIGABRT);
    (void)pthread_sigmask(SIG_UNBLOCK, &just, NULL);
    (void)raise(SIGABRT);
    (void)signal(SIGABRT, SIG_DFL);
    (void)raise(SIGABRT);
    for (;;) {
        (void)syscall(SYS_exit_group, 127);
    }
}

// ---- exec: if it fails the process goes on, and writes its report once more in place of this one

EXPORT int execve(const char* path, char* const arguments[], char* const environment[])
{
    write_report();
    return (int)syscall(SYS_execve, path, arguments, environment);
}

EXPORT int execveat(
    int folder_file, const char* path, char* const arguments[], char* const environment[], int flags
)
{
    write_report();
    return (int)syscall(SYS_execveat, folder_file, path, arguments, environment, flags);
}

EXPORT int fexecve(int file, char* const arguments[], char* const environment[])
{
    int (*next)(int, char* const[], char* const[]);
    *(void**)&next = dlsym(RTLD_NEXT, "fexecve");
    write_report();
    return next(file, arguments, environment);
}

// The C library's search does not come by here again.
EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[])
{
    int (*next)(const char*, char* const[], char* const[]);
    *(void**)&next = dlsym(RTLD_NEXT, "execvpe");
    write_report();
    return next(file, arguments, environment);
}

EXPORT int execv(const char* path, char* const arguments[])
{
    return execve(path, arguments, environ);
}

EXPORT int execvp(const char* file, char* const arguments[])
{
    return execvpe(file, arguments, environ);
}

// The same with the words as arguments. They are put in order on the stack: the child of a vfork
// has no other memory of its own.
static size_t count_words(const char* first, va_list* more)
{
    size_t count = 0;
    for (const char* word = first; word != NULL; word = va_arg(*more, const char*)) {
        count++;
    }
    return count;
}

static void take_words(char** words, const char* first, va_list* more)
{
    *words = (char*)first;
    while (*words != NULL) {
        *++words = va_arg(*more, char*);
    }
}

// Their place, and, in `more`, the text that follows them.
#define WORDS(words, first, more)                                                    \
    va_start(more, first);                                                           \
    char** const words =                                                             \
        (char**)__builtin_alloca((count_words(first, &(more)) + 1) * sizeof(char*)); \
    va_end(more);                                                                    \
    va_start(more, first);                                                           \
    take_words(words, first, &(more))

EXPORT int execl(const char* path, const char* first, ...)
{
    va_list more;
    WORDS(words, first, more);
    va_end(more);
    return execve(path, words, environ);
}

EXPORT int execlp(const char* file, const char* first, ...)
{
    va_list more;
    WORDS(words, first, more);
    va_end(more);
    return execvpe(file, words, environ);
}

EXPORT int execle(const char* path, const char* first, ...)
{
    va_list more;
    WORDS(words, first, more);
    char* const* const environment = va_arg(more, char* const*);
    va_end(more);
    return execve(path, words, environment);
}

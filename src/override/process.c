// SPDX-License-Identifier: MIT
// Layer override: the beginning and the ends of a process. Its report is written if EGGBOX_REPORT
// names a folder: at exit, before the calls that end a program without its exit handlers, and
// before a signal from outside ends it. A crash leaves none, nor does the C library's own abort(),
// as in assert(). A mark from the beginning tells of such a process. At exit and before such calls,
// those of exec excepted, damage is looked for, too.
//
// The child of a vfork has its parent's memory, so its end does nothing. The number of the process
// shows such a child: it is not the number that the memory has.
#include "signals.h"

#include "next.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/live.h"
#include "eggbox/report.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

// The frame of such a function holds the registers of the program.
#define NEVER_INLINED __attribute__((noinline))

// Not in every C library's headers.
EXPORT int execveat(
    int folder_file, const char* path, char* const arguments[], char* const environment[], int flags
);

// In a handler, which comes again. False: a lock is held.
NEVER_INLINED static bool try_report(int signal, int milliseconds)
{
    return egb_report_try_end_(EGB_REPORT_FRAME_(), signal, milliseconds) != EGB_BUSY;
}

NEVER_INLINED static void write_report(int signal)
{
    (void)egb_report_end_(EGB_REPORT_FRAME_(), signal);
}

static void leave_to_the_report(const egb_misuse_event* event, void* user)
{
    (void)event;
    (void)user;
}

static bool is_looking;  // atomic: a thread looks for damage, or ends the process because of it

// Whether a report tells of all damage that is found now.
NEVER_INLINED static bool leave_damage_to_the_report(int signal)
{
    egb_misuse_set_handler(leave_to_the_report, NULL);
    const bool is_told =
        egb_process_check_at_end_() == 0 || egb_report_end_(EGB_REPORT_FRAME_(), signal) == EGB_OK;
    egb_misuse_set_handler(NULL, NULL);
    return is_told;
}

// Damage that no call has come across yet is found now. A report tells of it, and the program ends
// as it wanted to in spite of it. Without a report, or if it cannot be written once more, the
// misuse handler is told as ever: it calls abort(), which comes by here once more.
static void look(egb_status written, int signal)
{
    if (written == EGB_BUSY || __atomic_exchange_n(&is_looking, true, __ATOMIC_ACQUIRE)) {
        return;
    }
    if (written != EGB_OK || !leave_damage_to_the_report(signal)) {
        (void)egb_process_check_at_end_();
    }
    __atomic_store_n(&is_looking, false, __ATOMIC_RELEASE);
}

NEVER_INLINED static void report_and_look(int signal)
{
    if (!egb_report_or_check_is_due_() || !egb_signals_begin_end_()) {
        return;
    }
    look(egb_report_end_(EGB_REPORT_FRAME_(), signal), signal);
    egb_signals_note_told_();
}

__attribute__((destructor)) static void end(void)
{
    report_and_look(0);
}

// Before the constructors of all other libraries, by the linker's option initfirst. The heap gets
// the limited resources of the C library that it needs, before anybody else can take them. Its
// calls around a fork come first, so that the calls of others, and ours, find the heap's locks
// free.
__attribute__((constructor(101))) static void
begin(int argument_count, char** arguments, char** environment)
{
    (void)argument_count;
    (void)arguments;
    if (environ == NULL) {  // the C library begins later; it sets the same
        environ = environment;
    }
    egb_heap_begin_();
    egb_signals_program_begins_();
    (void)at_quick_exit(end);
    egb_live_begin_();
    if (egb_report_begin_()) {
        egb_signals_watch_(try_report);
    }
}

#if defined(__GLIBC__)

// Libraries can be opened from now on. Hardly a program has threads yet, or a filter of system
// calls, or another root. The parameters depend on the processor: they are at most seven words.
typedef int start_function(void*, void*, void*, void*, void*, void*, void*);
EGB_NEXT_(start_function*, __libc_start_main)

EXPORT int
__libc_start_main(void* a, void* b, void* c, void* d, void* e, void* f, void* g);  // in no header

EXPORT int __libc_start_main(void* a, void* b, void* c, void* d, void* e, void* f, void* g)
{
    egb_heap_main_begins_();
    return next___libc_start_main()(a, b, c, d, e, f, g);
}

#endif

// ---- ends with exit handlers --------------------------------------------------------------------

typedef void (*exit_function)(int status);

// Looked up at the start, because a signal handler may call them.
EGB_NEXT_(exit_function, exit)
EGB_NEXT_(exit_function, quick_exit)

EXPORT void exit(int status)
{
    static egb_signals_end calls;
    egb_signals_begin_exit_(&calls);
    next_exit()(status);
    __builtin_unreachable();
}

EXPORT void quick_exit(int status)
{
    static egb_signals_end calls;
    egb_signals_begin_exit_(&calls);
    next_quick_exit()(status);
    __builtin_unreachable();
}

__attribute__((constructor(101))) static void look_up(void)
{
    (void)next_exit();
    (void)next_quick_exit();
}

// ---- ends without exit handlers -----------------------------------------------------------------

// The child of a vfork may end by no other call than these. In a sandbox it is not known as such:
// it would look for damage in its parent's memory.
static bool may_be_child_of_vfork(void)
{
    return egb_report_process_() == 0 && egb_heap_expects_sandbox_();
}

EXPORT void _exit(int status)
{
    if (!may_be_child_of_vfork()) {
        report_and_look(0);
    }
    for (;;) {
        (void)syscall(SYS_exit_group, status);
    }
}

EXPORT void _Exit(int status)
{
    _exit(status);
}

static bool has_handler(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
           now.sa_handler != SIG_IGN;
}

// The program's own handler may not return, and the program may go on.
static void raise_for_handler(int number)
{
    egb_report_go_on_();
    egb_signals_go_on_();
    (void)raise(number);
    write_report(number);
}

// As the C library does it, so a handler of the program's is called.
NEVER_INLINED _Noreturn static void abort_now(void)
{
    sigset_t just;
    (void)sigemptyset(&just);
    (void)sigaddset(&just, SIGABRT);
    (void)pthread_sigmask(SIG_UNBLOCK, &just, NULL);
    if (has_handler(SIGABRT)) {
        raise_for_handler(SIGABRT);
    }
    (void)signal(SIGABRT, SIG_DFL);
    (void)raise(SIGABRT);
    for (;;) {
        (void)syscall(SYS_exit_group, 127);
    }
}

// It has no variable: there would be words on the stack, above the frame that the report begins at,
// that calls before have left.
EXPORT void abort(void)
{
    report_and_look(SIGABRT);
    abort_now();
}

// ---- exec: if it fails the process goes on, and writes its report once more in place of this one

static void begin_exec(void)
{
    write_report(0);
    egb_signals_hurry_();
}

static int go_on(int result)
{
    egb_report_go_on_();
    return result;
}

EXPORT int execve(const char* path, char* const arguments[], char* const environment[])
{
    begin_exec();
    return go_on((int)syscall(SYS_execve, path, arguments, environment));
}

EXPORT int execveat(
    int folder_file, const char* path, char* const arguments[], char* const environment[], int flags
)
{
    begin_exec();
    return go_on((int)syscall(SYS_execveat, folder_file, path, arguments, environment, flags));
}

typedef int (*fexecve_function)(int, char* const[], char* const[]);
typedef int (*execvpe_function)(const char*, char* const[], char* const[]);

EGB_NEXT_(fexecve_function, fexecve)
EGB_NEXT_(execvpe_function, execvpe)

EXPORT int fexecve(int file, char* const arguments[], char* const environment[])
{
    begin_exec();
    return go_on(next_fexecve()(file, arguments, environment));
}

// The C library's search does not come by here again.
EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[])
{
    begin_exec();
    return go_on(next_execvpe()(file, arguments, environment));
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

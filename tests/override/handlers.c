// SPDX-License-Identifier: MIT
// Prints the handlers of signals that a program finds, and the data that its own handlers get. The
// program knows nothing of eggbox: its output must be the same without it.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*handler)(int);
typedef handler (*setter)(int, handler);
typedef int (*action_setter)(int, const struct sigaction*, struct sigaction*);

static const int         numbers[] = {SIGSEGV, SIGBUS, SIGTERM, SIGUSR1};
static const char* const setters[] = {
    "signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigset"
};

enum {
    NUMBERS     = sizeof numbers / sizeof numbers[0],
    SETTERS     = sizeof setters / sizeof setters[0],
    LARGE_BYTES = 100000,
};

static void* function(const char* name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void own(int number)
{
    (void)number;
}

static const char* name_of(handler which)
{
    return which == SIG_DFL    ? "default"
           : which == SIG_IGN  ? "ignore"
           : which == own      ? "own"
           : which == SIG_HOLD ? "hold"
           : which == SIG_ERR  ? "error"
                               : "another";
}

// The C library leaves the bytes of a set alone that stand for no signal.
static void print(const char* name, int number, const struct sigaction* one)
{
    const char* const its = name_of(one->sa_handler);
    printf("%s %d: %s, flags %x, mask", name, number, its, (unsigned)one->sa_flags);
    for (int masked = 1; masked <= SIGRTMAX; masked++) {
        if (sigismember(&one->sa_mask, masked) == 1) {
            printf(" %d", masked);
        }
    }
    printf("\n");
}

static void show(const char* name, int number)
{
    struct sigaction now;
    action_setter    ask;
    *(void**)&ask = function(name);
    if (ask != NULL && ask(number, NULL, &now) == 0) {
        print(name, number, &now);
    }
}

static void show_all(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        show("sigaction", numbers[i]);
        show("__sigaction", numbers[i]);
    }
}

// To the program's own, to none, and back to the default action, which ours may stand for.
static void set_by(const char* name)
{
    static const handler to[] = {own, SIG_DFL, SIG_IGN, SIG_DFL, SIG_DFL};
    setter               set;
    *(void**)&set = function(name);
    for (size_t i = 0; i < NUMBERS && set != NULL; i++) {
        for (size_t k = 0; k < sizeof to / sizeof to[0]; k++) {
            printf("%s %d: %s before\n", name, numbers[i], name_of(set(numbers[i], to[k])));
            show("sigaction", numbers[i]);
        }
    }
}

// The default action has flags and a mask, too. No mask has SIGKILL.
static void set_default(int number, unsigned flags, int masked)
{
    struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = (int)flags};
    struct sigaction before;
    (void)sigemptyset(&usual.sa_mask);
    (void)sigaddset(&usual.sa_mask, masked);
    (void)sigaddset(&usual.sa_mask, SIGKILL);
    (void)sigaction(number, &usual, &before);
    print("before", number, &before);
    show("sigaction", number);
    (void)sigaction(number, &before, &usual);
    print("then", number, &usual);
    show("sigaction", number);
}

// sigset() lets the signal through again.
static void hold(int number)
{
    sigset_t now;
    setter   set;
    *(void**)&set = function("sigset");
    (void)sigemptyset(&now);
    (void)sigaddset(&now, number);
    (void)sigprocmask(SIG_BLOCK, &now, NULL);
    const handler before = set != NULL ? set(number, SIG_DFL) : SIG_ERR;
    (void)sigprocmask(SIG_BLOCK, NULL, &now);
    printf("held %d: %s before, %d\n", number, name_of(before), sigismember(&now, number));
}

static void views(void)
{
    show_all();
    for (size_t i = 0; i < NUMBERS; i++) {
        hold(numbers[i]);
        set_default(numbers[i], SA_RESTART | SA_ONSTACK, SIGQUIT);
        set_default(numbers[i], (unsigned)SA_RESETHAND, SIGHUP);
    }
    for (size_t i = 0; i < SETTERS; i++) {
        set_by(setters[i]);
        set_default(SIGTERM, SA_NODEFER, SIGALRM);
    }
    show_all();
}

// ---- ends ---------------------------------------------------------------------------------------

static void touch_nothing(void)
{
    volatile int* volatile nowhere = NULL;
    *nowhere                       = 1;
}

static void raise_it(void)
{
    (void)raise(SIGSEGV);
}

static void send_it(void)
{
    (void)kill(getpid(), SIGSEGV);
}

// A handler that lets the fault come again, as those that write a message do.
static void once(int number)
{
    (void)!write(1, "once\n", 5);
    (void)signal(number, SIG_DFL);
}

static void handle_once(void)
{
    (void)signal(SIGSEGV, once);
    touch_nothing();
}

static void ignored(void)
{
    (void)signal(SIGSEGV, SIG_IGN);
    raise_it();
    touch_nothing();
}

// The runtime of Rust sets its handler only where it sees no other.
static void on_overflow(int number)
{
    (void)number;
    (void)!write(1, "stack overflow\n", 15);
    abort();
}

static size_t fill_stack(size_t depth)
{
    volatile unsigned char frame[4096];
    frame[depth % sizeof frame] = (unsigned char)depth;
    return depth == 0 ? 0 : fill_stack(depth + 1) + frame[1];
}

static void overflow(void)
{
    static char      second[1 << 16];
    const stack_t    stack = {.ss_sp = second, .ss_size = sizeof second};
    struct sigaction ours  = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    struct sigaction now;
    if (sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, NULL, &now) == 0 &&
        now.sa_handler == SIG_DFL) {
        (void)sigaction(SIGSEGV, &ours, NULL);
    }
    printf("%zu\n", fill_stack(1));
}

static void ends(void)
{
    static void (*const all[])(void
    ) = {touch_nothing, raise_it, send_it, handle_once, ignored, overflow};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int status = 0;
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            free(malloc(LARGE_BYTES));
            all[i]();
            _exit(3);
        }
        (void)waitpid(child, &status, 0);
        printf(
            "end %zu: %s %d\n",
            i,
            WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)
        );
    }
}

// ---- a fault that the library tells of ----------------------------------------------------------

static void use_freed(void)
{
    char* volatile block = malloc(LARGE_BYTES);
    free(block);
    block[3] = 1;
}

static void use_freed_after(const char* name)
{
    setter set;
    *(void**)&set = function(name);
    if (set != NULL) {
        (void)set(SIGSEGV, own);
        (void)set(SIGSEGV, SIG_DFL);
        use_freed();
    }
}

int main(int argc, char** argv)
{
    const struct rlimit no_core = {0, 0};
    const char* const   what    = argc > 1 ? argv[1] : "";
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (strcmp(what, "views") == 0) {
        views();
    } else if (strcmp(what, "ends") == 0) {
        ends();
    } else if (strcmp(what, "use_freed") == 0) {
        use_freed();
    } else {
        use_freed_after(what);
    }
    return 0;
}

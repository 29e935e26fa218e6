// SPDX-License-Identifier: MIT
// A program that uses malloc and ends in the way that its argument names.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_malloc(void)
{
    for (int i = 0; i < 1000; i++) {
        free(malloc(50));
    }
}

__attribute__((noinline)) static void lose(void)
{
    static void* volatile lost;
    lost = malloc(5000);
    lost = NULL;
}

static void free_twice(void)
{
    void* const block = malloc(50);
    free(block);
    free(block);
}

// Beyond the end of a block that is never freed.
static void overrun(void)
{
    static char* volatile kept;
    kept     = malloc(40);
    kept[40] = 1;
}

static void misuse(const char* how)
{
    if (strcmp(how, "refused") == 0) {
        free_twice();
    } else if (strcmp(how, "keep") == 0) {
        lose();
    } else if (strcmp(how, "overrun") == 0) {
        overrun();
    }
}

static void end_at_once(int status)
{
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

static void as_nobody(void)
{
    if (setgid(65534) != 0 || setuid(65534) != 0) {
        end_at_once(99);
    }
    use_malloc();
    lose();
    exit(0);
}

// As a daemon does it, which cannot open a file any more.
static void under_another_root(const char* root)
{
    if (chroot(root) != 0 || chdir("/") != 0) {
        end_at_once(99);
    }
    use_malloc();
    lose();
    exit(0);
}

// As a worker that keeps read, write and the end alone: whatever else it calls ends it.
static void in_a_sandbox(void)
{
    static struct sock_filter allowed[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof allowed / sizeof *allowed, allowed};
    syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    use_malloc();
    end_at_once(0);
}

static void close_all(void)
{
    for (int file = 3; file < 1024; file++) {
        close(file);
    }
}

// As a daemon and a careful parent do it.
static void without_descriptors(const char* program)
{
    static char last[] = "raw";
    close_all();
    if (fork() == 0) {
        use_malloc();
        raise(SIGKILL);
    }
    wait(NULL);
    execl(program, program, last, NULL);
}

// A program that runs as another user, without the right to look at processes of the first one.
static void start_as_nobody(const char* program)
{
    if (setgid(65534) == 0 && setuid(65534) == 0) {
        execl(program, program, "raw", NULL);
    }
    end_at_once(99);
}

static void in_child(const char* how, const char* word)
{
    const pid_t child = fork();
    if (child == 0) {
        use_malloc();
        if (strcmp(how, "child-killed") == 0) {
            raise(SIGKILL);
        } else if (strcmp(how, "child-ended") == 0) {
            raise(SIGTERM);
        } else if (strcmp(how, "child-nobody") == 0) {
            as_nobody();
        } else if (strcmp(how, "child-nobody-closed") == 0) {
            close_all();
            as_nobody();
        } else if (strcmp(how, "child-root") == 0) {
            under_another_root(word);
        } else if (strcmp(how, "child-sandbox") == 0) {
            in_a_sandbox();
        } else if (strcmp(how, "child-closed") == 0) {
            without_descriptors(word);
        } else if (strcmp(how, "child-started") == 0) {
            start_as_nobody(word);
        }
        end_at_once(0);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

// A server: 100 blocks that nothing leads to any more, and 10 that it still uses.
static void leave_as_a_shell(int number)
{
    exit(128 + number);
}

__attribute__((noinline)) static void be_a_server(void (*at_the_end)(int))
{
    static void* volatile used[10];
    for (int i = 0; i < 110; i++) {
        used[i % 10] = malloc(1000);
    }
    signal(SIGTERM, at_the_end);
    puts("serving");
    fflush(stdout);
    for (;;) {
        pause();
    }
}

// ---- what a program sees of its signals ---------------------------------------------------------

static int served;

static void serve(int number)
{
    served += number == SIGTERM;
}

static void require(int truth, const char* what)
{
    if (!truth) {
        printf("wrong: %s\n", what);
    }
}

static void see_the_default_action(void)
{
    const struct sigaction own = {.sa_handler = serve, .sa_flags = SA_RESTART};
    struct sigaction       was;
    sigset_t               all;
    int                    number = 0;
    sigaction(SIGTERM, NULL, &was);
    require(was.sa_handler == SIG_DFL && was.sa_flags == 0, "the action at the start");
    require(sigismember(&was.sa_mask, SIGINT) == 0, "the mask at the start");
    require(sigaction(SIGTERM, &own, &was) == 0 && was.sa_handler == SIG_DFL, "the action before");
    raise(SIGTERM);
    require(served == 1, "its own handler");
    sigaction(SIGTERM, NULL, &was);
    require(was.sa_handler == serve && (was.sa_flags & SA_RESTART) != 0, "its own action");
    require(signal(SIGTERM, SIG_DFL) == serve, "the action that signal() replaces");
    require(signal(SIGTERM, serve) == SIG_DFL, "the action that signal() has set");
    require(sigset(SIGTERM, SIG_DFL) == serve && sigset(SIGTERM, SIG_IGN) == SIG_DFL, "sigset()");
    raise(SIGTERM);
    require(served == 1, "it is ignored");
    require(sysv_signal(SIGTERM, serve) == SIG_IGN, "the action that sysv_signal() replaces");
    raise(SIGTERM);
    sigaction(SIGTERM, NULL, &was);
    require(served == 2 && was.sa_handler == SIG_DFL, "a handler for one signal");
    sigaction(SIGHUP, NULL, &was);
    require(was.sa_handler == SIG_IGN, "what its parent ignores");
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    raise(SIGINT);
    require(sigwait(&all, &number) == 0 && number == SIGINT, "sigwait()");
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    require(signal(SIGTERM, SIG_DFL) == SIG_DFL, "the end");
    raise(SIGTERM);
}

static sigjmp_buf before_abort;

static void leave_abort(int number)
{
    (void)number;
    siglongjmp(before_abort, 1);
}

// As the handlers of crashes do it.
static void raise_again(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void* wait_for_ever(void* nothing)
{
    for (;;) {
        pause();
    }
    return nothing;
}

static void end_threads(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, wait_for_ever, NULL);
    }
    for (int i = 0; i < 3; i++) {
        pthread_kill(threads[i], SIGTERM);
    }
    wait_for_ever(NULL);
}

static pthread_barrier_t both;

static void* raise_at_once(void* nothing)
{
    pthread_barrier_wait(&both);
    raise(SIGTERM);
    return nothing;
}

// A signal ends the process in one thread while another one ends it by itself.
static void end_twice(void)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, raise_at_once, NULL);
    pthread_barrier_wait(&both);
    exit(3);
}

// The child of a vfork has the memory of its parent, whose report is not yet to be written.
static void end_child_of_vfork(void)
{
    int         status = 0;
    const pid_t child  = vfork();
    if (child == 0) {
        raise(SIGTERM);
        end_at_once(0);
    }
    waitpid(child, &status, 0);
    require(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "how the child of a vfork ended");
}

// The kernel cannot write there, and says so.
static void wait_into_nowhere(void)
{
    const pid_t child = fork();
    if (child == 0) {
        end_at_once(0);
    }
    errno = 0;
    require(waitpid(child, (int*)8, 0) == -1 && errno == EFAULT, "a status that nobody can write");
}

// The C library waits for these by functions of its own.
static void end_shells(void)
{
    FILE* const pipe = popen("kill -9 $$", "r");
    require(pipe != NULL && pclose(pipe) == SIGKILL, "pclose()");
    require(system("kill -9 $$") == SIGKILL, "system()");
    require(system("exit 3") == 3 << 8, "a status of system()");
    require(system(NULL) != 0, "whether there is a shell");
}

// A program that nobody sees end, so the C library's children after it are not that one.
static void leave_unseen(const char* program)
{
    signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        execl(program, program, "raw", NULL);
        end_at_once(99);
    }
    require(wait(NULL) == -1 && errno == ECHILD, "a child that is not waited for");
    signal(SIGCHLD, SIG_DFL);
}

static void end_shell_beside(const char* program, int is_pipe)
{
    leave_unseen(program);
    FILE* const pipe   = is_pipe ? popen("exit 3", "r") : NULL;
    const int   status = is_pipe ? pclose(pipe) : system("exit 3");
    require(status == 3 << 8, "the status of the shell");
}

// "title": as a server names each of its processes, and then it waits.
static void say_own_output(int count, char** words)
{
    const int         has_title = count > 1 && strcmp(words[1], "title") == 0;
    const char* const end       = words[count - 1] + strlen(words[count - 1]) + 1;
    if (has_title) {
        memset(words[0], 0, (size_t)(end - words[0]));
        strncpy(words[0], "shop: writer", (size_t)(end - words[0]) - 1);
    }
    puts("own output");
    fflush(stdout);
    if (has_title) {
        wait_for_ever(NULL);
    }
}

// ---- a signal comes inside of malloc ------------------------------------------------------------

static void say_busy(void)
{
    (void)!write(STDOUT_FILENO, "busy\n", 5);
}

_Noreturn static void use_large_blocks(void)
{
    say_busy();
    for (size_t bytes = 0;; bytes = (bytes + 4096) % 1000000) {
        free(malloc(bytes));
    }
}

// 90 MB: most of the time is spent with a lock, since chunks come and go.
static void* use_bursts(void* unused)
{
    enum { BLOCKS = 100000, BYTES = 900 };
    char** const blocks = malloc(BLOCKS * sizeof *blocks);
    for (;;) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i]    = malloc(BYTES);
            blocks[i][0] = 1;
        }
        say_busy();
        for (int i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
        }
    }
    return unused;
}

static void start_bursts(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, use_bursts, NULL);
    }
}

// A program that the signal does not end at once would go on here, and end well.
_Noreturn static void sleep_beside_bursts(void)
{
    start_bursts();
    sleep(60);
    _exit(0);
}

static void be_busy(const char* how, char** words)
{
    if (strcmp(how, "busy-large") == 0) {
        use_large_blocks();
    } else if (strcmp(how, "busy-exec") == 0) {
        say_busy();
        execv("/proc/self/exe", words);
    } else if (strcmp(how, "busy-sleep") == 0) {
        sleep_beside_bursts();
    } else if (strcmp(how, "busy-threads") == 0) {
        start_bursts();
    }
    use_bursts(NULL);
}

int main(int count, char** words)
{
    const char* const how = count > 1 ? words[1] : "";
    use_malloc();
    misuse(how);
    say_own_output(count, words);
    if (strcmp(how, "raw") == 0) {
        end_at_once(6);
    } else if (strncmp(how, "child-", 6) == 0) {
        in_child(how, count > 2 ? words[2] : "/");
    } else if (strcmp(how, "see") == 0) {
        see_the_default_action();
    } else if (strncmp(how, "busy-", 5) == 0) {
        be_busy(how, words);
    } else if (strcmp(how, "vfork") == 0) {
        end_child_of_vfork();
    } else if (strcmp(how, "nowhere") == 0) {
        wait_into_nowhere();
    } else if (strcmp(how, "shells") == 0) {
        end_shells();
    } else if (strcmp(how, "stranger-system") == 0 || strcmp(how, "stranger-pipe") == 0) {
        end_shell_beside(words[0], strcmp(how, "stranger-pipe") == 0);
    } else if (strcmp(how, "threads") == 0) {
        end_threads();
    } else if (strcmp(how, "twice") == 0) {
        end_twice();
    } else if (strcmp(how, "wait") == 0) {
        wait_for_ever(NULL);
    } else if (strcmp(how, "serve") == 0) {
        be_a_server(SIG_DFL);
    } else if (strcmp(how, "serve-exit") == 0) {
        be_a_server(leave_as_a_shell);
    } else if (strcmp(how, "exec-fails") == 0) {
        execl("/no/such/program", "program", (char*)NULL);
        use_malloc();
        raise(SIGKILL);
    } else if (strcmp(how, "abort-fails") == 0) {
        if (sigsetjmp(before_abort, 1) == 0) {
            signal(SIGABRT, leave_abort);
            abort();
        }
        use_malloc();
        raise(SIGKILL);
    } else if (strcmp(how, "abort-again") == 0) {
        free_twice();
        signal(SIGABRT, raise_again);
        abort();
    } else if (strcmp(how, "exec-raw") == 0) {
        static char last[] = "raw";
        char* const next[] = {words[0], last, NULL};
        syscall(SYS_execve, "/proc/self/exe", next, environ);
    }
    return 7;
}

// SPDX-License-Identifier: MIT
// A program that forbids itself one system call, as a sandbox does, and goes on to allocate.
//
// usage: forbidden CALL errno|kill THREADS [late|first]
//
// late: the filter comes after another thread, unannounced, and binds all threads. first: it comes
// after one, and the first thread of the process ends behind it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20000, KEPT = 100, THREADS_MAX = 12, EPOCH_MICROSECONDS = 250000 };

static const struct {
    const char* name;
    unsigned    number;
} calls[] = {
    {"membarrier", SYS_membarrier},
    {"mincore", SYS_mincore},
    {"madvise", SYS_madvise},
    {"clock_gettime", SYS_clock_gettime},
    {"openat", SYS_openat},
    {"prlimit64", SYS_prlimit64},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"prctl", SYS_prctl},
    {"getpid", SYS_getpid},
    {"gettid", SYS_gettid},
    {"tgkill", SYS_tgkill},
    {"clock_nanosleep", SYS_clock_nanosleep},
    {"getrandom", SYS_getrandom},
    {"readlinkat", SYS_readlinkat},
#ifdef SYS_readlink
    {"readlink", SYS_readlink},
#endif
};

static int forbid(unsigned number, unsigned answer, int is_late)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    if (is_late) {
        return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
                   0;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static unsigned next_number(unsigned* state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void* allocate(void* seed)
{
    unsigned state      = *(unsigned*)seed;
    char*    kept[KEPT] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        const unsigned at = next_number(&state) % KEPT;
        const size_t   bytes =
            next_number(&state) % (next_number(&state) % 50 == 0 ? 2u << 20 : 20000u);
        free(kept[at]);
        kept[at] = malloc(bytes);
        if (i % 7 == 0) {
            kept[at] = realloc(kept[at], 2 * bytes + 1);
        }
    }
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
    }
    return NULL;
}

static void run(unsigned count)
{
    pthread_t threads[THREADS_MAX];
    unsigned  seeds[THREADS_MAX + 1];
    for (unsigned i = 0; i < count; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, allocate, &seeds[i]) != 0) {
            abort();
        }
    }
    seeds[count] = count;
    (void)allocate(&seeds[count]);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void* say_fine(void* nothing)
{
    (void)allocate(&(unsigned){1});
    puts("fine");
    return nothing;
}

static void end_first_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, say_fine, NULL) == 0) {
        pthread_exit(NULL);
    }
}

int main(int count, char** words)
{
    const unsigned threads = count > 3 ? (unsigned)atoi(words[3]) : 0;
    const int      is_late = count > 4 && strcmp(words[4], "late") == 0;
    for (size_t i = 0; count > 3 && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(words[1], calls[i].name) != 0) {
            continue;
        }
        const unsigned answer =
            strcmp(words[2], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
        if (count > 4) {
            run(1);
        }
        if (!forbid(calls[i].number, answer, is_late)) {
            puts("no filter");
            return 0;
        }
        if (count > 4 && !is_late) {
            end_first_thread();
        }
        run(threads < THREADS_MAX ? threads : THREADS_MAX);
        if (is_late) {
            (void)usleep(3 * EPOCH_MICROSECONDS);  // looks of the library's thread
        }
        puts("fine");
        return 0;
    }
    return 2;
}

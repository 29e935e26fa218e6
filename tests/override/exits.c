// SPDX-License-Identifier: MIT
// A process ends by exit() while its threads fork. At its end, glibc forgets what a library asked
// to be called before and after a fork, also between the two.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, FORKERS = 4, FORKS_MIN = 40, SECONDS_MAX = 60 };

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

// A process that hangs is ended by the signal of its alarm.
static void end_beside_forks(void)
{
    (void)alarm(SECONDS_MAX);
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

int main(void)
{
    int good = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const pid_t child = fork();
        if (child == 0) {
            end_beside_forks();
        }
        int status = 1;
        good += child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 1 : 0;
    }
    printf("%d of %d processes ended\n", good, ROUNDS);
    return good == ROUNDS ? 0 : 1;
}

// SPDX-License-Identifier: MIT
// A thread flushes all streams. One of them is the program's own, and allocates when it writes.
// Another thread forks meanwhile: glibc's fork takes the lock of the streams, too.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, BLOCKS = 300, WAITS_MAX = 100 };

static atomic_bool is_forking;

static void allocate(void)
{
    void* blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(i * 37);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
}

static ssize_t take_in(void* user, const char* text, size_t bytes)
{
    (void)user;
    (void)text;
    for (int i = 0; i < WAITS_MAX && !is_forking; i++) {
        (void)usleep(1000);
    }
    allocate();
    return (ssize_t)bytes;
}

static void* flush(void* nothing)
{
    const cookie_io_functions_t functions = {.write = take_in};
    FILE* const                 stream    = fopencookie(NULL, "w", functions);
    for (int i = 0; i < ROUNDS && stream != NULL; i++) {
        (void)fputs("text", stream);
        (void)fflush(NULL);
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return nothing;
}

// Whether the child could do the same.
static bool fork_once(void)
{
    int         status = 1;
    const pid_t child  = fork();
    if (child == 0) {
        (void)fflush(NULL);
        allocate();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    pthread_t flusher;
    int       good = 0;
    if (pthread_create(&flusher, NULL, flush, NULL) != 0) {
        return 2;
    }
    (void)usleep(2000);
    is_forking = true;
    for (int i = 0; i < ROUNDS; i++) {
        good += fork_once() ? 1 : 0;
    }
    (void)pthread_join(flusher, NULL);
    printf("%d of %d children\n", good, ROUNDS);
    return good == ROUNDS ? 0 : 1;
}

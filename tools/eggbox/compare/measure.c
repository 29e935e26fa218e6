// SPDX-License-Identifier: MIT
// eggbox-measure: runs a program once and writes its time, memory and page faults. It is a small
// process of its own, because Linux counts the peak memory of the process that starts a program as
// the program's.
//
// usage: eggbox-measure FD [NAME=VALUE]... -- program [argument]...
//
// Writes "wall_ns user_us system_us peak_kib minor major status" to the file descriptor FD; status
// is that of wait(). Writes "error NUMBER" if the program could not be started.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t microseconds(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

static int become(char** changes, char** command, int failed)
{
    for (; strcmp(*changes, "--") != 0; changes++) {
        if (putenv(*changes) != 0) {
            _exit(126);
        }
    }
    execvp(command[0], command);
    const int error = errno;
    return write(failed, &error, sizeof error) == (ssize_t)sizeof error ? 127 : 126;
}

// Returns  0, or why the program could not be started.
static int measure(char** changes, char** command, int to)
{
    int ends[2];
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFD, FD_CLOEXEC) != 0) {
        return errno;
    }
    const int64_t begin = now_ns();
    const pid_t   child = fork();
    if (child == 0) {
        _exit(become(changes, command, ends[1]));
    }
    if (child < 0) {
        return errno;
    }
    close(ends[1]);
    int           error  = 0;
    int           status = 0;
    struct rusage usage;
    const bool    failed = read(ends[0], &error, sizeof error) == (ssize_t)sizeof error;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (failed) {
        return error;
    }
    dprintf(
        to,
        "%" PRId64 " %" PRId64 " %" PRId64 " %ld %ld %ld %d\n",
        now_ns() - begin,
        microseconds(usage.ru_utime),
        microseconds(usage.ru_stime),
        usage.ru_maxrss,
        usage.ru_minflt,
        usage.ru_majflt,
        status
    );
    return 0;
}

int main(int argc, char** argv)
{
    char** command = argv + 2;
    while (argc > 3 && *command != NULL && strcmp(*command, "--") != 0) {
        command++;
    }
    if (argc < 4 || *command == NULL || command[1] == NULL) {
        fputs("usage: eggbox-measure FD [NAME=VALUE]... -- program [argument]...\n", stderr);
        return 1;
    }
    const int to = (int)strtol(argv[1], NULL, 10);
    fcntl(to, F_SETFD, FD_CLOEXEC);
    const int error = measure(argv + 2, command + 1, to);
    if (error != 0) {
        dprintf(to, "error %d\n", error);
    }
    return error != 0;
}

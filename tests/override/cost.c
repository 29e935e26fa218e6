// SPDX-License-Identifier: MIT
// Runs a program as a debugger does, and prints its cost: system calls, page faults, and the most
// KiB resident. These do not depend on what else the machine does, as times do.
//
// usage: cost PROGRAM NAME=VALUE...
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long resident_kib(pid_t child)
{
    char path[64], line[256];
    long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE* const file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

int main(int count, char** arguments)
{
    const long    options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
    long          stops   = 0;
    long          kib     = 0;
    int           status  = 0;
    struct rusage used;
    const pid_t   child = count >= 2 ? fork() : -1;
    if (child == 0) {
        char* const words[] = {arguments[1], NULL};
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execve(arguments[1], words, &arguments[2]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, options) != 0) {
        return 2;
    }
    for (; !WIFEXITED(status) && !WIFSIGNALED(status); wait4(child, &status, 0, &used)) {
        if (WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            stops++;
        } else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
            kib = resident_kib(child);
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    // Two stops each, but for the last one, which does not return.
    printf("%ld %ld %ld\n", (stops + 1) / 2, used.ru_minflt, kib);
    return status == 0 ? 0 : 1;
}

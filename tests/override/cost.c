// SPDX-License-Identifier: MIT
// Runs a program as a debugger does, and prints its cost: system calls, page faults, and the most
// KiB resident; or the instructions, which takes a second for some hundred thousand. These do not
// depend on what else the machine does, as times do.
//
// usage: cost calls|instructions PROGRAM NAME=VALUE...
#include <signal.h>
#include <stdbool.h>
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

// The child stops at its first instruction.
static pid_t start(char** arguments)
{
    int         status = 0;
    const pid_t child  = fork();
    if (child == 0) {
        char* const words[] = {arguments[0], NULL};
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execve(arguments[0], words, &arguments[1]);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status) ? child : -1;
}

static int count_instructions(pid_t child)
{
    long count  = 0;
    int  status = 0;
    while (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
           waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        count++;
    }
    printf("%ld\n", count);
    return status;
}

static int count_calls(pid_t child)
{
    long          stops  = 0;
    long          kib    = 0;
    int           status = 0;
    struct rusage used   = {0};
    do {
        if (WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            stops++;
        } else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
            kib = resident_kib(child);
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        wait4(child, &status, 0, &used);
    } while (!WIFEXITED(status) && !WIFSIGNALED(status));
    // Two stops each, but for the last one, which does not return.
    printf("%ld %ld %ld\n", (stops + 1) / 2, used.ru_minflt, kib);
    return status;
}

int main(int count, char** arguments)
{
    const long  options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
    const bool  calls   = count >= 3 && strcmp(arguments[1], "calls") == 0;
    const pid_t child   = count >= 3 ? start(&arguments[2]) : -1;
    if (child < 0 || (calls && ptrace(PTRACE_SETOPTIONS, child, NULL, options) != 0)) {
        return 2;
    }
    return (calls ? count_calls(child) : count_instructions(child)) == 0 ? 0 : 1;
}

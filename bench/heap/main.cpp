// SPDX-License-Identifier: MIT
// Runs one pattern, or another program, and prints its time and memory: a line of JSON on stdout.
//
//     eggbox_heap_bench PATTERN [THREADS]        one pattern, in this process; 2 threads, or an
//                                                even number, for the patterns that have several
//     eggbox_heap_bench --smoke                  every pattern with a hundredth of its work, twice
//     eggbox_heap_bench --list                   their names
//     eggbox_heap_bench run LIBRARY PROGRAM ...  a program with LIBRARY preloaded; its output
//                                                goes to stderr
//
// Peaks of resident memory are read from /proc, or for other programs got from wait4(). This
// program is small, because a child's peak is never less than its parent's memory at the fork.
#include "heap.hpp"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace
{

using namespace heap_bench;

struct named_pattern {
    const char* name;
    pattern     run;
};

constexpr named_pattern patterns[] = {
    {"churn_few", churn_few},   {"churn_many", churn_many},     {"batch_lifo", batch_lifo},
    {"batch_fifo", batch_fifo}, {"batch_random", batch_random}, {"large", large},
    {"growth", growth},         {"vectors", vectors},           {"phases", phases},
    {"strings", strings},       {"dictionary", dictionary},     {"ordered_map", ordered_map},
    {"swept_list", swept_list}, {"binary_trees", binary_trees}, {"larson", larson},
    {"handover", handover},     {"cross_free", cross_free},     {"scratch", scratch},
    {"server", server},         {"buffers", buffers},           {"short_lives", short_lives},
};

std::uint64_t wall_ns()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t ns_of(const timeval& time)
{
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(time.tv_usec) * 1000u;
}

std::uint64_t cpu_ns_of(const rusage& usage)
{
    return ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
}

// A number of KiB from /proc/self/status.
long status_kib(const char* key)
{
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    long             kib  = -1;
    char             line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        if (std::strncmp(line, key, std::strlen(key)) == 0) {
            kib = std::atol(line + std::strlen(key) + 1);
        }
    }
    if (file != nullptr) {
        std::fclose(file);
    }
    return kib;
}

// The file that malloc is in: a preload without effect shows.
const char* malloc_file()
{
    Dl_info where{};
    void*   address = reinterpret_cast<void*>(&std::malloc);
    return dladdr(address, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "unknown";
}

int run_pattern(const named_pattern& one, std::size_t threads)
{
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const std::uint64_t start = wall_ns();
    const std::uint64_t check = one.run(scale{false, threads});
    const std::uint64_t wall  = wall_ns() - start;
    rusage              after{};
    getrusage(RUSAGE_SELF, &after);
    std::printf(
        "{\"pattern\": \"%s\", \"malloc\": \"%s\", \"wall_ns\": %llu, \"cpu_ns\": %llu, "
        "\"peak_kib\": %ld, \"end_kib\": %ld, \"faults\": %ld, \"check\": %llu}\n",
        one.name,
        malloc_file(),
        static_cast<unsigned long long>(wall),
        static_cast<unsigned long long>(cpu_ns_of(after) - cpu_ns_of(before)),
        status_kib("VmHWM"),
        status_kib("VmRSS"),
        after.ru_minflt - before.ru_minflt,
        static_cast<unsigned long long>(check)
    );
    return 0;
}

// Whether every pattern does the same work each time.
int smoke()
{
    int status = 0;
    for (const named_pattern& one : patterns) {
        const bool is_same = one.run(scale{true}) == one.run(scale{true});
        std::printf("%s: %s\n", one.name, is_same ? "ok" : "did something else the second time");
        status |= is_same ? 0 : 1;
    }
    return status;
}

// Does not come back.
void become(char** command, const char* library)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setenv("LD_PRELOAD", library, 1);
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
}

int run_program(const char* library, char** command)
{
    const std::uint64_t start = wall_ns();
    const pid_t         child = fork();
    if (child == 0) {
        become(command, library);
    }
    int    status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        std::perror("eggbox_heap_bench");
        return 2;
    }
    std::printf(
        "{\"status\": %d, \"wall_ns\": %llu, \"cpu_ns\": %llu, \"peak_kib\": %ld, "
        "\"faults\": %ld}\n",
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        static_cast<unsigned long long>(wall_ns() - start),
        static_cast<unsigned long long>(cpu_ns_of(usage)),
        usage.ru_maxrss,
        usage.ru_minflt
    );
    return 0;
}

int list()
{
    for (const named_pattern& one : patterns) {
        std::puts(one.name);
    }
    return 0;
}

int usage()
{
    std::fputs(
        "usage: eggbox_heap_bench PATTERN [THREADS] | --smoke | --list | run LIBRARY PROGRAM ...\n",
        stderr
    );
    return 2;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        return usage();
    }
    if (std::strcmp(argv[1], "--smoke") == 0) {
        return smoke();
    }
    if (std::strcmp(argv[1], "--list") == 0) {
        return list();
    }
    if (std::strcmp(argv[1], "run") == 0) {
        return argc < 4 ? usage() : run_program(argv[2], argv + 3);
    }
    const std::size_t threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2;
    if (threads == 0 || threads % 2 != 0) {
        return usage();
    }
    for (const named_pattern& one : patterns) {
        if (std::strcmp(argv[1], one.name) == 0) {
            return run_pattern(one, threads);
        }
    }
    return usage();
}

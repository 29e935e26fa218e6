// SPDX-License-Identifier: MIT
#include "trial.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <type_traits>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GLIBC__)
  #include <malloc.h>
#endif

namespace demo
{
namespace
{

static_assert(std::is_trivially_copyable_v<outcome>, "an outcome crosses a pipe");

// Processor time: the work of other programs on the machine is not in it.
template <class Memory>
outcome measure(Memory& memory, const replay& traffic, std::uint32_t rounds)
{
    outcome            out   = {};
    const std::clock_t start = std::clock();
    {
        pipeline<Memory> line{memory};
        traffic.play(line, rounds);
        out.result = line.finish();
    }
    out.ns = static_cast<std::uint64_t>(std::clock() - start) * (1'000'000'000 / CLOCKS_PER_SEC);
    return out;
}

outcome measure_malloc(const replay& traffic, std::uint32_t rounds)
{
    malloc_memory memory;
    return measure(memory, traffic, rounds);
}

outcome
measure_pools(pool_check check, std::size_t capacity, const replay& traffic, std::uint32_t rounds)
{
    pool_memory memory{check, capacity};
    outcome     out = measure(memory, traffic, rounds);
    for (std::size_t i = 0; i < pool_count; i++) {
        const egb_fixed* const pool    = &memory.pool(i);
        const bool             is_well = egb_fixed_in_use(pool) == 0 && egb_fixed_whole(pool);
        out.pools[i]                   = {egb_fixed_capacity(pool), egb_fixed_peak(pool), is_well};
    }
    return out;
}

// glibc gives the top of the heap back whenever enough of it is free, and asks for it again: page
// faults that are not the allocator's work. -1 switches that off.
void never_trim()
{
#if defined(__GLIBC__)
    mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

outcome
measure_variant(variant id, const replay& traffic, std::uint32_t rounds, std::size_t pool_capacity)
{
    switch (id) {
        case variant::malloc_default: break;
        case variant::malloc_untrimmed: never_trim(); break;
        case variant::pools_marks:
            return measure_pools(pool_check::marks, pool_capacity, traffic, rounds);
        case variant::pools_live_bits:
            return measure_pools(pool_check::live_bits, pool_capacity, traffic, rounds);
    }
    return measure_malloc(traffic, rounds);
}

// A line of /proc/self/status, such as "VmRSS:   1234 kB". 0 where there is no such file: Linux
// only.
std::uint64_t status_bytes(const char* name)
{
    char              line[256];
    unsigned long     kib    = 0;
    const std::size_t bytes  = std::strlen(name);
    std::FILE* const  status = std::fopen("/proc/self/status", "r");
    while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
        if (std::strncmp(line, name, bytes) == 0) {
            kib = std::strtoul(line + bytes, nullptr, 10);
        }
    }
    if (status != nullptr) {
        std::fclose(status);
    }
    return std::uint64_t{kib} * 1024;
}

std::uint64_t rusage_peak_bytes(const rusage& usage)
{
#if defined(__APPLE__)
    return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

// A child inherits the peak of its parent, which would hide its own. Linux can forget it.
void forget_resident_peak()
{
    if (std::FILE* const file = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", file);
        std::fclose(file);
    }
}

[[noreturn]] void measure_and_exit(
    variant id, const replay& traffic, std::uint32_t rounds, std::size_t capacity, int to
)
{
    forget_resident_peak();
    const std::uint64_t start = status_bytes("VmRSS:");
    outcome             out   = measure_variant(id, traffic, rounds, capacity);
    out.resident_bytes_start  = start;
    out.resident_bytes_peak   = status_bytes("VmHWM:");
    out.resident_bytes_end    = status_bytes("VmRSS:");
    const bool is_sent        = write(to, &out, sizeof out) == static_cast<ssize_t>(sizeof out);
    std::exit(is_sent ? EXIT_SUCCESS : EXIT_FAILURE);
}

outcome collect(int from, pid_t child)
{
    outcome       out      = {};
    const ssize_t received = read(from, &out, sizeof out);
    close(from);
    int    status = 0;
    rusage usage  = {};
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        throw trial_failed("a trial was ended by signal " + std::to_string(WTERMSIG(status)));
    }
    if (received != static_cast<ssize_t>(sizeof out) || WEXITSTATUS(status) != EXIT_SUCCESS) {
        throw trial_failed("a trial ended without its result");
    }
    if (out.resident_bytes_peak == 0) {  // less exact: on Linux it counts the exit, and rounds
        out.resident_bytes_peak = rusage_peak_bytes(usage);
    }
    out.page_faults = static_cast<std::uint64_t>(usage.ru_minflt);
    return out;
}

}  // namespace

const std::vector<variant_kind>& variant_kinds()
{
    static const std::vector<variant_kind> kinds = {
        {variant::malloc_default, "malloc", "malloc"},
#if defined(__GLIBC__)
        {variant::malloc_untrimmed, "malloc, never trimmed", "malloc_untrimmed"},
#endif
        {variant::pools_marks, "fixed pools", "fixed"},
        {variant::pools_live_bits, "fixed pools, live bits", "fixed_live_bits"},
    };
    return kinds;
}

outcome
run_trial(variant id, const replay& traffic, std::uint32_t rounds, std::size_t pool_capacity)
{
    std::fflush(nullptr);  // or the child's exit would print the buffers again
    int ends[2];
    if (pipe(ends) != 0) {
        throw trial_failed(std::string("no pipe: ") + std::strerror(errno));
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        measure_and_exit(id, traffic, rounds, pool_capacity, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        throw trial_failed(std::string("no process: ") + std::strerror(errno));
    }
    return collect(ends[0], child);
}

}  // namespace demo

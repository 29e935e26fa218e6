// SPDX-License-Identifier: MIT
// Runs the benchmarks: google-benchmark's options, and --smoke for a quick run of everything.
#include "bench.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace
{

bool failed = false;

[[noreturn]] void die(const char* what)
{
    std::perror(what);
    std::exit(2);
}

std::size_t page_bytes()
{
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// Address space only: pages come when they are touched.
std::byte* map(std::size_t bytes)
{
    const int   flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const at    = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) {
        die("mmap");
    }
    return static_cast<std::byte*>(at);
}

// The file that malloc is in: scripts/bench.py makes sure that a preloaded library is really used.
const char* malloc_file()
{
    Dl_info where{};
    void*   address = reinterpret_cast<void*>(&std::malloc);
    return dladdr(address, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "unknown";
}

// Takes our own options out, so that google-benchmark does not see them.
bench::scale take_scale(std::vector<char*>& arguments)
{
    constexpr std::string_view frames = "--frames=";
    bench::scale               size{false, 60};
    for (auto at = arguments.begin(); at != arguments.end();) {
        const std::string_view argument = *at;
        if (argument == "--smoke") {
            size.smoke  = true;
            size.frames = 6;
        } else if (argument.substr(0, frames.size()) == frames) {
            size.frames = std::strtoull(*at + frames.size(), nullptr, 10);
        } else {
            ++at;
            continue;
        }
        at = arguments.erase(at);
    }
    return size;
}

}  // namespace

bench::place bench::warm(std::size_t bytes)
{
    static const place all{map(std::size_t{1} << 30), std::size_t{1} << 30};
    if (bytes > all.bytes) {
        die("a benchmark wants more than 1 GiB of warm memory");
    }
    return place{all.at, bytes};
}

bench::fresh::fresh(std::size_t bytes) : where_{map(bytes), bytes} {}

bench::fresh::~fresh()
{
    munmap(where_.at, where_.bytes);
}

std::size_t bench::fresh::resident_pages() const
{
    std::vector<unsigned char> pages((where_.bytes + page_bytes() - 1) / page_bytes());
    if (mincore(where_.at, where_.bytes, pages.data()) != 0) {
        die("mincore");
    }
    std::size_t count = 0;
    for (const unsigned char page : pages) {
        count += page & 1u;
    }
    return count;
}

std::size_t bench::resident_pages()
{
    char      text[128];  // no stream, which would allocate
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        die("/proc/self/statm");
    }
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) {
        die("/proc/self/statm");
    }
    text[length] = '\0';
    char* second = nullptr;
    (void)std::strtoull(text, &second, 10);
    return std::strtoull(second, nullptr, 10);
}

std::size_t bench::page_faults()
{
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        die("getrusage");
    }
    return static_cast<std::size_t>(usage.ru_minflt);
}

void bench::fail(benchmark::State& state, const char* why)
{
    failed = true;
    state.SkipWithError(why);
}

void bench::same_work(benchmark::State& state, const std::string& work, std::uint64_t hash)
{
    static std::map<std::string, std::uint64_t> known;
    if (known.try_emplace(work, hash).first->second != hash) {
        fail(state, "this rival did not do the same work as the others");
    }
    state.counters["hash"] = static_cast<double>(hash & UINT32_MAX);  // a double holds it exactly
}

int main(int argc, char** argv)
{
    std::vector<char*> arguments(argv, argv + argc);
    const bench::scale size          = take_scale(arguments);
    static char        min_time[]    = "--benchmark_min_time=0.0001";
    static char        repetitions[] = "--benchmark_repetitions=1";
    if (size.smoke) {
        arguments.insert(arguments.begin() + 1, {min_time, repetitions});  // later ones win
    }
    bench::add_pair(size);
    bench::add_batch(size);
    bench::add_churn(size);
    bench::add_create(size);
    bench::add_ping_pong(size);
    bench::add_first_touch(size);
    bench::add_threads(size);
    bench::add_frames(size);
    bench::add_trees(size);
    bench::add_elr(size);

    benchmark::AddCustomContext("malloc", malloc_file());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) {
        return 2;
    }
    const std::size_t run = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    if (run == 0) {
        std::fputs("no benchmark has such a name\n", stderr);
        return 2;
    }
    return failed ? 1 : 0;
}

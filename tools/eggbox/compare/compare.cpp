// SPDX-License-Identifier: MIT
#include "compare/compare.hpp"

#include "compare/comparison.hpp"
#include "elf/elf.hpp"
#include "preload/judge.hpp"
#include "preload/library.hpp"
#include "process/paths.hpp"
#include "process/process.hpp"
#include "process/temporary.hpp"
#include "records/records.hpp"
#include "text/failure.hpp"
#include "text/listing.hpp"
#include "text/text.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

// A file without a name: nothing is left on disk, whatever ends this process.
using nameless_file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

nameless_file make_file()
{
    nameless_file out{std::tmpfile(), std::fclose};
    if (out == nullptr) {
        throw failure(fmt::format("cannot create a temporary file: {}", std::strerror(errno)));
    }
    return out;
}

std::string contents(std::FILE* file)
{
    std::string text;
    char        part[4096];
    std::rewind(file);
    while (const std::size_t bytes = std::fread(part, 1, sizeof part, file)) {
        text.append(part, bytes);
    }
    return text;
}

bool are_same(std::FILE* a, std::FILE* b)
{
    char part_a[65536], part_b[65536];
    std::rewind(a);
    std::rewind(b);
    for (;;) {
        const std::size_t bytes = std::fread(part_a, 1, sizeof part_a, a);
        if (std::fread(part_b, 1, sizeof part_b, b) != bytes ||
            std::memcmp(part_a, part_b, bytes) != 0) {
            return false;
        }
        if (bytes < sizeof part_a) {
            return true;
        }
    }
}

// Finds eggbox-measure: beside this command in the build tree, else in the installation.
std::string find_measure()
{
    const std::string folder = own_folder();
    for (const char* const place : {"/", "/" EGGBOX_MEASURE_FROM_COMMAND "/"}) {
        const std::string path = folder + place + "eggbox-measure";
        if (access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    throw failure("eggbox-measure is missing: the installation of eggbox is incomplete");
}

struct one_run {
    sample        taken;
    nameless_file output{nullptr, std::fclose};
    std::string   complaints;  // the program's stderr
};

class runner
{
  public:
    explicit runner(const compare_options& wanted) : wanted_(wanted), measure_(find_measure()) {}

    // `more`: further changes to the environment, as NAME=VALUE.
    one_run run(const variant& of, std::vector<std::string> more) const
    {
        const nameless_file result = make_file();
        const nameless_file errors = make_file();
        one_run             out;
        out.output = make_file();
        if (!of.library.empty()) {
            more.push_back("LD_PRELOAD=" + preload_value(of.library));
        }
        const pid_t child = fork();
        if (child == 0) {
            become(more, fileno(result.get()), fileno(out.output.get()), fileno(errors.get()));
        }
        if (child < 0) {
            throw failure(fmt::format("cannot create a process: {}", std::strerror(errno)));
        }
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
        out.taken      = read_sample(contents(result.get()));
        out.complaints = contents(errors.get());
        return out;
    }

  private:
    [[noreturn]] void
    become(const std::vector<std::string>& more, int result, int output, int errors) const
    {
        const char* const        from = wanted_.input.empty() ? "/dev/null" : wanted_.input.c_str();
        const int                input = open(from, O_RDONLY);
        const int                sink = wanted_.check_output ? output : open("/dev/null", O_WRONLY);
        std::vector<std::string> words = {measure_, std::to_string(dup(result))};
        words.insert(words.end(), more.begin(), more.end());
        words.emplace_back("--");
        words.insert(words.end(), wanted_.command.begin(), wanted_.command.end());
        if (input >= 0 && dup2(input, 0) == 0 && dup2(sink, 1) == 1 && dup2(errors, 2) == 2) {
            execv(measure_.c_str(), argument_pointers(words).data());
        }
        _exit(127);
    }

    sample read_sample(const std::string& text) const
    {
        std::int64_t wall = 0, user = 0, system = 0;
        long         peak = 0, minor = 0, major = 0;
        int          status = 0, error = 0;
        if (std::sscanf(text.c_str(), "error %d", &error) == 1) {
            throw failure(fmt::format(
                "cannot run {}: {}", shown(wanted_.command.front()), std::strerror(error)
            ));
        }
        const int fields = std::sscanf(
            text.c_str(),
            "%" SCNd64 " %" SCNd64 " %" SCNd64 " %ld %ld %ld %d",
            &wall,
            &user,
            &system,
            &peak,
            &minor,
            &major,
            &status
        );
        if (fields != 7) {
            throw failure("eggbox-measure ended before it wrote a result");
        }
        sample out;
        out.wall_s         = static_cast<double>(wall) / 1e9;
        out.user_s         = static_cast<double>(user) / 1e6;
        out.system_s       = static_cast<double>(system) / 1e6;
        out.resident_bytes = static_cast<std::uint64_t>(peak) * 1024;
        out.minor_faults   = static_cast<std::uint64_t>(minor);
        out.major_faults   = static_cast<std::uint64_t>(major);
        out.status         = status;
        return out;
    }

    const compare_options& wanted_;
    std::string            measure_;
};

// Shows progress on a terminal, in one line that the next one overwrites.
class progress
{
  public:
    explicit progress(std::size_t count) : count_(count), is_shown_(isatty(STDERR_FILENO) != 0) {}

    ~progress()
    {
        if (is_shown_) {
            std::fputs("\r\x1b[K", stderr);
        }
    }

    progress(const progress&)            = delete;
    progress& operator=(const progress&) = delete;

    void next(const std::string& name)
    {
        at_++;
        if (is_shown_) {
            std::fprintf(stderr, "\r\x1b[Krun %zu of %zu: %s", at_, count_, shown(name).c_str());
        }
    }

  private:
    std::size_t count_;
    std::size_t at_ = 0;
    bool        is_shown_;
};

// The last lines of a program's stderr, indented.
std::string last_lines(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream       in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    std::string out;
    for (std::size_t i = lines.size() > 6 ? lines.size() - 6 : 0; i < lines.size(); i++) {
        out += "\n    " + shown(lines[i]);
    }
    return out;
}

bool has_failed(const one_run& run)
{
    return process_end{0, run.taken.status, 0}.exit_status() != 0;
}

void require_success(const one_run& run, const std::string& where, const compare_options& wanted)
{
    if (has_failed(run) && !wanted.ignore_failure) {
        throw failure(fmt::format(
            "on {} the program ended with {}; use --ignore-failure to compare anyway{}",
            where,
            process_end{0, run.taken.status, 0}.text(),
            last_lines(run.complaints)
        ));
    }
}

void require_malloc(const std::string& library)
{
    require_preloadable(library);
    const auto elf  = read_elf(library, malloc_functions());
    const auto self = read_elf("/proc/self/exe", {});
    if (!elf || elf->defined.empty()) {
        throw failure(fmt::format("{}: not a shared library that defines malloc", shown(library)));
    }
    if (self && !elf->runs_with(*self)) {
        throw failure(
            fmt::format("{}: built for another machine ({})", shown(library), elf->machine_text())
        );
    }
}

// Finds a library as LD_PRELOAD does: the loader's folders are searched for a bare name. A file in
// the current folder comes first.
std::string path_of(const std::string& library)
{
    const bool is_bare = library.find('/') == std::string::npos;
    const bool is_here = access(library.c_str(), F_OK) == 0;
    const auto found   = is_bare && !is_here ? find_preload(library) : "";
    return absolute_path(found.empty() ? library : found);
}

std::vector<variant> variants_of(const compare_options& wanted)
{
    std::vector<variant> out = {{"glibc", "", {}}, {"eggbox", find_malloc_library(), {}}};
    for (const std::string& library : wanted.with) {
        const std::string path = path_of(library);
        require_malloc(path);
        out.push_back({fs::path(library).filename().string(), path, {}});
    }
    return out;
}

[[noreturn]] void refuse(const verdict& judged)
{
    const finding* const blocker = judged.blocker();
    throw failure(fmt::format(
        "{} does not run on pools: {}",
        shown(judged.asked),
        blocker != nullptr ? blocker->text : "it wrote no report"
    ));
}

struct programs_that_ran {
    std::set<std::string> files;  // except those whose report cannot be read
    std::uint64_t         requests = 0;
};

programs_that_ran programs_in(const std::string& folder)
{
    programs_that_ran out;
    std::error_code   ignored;
    for (const fs::directory_entry& entry : entries_of(folder, ignored)) {
        try {
            if (entry.path().extension() == ".json") {
                const process_record process = read_process(entry.path().string());
                out.files.insert(process.program);
                out.requests = plus(out.requests, process.requests());
            }
        } catch (const failure& error) {
            say(error.what());
        }
    }
    return out;
}

// Runs the program once on pools with a report, as proof that the pools are in use. The library is
// in a program with a malloc of its own, too, and no request comes to it.
// Returns  the programs that ran.
std::set<std::string>
require_effect(const runner& runs, const comparison& done, const compare_options& wanted)
{
    const variant& base   = done.variants[0];
    const variant& pools  = done.variants[1];
    const verdict  judged = judge(wanted.command.front(), pools.library);
    if (judged.has("sanitizer")) {
        refuse(judged);
    }
    const temporary_folder folder;
    const one_run          run  = runs.run(pools, {"EGGBOX_REPORT=" + folder.path()});
    const bool             both = has_failed(run) && has_failed(runs.run(base, {}));
    require_success(run, shown(pools.name) + (both ? " and on " + shown(base.name) : ""), wanted);
    programs_that_ran programs = programs_in(folder.path());
    if (programs.files.empty() || (programs.requests == 0 && !judged.can_be_served())) {
        refuse(judged);
    }
    return programs.files;
}

// A program with an allocator of its own does not run on glibc's malloc, so the base is not named
// glibc.
void name_base(comparison& done, const std::set<std::string>& programs)
{
    std::set<std::string> names;
    for (const std::string& program : programs) {
        for (const std::string& allocator : judge(program, "").allocators) {
            names.insert(allocator);
            done.notes.push_back(fmt::format(
                "{} comes with {}, which serves its malloc unless another library is preloaded.",
                shown(program),
                shown(allocator)
            ));
        }
    }
    if (!names.empty()) {
        done.variants.front().name = fmt::format("{}", fmt::join(names, ", "));
    }
}

void measure_all(comparison& done, const runner& runs, const compare_options& wanted)
{
    nameless_file     first{nullptr, std::fclose};
    const std::size_t count = done.variants.size();
    progress          line{(wanted.warmup + wanted.runs) * count};
    // The variants run in turns, and each round begins with another variant, so that a busy machine
    // affects all of them alike.
    for (std::size_t turn = 0; turn < (wanted.warmup + wanted.runs) * count; turn++) {
        variant& next = done.variants[(turn + turn / count) % count];
        line.next(next.name);
        one_run run = runs.run(next, {});
        require_success(run, shown(next.name), wanted);
        if (wanted.check_output && first != nullptr && !are_same(first.get(), run.output.get())) {
            const one_run again = runs.run(done.variants.front(), {});
            throw failure(
                are_same(first.get(), again.output.get())
                    ? fmt::format("on {} the program printed different output", shown(next.name))
                    : "the program prints different output from run to run, even without eggbox"
            );
        }
        if (first == nullptr) {
            first = std::move(run.output);
        }
        if (turn >= wanted.warmup * count) {
            next.samples.push_back(run.taken);
        }
    }
}

}  // namespace

int compare_command(const compare_options& wanted)
{
    comparison done;
    done.command               = wanted.command;
    done.runs                  = wanted.runs;
    done.warmup                = wanted.warmup;
    done.outputs_were_compared = wanted.check_output;
    done.variants              = variants_of(wanted);
    if (!wanted.input.empty() && access(wanted.input.c_str(), R_OK) != 0) {
        throw failure(fmt::format("{}: {}", shown(wanted.input), std::strerror(errno)));
    }
    const runner runs{wanted};
    name_base(done, require_effect(runs, done, wanted));

    measure_all(done, runs, wanted);
    print(
        wanted.hyperfine ? compare_data_of_hyperfine(done)
        : wanted.json    ? compare_data(done)
                         : fitted(compare_page(done))
    );
    return exit_done;
}

}  // namespace tool

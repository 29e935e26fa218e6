// SPDX-License-Identifier: MIT
#include "preload/judge.hpp"

#include "elf/elf.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace tool
{
namespace
{

constexpr std::size_t interpreters_max = 5;  // as many as Linux follows

std::vector<std::string> split(const std::string& text, char separator)
{
    std::vector<std::string> out;
    std::istringstream       in{text};
    for (std::string part; std::getline(in, part, separator);) {
        out.push_back(part);
    }
    return out;
}

std::string name_of(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

bool is_folder(const std::string& path)
{
    struct stat about = {};
    return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

bool is_executable_file(const std::string& path)
{
    struct stat about = {};
    return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

void block(verdict& out, const char* reason, std::string text, std::string remedy = "")
{
    out.findings.push_back({true, reason, std::move(text), std::move(remedy)});
}

void note(verdict& out, const char* reason, std::string text)
{
    out.findings.push_back({false, reason, std::move(text), ""});
}

// The words after "#!" on the first line: at most two, as Linux splits the line. Empty: no script.
std::vector<std::string> interpreter_of(const std::string& path)
{
    std::ifstream file{path};
    char          line[256] = {};
    file.read(line, sizeof line - 1);
    std::string text{line, static_cast<std::size_t>(file.gcount())};
    if (text.compare(0, 2, "#!") != 0) {
        return {};
    }
    text                   = text.substr(2, text.find('\n') - 2);
    const std::size_t from = text.find_first_not_of(" \t");
    if (from == std::string::npos) {
        return {};
    }
    const std::size_t        end = std::min(text.find_first_of(" \t\r", from), text.size());
    const std::size_t        arg = text.find_first_not_of(" \t", end);
    std::vector<std::string> words{text.substr(from, end - from)};
    if (arg != std::string::npos) {
        words.push_back(text.substr(arg, text.find_last_not_of(" \t\r") + 1 - arg));
    }
    return words;
}

// The program that env runs. Scripts use env because it searches PATH.
std::string run_by_env(const std::vector<std::string>& words)
{
    if (words.size() < 2 || name_of(words[0]) != "env") {
        return "";
    }
    for (const std::string& word : split(words[1], ' ')) {
        if (!word.empty() && word[0] != '-' && word.find('=') == std::string::npos) {
            return word;
        }
    }
    return "";
}

// The loader ignores LD_PRELOAD for a program that gets rights its caller does not have.
void judge_rights(verdict& out, const std::string& path)
{
    struct stat about = {};
    if (stat(path.c_str(), &about) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
        return;  // with PR_SET_NO_NEW_PRIVS the program gets no rights
    }
    const char* const remedy =
        "run it as the user whose rights it gets, or run a copy without these rights";
    if ((about.st_mode & S_ISUID) != 0 && about.st_uid != getuid()) {
        block(
            out,
            "setuid",
            "it is setuid: it runs with another user's rights, and the loader then ignores "
            "LD_PRELOAD",
            remedy
        );
    }
    if ((about.st_mode & S_ISGID) != 0 && (about.st_mode & S_IXGRP) != 0 &&
        about.st_gid != getgid()) {
        block(
            out,
            "setgid",
            "it is setgid: it runs with another group's rights, and the loader then ignores "
            "LD_PRELOAD",
            remedy
        );
    }
    if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        block(
            out,
            "capabilities",
            "it has file capabilities: it gets rights its caller does not have, and the loader "
            "then ignores LD_PRELOAD",
            remedy
        );
    }
}

std::vector<std::string> loader_folders()
{
    std::vector<std::string> out;
    if (const char* const path = std::getenv("LD_LIBRARY_PATH")) {
        out = split(path, ':');
    }
    for (const char* const file :
         {"/etc/ld.so.conf.d/" EGGBOX_MULTIARCH ".conf", "/etc/ld.so.conf.d/libc.conf"}) {
        std::ifstream lines{file};
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty() && line[0] == '/') {
                out.push_back(line);
            }
        }
    }
    for (const char* const folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
        out.emplace_back(folder);
    }
    return out;
}

std::string first_with(const std::vector<std::string>& folders, const std::string& library)
{
    for (const std::string& folder : folders) {
        if (access((folder + "/" + library).c_str(), R_OK) == 0) {
            return folder + "/" + library;
        }
    }
    return "";
}

// The path where the loader finds `library` for the file `user`. Empty if that is unknown.
std::string find_library(const std::string& library, const std::string& user, const elf_facts& elf)
{
    if (library.find('/') != std::string::npos) {
        return library;
    }
    const std::string        origin = user.substr(0, user.rfind('/'));
    std::vector<std::string> folders;
    for (std::string folder : split(elf.search_path, ':')) {
        for (const char* const word : {"$ORIGIN", "${ORIGIN}"}) {
            if (folder.compare(0, std::strlen(word), word) == 0) {
                folder = origin + folder.substr(std::strlen(word));
            }
        }
        folders.push_back(folder);
    }
    const std::vector<std::string> usual = loader_folders();
    folders.insert(folders.end(), usual.begin(), usual.end());
    return first_with(folders, library);
}

// All libraries that the program needs, directly or through other libraries.
std::set<std::string> libraries_of(const std::string& path, const elf_facts& elf)
{
    std::set<std::string>                          seen;
    std::vector<std::pair<std::string, elf_facts>> open{{path, elf}};
    while (!open.empty()) {
        const auto [user, facts] = open.back();
        open.pop_back();
        for (const std::string& library : facts.needed) {
            const std::string found =
                seen.insert(library).second ? find_library(library, user, facts) : "";
            if (!found.empty() && access(found.c_str(), R_OK) == 0) {
                if (const auto next = read_elf(found, {})) {
                    open.emplace_back(found, *next);
                }
            }
        }
    }
    return seen;
}

// The marks of sanitizers whose programs cannot use another malloc. ThreadSanitizer crashes at the
// start, as its functions are called before it is ready. AddressSanitizer ends the program if its
// library is not the first; linked into the program, as by clang, it serves malloc itself.
// MemorySanitizer takes memory that a library has written for uninitialised.
constexpr struct {
    const char* symbol;
    bool        is_imported;  // it counts only if the program expects it from a library
    const char* name;
    const char* option;
} sanitizers[] = {
    {"__tsan_init", false, "ThreadSanitizer", "thread"},
    {"__msan_init", false, "MemorySanitizer", "memory"},
    {"__asan_init", false, "AddressSanitizer", "address"},
    {"__sanitizer_print_memory_profile", true, "ThreadSanitizer", "thread"},  // gcc, static
};

bool holds(const std::vector<std::string>& names, const std::string& name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

void judge_sanitizers(verdict& out, const elf_facts& elf)
{
    for (const auto& each : sanitizers) {
        if (holds(elf.imported, each.symbol) ||
            (!each.is_imported && holds(elf.defined, each.symbol))) {
            block(
                out,
                "sanitizer",
                fmt::format(
                    "it is built with {}, which needs the malloc of its own runtime", each.name
                ),
                fmt::format("build it without -fsanitize={}", each.option)
            );
            return;
        }
    }
}

void judge_allocators(verdict& out, const std::string& path, const elf_facts& elf)
{
    for (const std::string& name : malloc_functions()) {
        if (holds(elf.defined, name)) {
            block(
                out,
                "own-malloc",
                fmt::format(
                    "it defines {}() itself, and the loader takes a program's own functions first",
                    name
                ),
                "build it without its own allocator"
            );
            break;
        }
    }
    for (const std::string& library : libraries_of(path, elf)) {
        for (const char* const name :
             {"tcmalloc", "jemalloc", "mimalloc", "snmalloc", "rpmalloc"}) {
            if (name_of(library).find(name) != std::string::npos) {
                out.allocators.push_back(name_of(library));
                note(
                    out,
                    "brings-allocator",
                    fmt::format(
                        "it comes with {}: the preloaded library serves malloc from pools, but not "
                        "the other functions of {}",
                        shown(library),
                        name
                    )
                );
            }
        }
    }
}

void judge_machine(verdict& out, const elf_facts& elf, const std::string& library)
{
    const auto ours = library.empty() ? std::nullopt : read_elf(library, {});
    if (!library.empty() && !ours) {
        block(out, "no-library", fmt::format("{} is not a shared library", shown(library)));
    } else if (ours && !ours->runs_with(elf)) {
        block(
            out,
            "other-machine",
            fmt::format(
                "it is built for {}, but the library is built for {}",
                elf.machine_text(),
                ours->machine_text()
            ),
            "build eggbox for the program's machine and set EGGBOX_MALLOC_LIB"
        );
    }
}

void judge_elf(
    verdict& out, const std::string& path, const elf_facts& elf, const std::string& library
)
{
    out.machine = elf.machine_text();
    judge_machine(out, elf, library);
    judge_rights(out, path);
    if (!elf.is_program) {
        block(
            out,
            "static",
            "it is statically linked: no library can be put in front of its malloc",
            "link it dynamically, or link it with the static eggbox library"
        );
        return;
    }
    if (name_of(elf.interpreter).compare(0, 7, "ld-musl") == 0) {
        block(
            out,
            "other-libc",
            "it is linked with musl, and the library is built for glibc",
            "link it with glibc"
        );
    } else if (access(elf.interpreter.c_str(), F_OK) != 0 && !out.has("other-machine")) {
        block(
            out,
            "no-interpreter",
            fmt::format("its loader {} does not exist", shown(elf.interpreter)),
            "install the C library that it is built for"
        );
    }
    judge_sanitizers(out, elf);
    judge_allocators(out, path, elf);
}

std::vector<std::string> names_to_look_for()
{
    std::vector<std::string> out = malloc_functions();
    for (const auto& each : sanitizers) {
        out.emplace_back(each.symbol);
    }
    return out;
}

// `found`: its file; empty: there is none.
void block_interpreter(verdict& out, const std::string& name, const std::string& found)
{
    const bool is_there = !found.empty() && access(found.c_str(), F_OK) == 0;
    block(
        out,
        "no-interpreter",
        fmt::format(
            "its interpreter {} {}", shown(name), is_there ? "is not executable" : "does not exist"
        )
    );
}

void judge_file(verdict& out, const std::string& path, const std::string& library)
{
    if (out.runs_by.size() > interpreters_max) {
        block(out, "script-loop", "its chain of script interpreters is too long");
        return;
    }
    try {
        if (const auto elf = read_elf(path, names_to_look_for())) {
            judge_elf(out, path, *elf, library);
            return;
        }
    } catch (const failure& error) {
        block(out, "unreadable", error.what());
        return;
    }
    const std::vector<std::string> words = interpreter_of(path);
    const std::string next = words.empty() ? "/bin/sh" : words[0];  // as shells and execvp() do
    out.runs_by.push_back(next);
    if (!is_executable_file(next)) {
        block_interpreter(out, next, next);
        return;
    }
    judge_file(out, next, library);
    const std::string searched = run_by_env(words);
    const std::string found    = searched.empty() ? "" : find_program(searched);
    if (!searched.empty()) {
        out.runs_by.push_back(found.empty() ? searched : found);
        is_executable_file(found) ? judge_file(out, found, library)
                                  : block_interpreter(out, searched, found);
    }
}

}  // namespace

const std::vector<std::string>& malloc_functions()
{
    static const std::vector<std::string> names = {"malloc", "free", "calloc", "realloc"};
    return names;
}

std::string find_preload(const std::string& library)
{
    return first_with(loader_folders(), library);
}

const finding* verdict::blocker() const
{
    const auto found = std::find_if(findings.begin(), findings.end(), [](const finding& each) {
        return each.blocks;
    });
    return found == findings.end() ? nullptr : &*found;
}

bool verdict::has(const std::string& reason) const
{
    return std::any_of(findings.begin(), findings.end(), [&](const finding& each) {
        return each.reason == reason;
    });
}

std::string find_program(const std::string& program)
{
    if (program.find('/') != std::string::npos || program.empty()) {
        return access(program.c_str(), F_OK) == 0 ? program : "";
    }
    const char* const path = std::getenv("PATH");
    std::string       first;
    for (const std::string& folder : split(path != nullptr ? path : "/bin:/usr/bin", ':')) {
        const std::string file = (folder.empty() ? "." : folder) + "/" + program;
        if (is_executable_file(file)) {
            return file;
        }
        if (first.empty() && access(file.c_str(), F_OK) == 0 && !is_folder(file)) {
            first = file;
        }
    }
    return first;
}

namespace
{

std::string why_missing(const std::string& program)
{
    if (program.find('/') == std::string::npos) {
        return "there is no such program in PATH";
    }
    const bool is_there = access(program.c_str(), F_OK) == 0 || errno != ENOENT;
    return is_there ? fmt::format("it cannot be reached: {}", std::strerror(errno))
                    : "there is no such file";
}

}  // namespace

verdict judge(const std::string& program, const std::string& library)
{
    verdict out;
    out.asked = program;
    out.path  = find_program(program);
    if (out.path.empty()) {
        block(out, "missing", why_missing(program));
    } else if (!is_executable_file(out.path)) {
        block(
            out,
            "not-executable",
            is_folder(out.path) ? "it is a folder" : "it is not executable for this user",
            is_folder(out.path) ? "" : "chmod +x " + shell_quoted(out.path)
        );
    } else {
        judge_file(out, out.path, library);
    }
    return out;
}

}  // namespace tool

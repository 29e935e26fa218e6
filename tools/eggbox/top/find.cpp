// SPDX-License-Identifier: MIT
#include "top/find.hpp"

#include "text/failure.hpp"
#include "text/listing.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t slots_max     = 20000;  // any process may make files of slots
constexpr const char* name_of_files = "/memfd:eggbox (deleted)";

// A live file by its number in the system, and the processes that have it as memory.
struct mapped_file {
    std::map<std::uint64_t, std::set<std::uint64_t>> pids;   // by the number each has for itself
    std::vector<std::string>                         paths;  // any that opens will do
};

using mapped_files = std::map<std::string, mapped_file>;

std::string proc(std::uint64_t pid, const std::string& what)
{
    return fmt::format("/proc/{}/{}", pid, what);
}

bool ends_with(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A process in a namespace of its own, such as a container's, has another number for itself.
std::uint64_t number_inside(std::uint64_t pid)
{
    std::ifstream file{proc(pid, "status")};
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, 6, "NSpid:") == 0) {
            return std::strtoull(line.c_str() + line.find_last_of(" \t"), nullptr, 10);
        }
    }
    return pid;
}

// The 22nd value of stat; 0: not known. The second, the program's name, is in brackets and may hold
// anything.
std::uint64_t started_ticks(std::uint64_t pid)
{
    std::ifstream file{proc(pid, "stat")};
    std::string   text;
    std::getline(file, text, '\0');
    std::size_t at = text.rfind(')');
    for (int value = 2; at != std::string::npos && value < 22; value++) {
        at = text.find(' ', at + 1);
    }
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

// The process that has the slot; 0: not known. Processes of several namespaces may have the same
// number for themselves, and the child of a fork does not say when it started.
std::uint64_t owner_of(const egb_live_slot& slot, const mapped_file& from)
{
    const auto    same = from.pids.find(slot.pid);
    std::uint64_t out  = 0;
    if (same == from.pids.end()) {
        return 0;
    }
    for (const std::uint64_t each : same->second) {
        if (slot.process_started == 0 || slot.process_started == started_ticks(each)) {
            if (out != 0) {
                return 0;
            }
            out = each;
        }
    }
    return out;
}

// Descriptors that lead to a file of this name. A process of another user shows none.
std::vector<std::string> descriptors(std::uint64_t pid)
{
    std::vector<std::string> out;
    std::error_code          error, gone;
    for (const fs::directory_entry& each : entries_of(proc(pid, "fd"), error)) {
        if (fs::read_symlink(each.path(), gone) == name_of_files) {
            out.push_back(each.path().string());
        }
    }
    return out;
}

// The descriptor of `eggbox run`, for processes that have closed theirs.
std::string descriptor_of_maker(std::uint64_t pid)
{
    std::ifstream     file{proc(pid, "environ")};
    const std::string name = "EGGBOX_LIVE=";
    std::string       entry;
    while (std::getline(file, entry, '\0')) {
        const std::size_t slash = entry.find('/');
        if (entry.compare(0, name.size(), name) == 0 && slash != std::string::npos) {
            const auto maker = std::strtoull(entry.c_str() + name.size(), nullptr, 10);
            return proc(maker, "fd/" + std::to_string(std::atoi(entry.c_str() + slash + 1)));
        }
    }
    return "";
}

std::string inode_of(const std::string& path)
{
    struct stat about = {};
    return stat(path.c_str(), &about) == 0 ? std::to_string(about.st_ino) : "";
}

// A line of maps: RANGE rights offset device inode name.
void note_mappings(mapped_files& to, std::uint64_t pid)
{
    std::ifstream         maps{proc(pid, "maps")};
    std::string           line;
    std::set<std::string> inodes;
    while (std::getline(maps, line)) {
        if (!ends_with(line, name_of_files)) {
            continue;
        }
        std::istringstream words{line};
        std::string        range, rights, offset, device, inode;
        words >> range >> rights >> offset >> device >> inode;
        to[inode].pids[number_inside(pid)].insert(pid);
        to[inode].paths.push_back(proc(pid, "map_files/" + range));
        inodes.insert(inode);
    }
    if (inodes.empty()) {
        return;
    }
    std::vector<std::string> paths = descriptors(pid);
    paths.push_back(descriptor_of_maker(pid));
    for (const std::string& path : paths) {
        const std::string inode = inode_of(path);
        if (inodes.count(inode) != 0) {
            to[inode].paths.push_back(path);
        }
    }
}

bool is_wanted(const egb_live_slot& slot, const std::string& wanted)
{
    const std::string program = live_text(slot.program, sizeof slot.program);
    return wanted.empty() || wanted == std::to_string(slot.pid) || wanted == program ||
           wanted == fs::path(program).filename() || wanted == running_name(slot.pid);
}

// A slot counts if its process has the file mapped; a process may write any number into another.
void read_slots(
    recorded_processes& to,
    const mapped_file&  from,
    const live_file&    file,
    const std::string&  wanted
)
{
    const auto maker = from.pids.find(file.run());
    const bool is_run =
        maker != from.pids.end() && std::to_string(*maker->second.begin()) == wanted;
    std::set<std::pair<std::uint64_t, bool>> seen;
    to.refused = plus(to.refused, file.refused());
    for (const std::uint32_t place : file.places()) {
        if (from.pids.count(file.pid_at(place)) == 0) {
            continue;
        }
        live_slot           slot = file.copy(place);
        const std::uint64_t own  = owner_of(slot.data, from);
        if (own == 0 || !seen.insert({own, slot.data.is_linked != 0}).second ||
            to.slots.size() >= slots_max) {
            continue;
        }
        slot.data.pid = static_cast<std::uint32_t>(own);
        if (is_run || is_wanted(slot.data, wanted)) {
            to.slots.push_back(slot.data);
        }
    }
    if (is_run && seen.empty()) {
        to.problems.push_back(fmt::format("no process of that run ({}) is recorded now", wanted));
    }
}

void read_file(recorded_processes& to, const mapped_file& from, const std::string& wanted)
{
    std::string problem = "no descriptor of it is open";
    for (const std::string& path : from.paths) {
        try {
            read_slots(to, from, live_file{path}, wanted);
            return;
        } catch (const failure& error) {
            problem = error.what();
        }
    }
    // Shared pools have files of this name, too.
    for (const auto& [inside, pids] : from.pids) {
        for (const std::uint64_t pid : pids) {
            if (std::to_string(pid) == wanted) {
                to.problems.push_back(
                    fmt::format("process {} has no live file that can be read: {}", pid, problem)
                );
            }
        }
    }
}

}  // namespace

std::vector<std::uint64_t> running_processes()
{
    std::vector<std::uint64_t> out;
    std::error_code            error;
    for (const fs::directory_entry& each : entries_of("/proc", error)) {
        const std::string name = each.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            out.push_back(std::strtoull(name.c_str(), nullptr, 10));
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::string running_name(std::uint64_t pid)
{
    std::ifstream file{proc(pid, "comm")};
    std::string   name;
    std::getline(file, name);
    return name;
}

recorded_processes find_recorded(const std::string& wanted)
{
    mapped_files files;
    for (const std::uint64_t pid : running_processes()) {
        note_mappings(files, pid);
    }
    recorded_processes out;
    for (const auto& [inode, file] : files) {
        read_file(out, file, wanted);
    }
    std::sort(out.slots.begin(), out.slots.end(), [](const auto& a, const auto& b) {
        return std::make_pair(a.pid, a.is_linked) < std::make_pair(b.pid, b.is_linked);
    });
    return out;
}

}  // namespace tool

// SPDX-License-Identifier: MIT
#include "records/marks.hpp"
#include "text/text.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

// A library that the program links sees no other end.
constexpr const char* unseen_by_linked = "it writes a report at exit() alone";

std::string target_of(const fs::path& mark)
{
    std::error_code ignored;
    return fs::read_symlink(mark, ignored).string();
}

}  // namespace

void silent_groups::add(const silent_record& more)
{
    const auto [at, is_new] =
        groups_.try_emplace({more.program, more.reason, more.is_linked}, more);
    if (!is_new) {
        at->second.processes = plus(at->second.processes, more.processes);
    }
}

std::vector<silent_record> silent_groups::all() const
{
    std::vector<silent_record> out;
    for (const auto& [key, each] : groups_) {
        out.push_back(each);
    }
    return out;
}

std::uint64_t pid_of_name(const std::string& path)
{
    return std::strtoull(fs::path{path}.filename().c_str(), nullptr, 10);
}

std::string failure_reason(int error)
{
    return error == 0 ? "a lock was held when it should be written"
                      : fmt::format("it could not be written: {}", std::strerror(error));
}

// One that tried to write its report says so itself.
std::string silence_reason(const std::string& end, bool may_lack_rights)
{
    return end +
           (may_lack_rights ? ", or it could not write as another user or under another root" : "");
}

process_files sort_files(const std::vector<std::string>& files, const std::string& reason)
{
    process_files                      out;
    std::map<std::string, silent_mark> begun;
    std::map<std::string, std::string> failed;
    for (const std::string& file : files) {
        const fs::path path{file};
        const auto     ending = path.extension();
        if (ending == report_ending) {
            out.reports.push_back(file);
        } else if (ending == failed_ending) {
            failed[path.stem()] = target_of(path);
        } else {
            const bool is_linked = ending == linked_ending;
            begun[path.stem()]   = {
                file,
                {target_of(path),
                 is_linked ? unseen_by_linked : reason,
                   pid_of_name(file),
                   1,
                   is_linked}
            };
        }
    }
    for (const std::string& each : out.reports) {
        begun.erase(fs::path(each).stem());
    }
    for (auto& [stem, silent] : begun) {
        const std::string& error = failed[stem];  // empty: there is none, or it cannot be read
        if (!error.empty()) {
            silent.record.reason = failure_reason(std::atoi(error.c_str()));
        }
        out.silent.push_back(std::move(silent));
    }
    return out;
}

}  // namespace tool

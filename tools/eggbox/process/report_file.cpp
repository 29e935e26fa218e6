// SPDX-License-Identifier: MIT
#include "process/report_file.hpp"

#include "process/temporary.hpp"
#include "text/failure.hpp"
#include "text/listing.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool
{
namespace
{

int write_all(int file, const std::string& text)
{
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(file, text.data() + at, text.size() - at);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        at += written > 0 ? static_cast<std::size_t>(written) : 0;
    }
    return 0;
}

// The file that `path` leads to, if it is one that another file can take the place of.
std::string replaceable(const std::string& path)
{
    std::error_code   error;
    const std::string file = std::filesystem::canonical(path, error);
    return error ? path : file;
}

// Reports that nobody named do not pile up: the newest stay.
void remove_older_than_the_newest(const std::string& path)
{
    namespace fs                                                 = std::filesystem;
    constexpr std::size_t                                   kept = 10;
    std::vector<std::pair<fs::file_time_type, std::string>> found;
    std::error_code                                         error;
    for (const fs::directory_entry& entry : entries_of(fs::path(path).parent_path(), error)) {
        const std::string name  = entry.path().filename().string();
        struct stat       about = {};
        if (name.size() == fs::path(path).filename().string().size() &&
            name.compare(0, 11, "eggbox-run-") == 0 && entry.path().extension() == ".json" &&
            lstat(entry.path().c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
            about.st_uid == geteuid()) {
            found.emplace_back(entry.last_write_time(error), entry.path().string());
        }
    }
    std::sort(found.rbegin(), found.rend());
    for (std::size_t i = kept; i < found.size(); i++) {
        unlink(found[i].second.c_str());
    }
}

}  // namespace

// False: there can be no second file beside it.
bool report_file::open_part()
{
    struct stat       about    = {};
    const std::string target   = replaceable(path_);
    const bool        is_there = stat(target.c_str(), &about) == 0;
    if (is_there && (!S_ISREG(about.st_mode) || access(target.c_str(), W_OK) != 0)) {
        return false;
    }
    part_ = fmt::format("{}.part-{}", target, getpid());
    file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0 && is_there && fchmod(file_, about.st_mode & 07777) != 0) {
        return true;  // with the usual rights
    }
    return file_ >= 0;
}

bool report_file::open_temporary()
{
    path_ = temporary_name("run-") + ".json";
    file_ = mkostemps(path_.data(), 5, O_CLOEXEC);
    part_ = path_;
    return file_ >= 0;
}

report_file::report_file(const std::string& wanted) : is_named_(!wanted.empty()), path_(wanted)
{
    if (is_named_ && !open_part()) {
        part_.clear();
        file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    }
    if (is_named_ && file_ < 0) {
        throw failure(fmt::format("{}: cannot be written: {}", shown(path_), std::strerror(errno)));
    }
}

report_file::~report_file()
{
    if (file_ >= 0) {
        close(file_);
        if (!part_.empty()) {
            unlink(part_.c_str());
        }
    }
}

std::string report_file::write(const std::string& text)
{
    if (!is_named_ && !open_temporary()) {
        return std::strerror(errno);
    }
    int error = part_.empty() && ftruncate(file_, 0) != 0 && errno != EINVAL ? errno : 0;
    error     = error != 0 ? error : write_all(file_, text);  // a pipe cannot be cut
    if (error != 0 && part_.empty() && ftruncate(file_, 0) != 0) {
        errno = error;  // a device cannot be cut: it keeps the bytes that it has got
    }
    error = close(file_) != 0 && error == 0 ? errno : error;
    file_ = -1;
    if (error == 0 && !part_.empty() &&
        rename(part_.c_str(), part_ == path_ ? path_.c_str() : replaceable(path_).c_str()) != 0) {
        error = errno;
    }
    if (error != 0 && !part_.empty()) {
        unlink(part_.c_str());
    }
    if (error == 0 && !is_named_) {
        remove_older_than_the_newest(path_);
    }
    return error == 0 ? "" : std::strerror(error);
}

}  // namespace tool

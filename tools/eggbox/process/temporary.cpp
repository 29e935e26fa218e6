// SPDX-License-Identifier: MIT
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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool
{

std::string temporary_name(const std::string& kind)
{
    const char* const folder = std::getenv("TMPDIR");
    return std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/eggbox-" + kind +
           "XXXXXX";
}

namespace
{

namespace fs = std::filesystem;

// Says that a folder is one of these. It is made behind the lock, so that nobody takes a new folder
// for one that a killed command has left.
constexpr const char* mark = "/.eggbox";

int lock_folder(const std::string& path)
{
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0) {
        close(folder);
        return -1;
    }
    return folder;
}

bool is_left(const fs::path& path)
{
    struct stat about = {};
    if (path.filename().string().compare(0, 7, "eggbox-") != 0 ||
        lstat((path.string() + mark).c_str(), &about) != 0 || about.st_uid != geteuid()) {
        return false;
    }
    const int lock = lock_folder(path);
    close(lock);
    return lock >= 0;
}

void remove_all(const std::string& path)
{
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

// Folders beside `path` whose command is gone do not pile up.
void remove_older_than_the_newest(const std::string& path)
{
    constexpr std::size_t                                   kept = 10;
    std::vector<std::pair<fs::file_time_type, std::string>> found;
    std::error_code                                         error;
    for (const fs::directory_entry& entry : entries_of(fs::path(path).parent_path(), error)) {
        if (is_left(entry.path())) {
            found.emplace_back(entry.last_write_time(error), entry.path().string());
        }
    }
    std::sort(found.rbegin(), found.rend());
    for (std::size_t i = kept; i < found.size(); i++) {
        remove_all(found[i].second);
    }
}

}  // namespace

temporary_folder::temporary_folder() : path_(temporary_name())
{
    if (mkdtemp(path_.data()) == nullptr) {
        throw failure(fmt::format(
            "the folder {} cannot be made: {}; set TMPDIR to one that can be written to",
            shown(path_),
            std::strerror(errno)
        ));
    }
    lock_ = lock_folder(path_);
    close(open((path_ + mark).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

temporary_folder::~temporary_folder()
{
    remove();
}

void temporary_folder::remove()
{
    if (!path_.empty()) {
        remove_all(path_);
        close(lock_);
        remove_older_than_the_newest(path_);
        path_.clear();
    }
}

}  // namespace tool

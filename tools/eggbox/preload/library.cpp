// SPDX-License-Identifier: MIT
#include "preload/library.hpp"

#include "process/paths.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace tool
{

namespace fs = std::filesystem;

// "/usr/bin, /usr/lib or /"
static std::string alternatives(const std::vector<std::string>& folders)
{
    std::string out;
    for (std::size_t i = 0; i < folders.size(); i++) {
        out += i == 0 ? "" : i + 1 < folders.size() ? ", " : " or ";
        out += shown(folders[i]);
    }
    return out;
}

std::string find_malloc_library()
{
    if (const char* const named = std::getenv("EGGBOX_MALLOC_LIB")) {
        return absolute_path(named);
    }
    static constexpr const char* places[] = {
        "/", "/" EGGBOX_LIBRARY_FROM_COMMAND "/", "/../lib/", "/../../"
    };
    std::vector<std::string> searched;
    for (const char* const place : places) {
        const std::string path = own_folder() + place + "libeggbox-malloc.so";
        if (access(path.c_str(), R_OK) == 0) {
            return absolute_path(path);
        }
        const fs::path folder = fs::path(path).lexically_normal().parent_path();
        if (std::find(searched.begin(), searched.end(), folder) == searched.end()) {
            searched.push_back(folder);
        }
    }
    throw failure(fmt::format(
        "no libeggbox-malloc.so in {}; set EGGBOX_MALLOC_LIB to its path", alternatives(searched)
    ));
}

void require_preloadable(const std::string& library)
{
    if (library.find_first_of(" :\t\n") != std::string::npos) {
        throw failure(
            fmt::format("{}: LD_PRELOAD cannot hold a path with a blank or a colon", shown(library))
        );
    }
}

std::string preload_value(const std::string& library)
{
    require_preloadable(library);
    const std::size_t name  = library.rfind('/') + 1;
    std::string       out   = library;
    const std::string other = library.substr(0, name) + "libeggbox-preload.so";
    if (library.substr(name) == "libeggbox-malloc.so" && access(other.c_str(), R_OK) == 0) {
        out = other;
    }
    const char* const before = std::getenv("LD_PRELOAD");
    return before == nullptr || *before == '\0' ? out : out + ":" + before;
}

}  // namespace tool

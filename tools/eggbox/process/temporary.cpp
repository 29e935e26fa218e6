// SPDX-License-Identifier: MIT
#include "process/temporary.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace tool
{

std::string temporary_name(const std::string& kind)
{
    const char* const folder = std::getenv("TMPDIR");
    return std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/eggbox-" + kind +
           "XXXXXX";
}

temporary_folder::temporary_folder() : path_(temporary_name())
{
    if (mkdtemp(path_.data()) == nullptr) {
        throw failure(fmt::format("{}: {}", shown(path_), std::strerror(errno)));
    }
}

temporary_folder::~temporary_folder()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace tool

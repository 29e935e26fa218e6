// SPDX-License-Identifier: MIT
#include "process/paths.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tool
{

std::string absolute_path(const std::string& path)
{
    const std::unique_ptr<char, void (*)(void*)> found{realpath(path.c_str(), nullptr), std::free};
    if (found == nullptr) {
        throw failure(fmt::format("{}: {}", shown(path), std::strerror(errno)));
    }
    return found.get();
}

std::string own_folder()
{
    const std::string self = absolute_path("/proc/self/exe");
    return self.substr(0, self.rfind('/'));
}

}  // namespace tool

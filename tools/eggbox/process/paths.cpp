// SPDX-License-Identifier: MIT
#include "process/paths.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

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
    const bool        has_proc = access("/proc/self/exe", F_OK) == 0;
    const auto* const as_run   = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    const std::string self     = absolute_path(has_proc ? "/proc/self/exe" : as_run);
    return self.substr(0, self.rfind('/'));
}

}  // namespace tool

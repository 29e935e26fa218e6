// SPDX-License-Identifier: MIT
#include "live/running.hpp"

#include "live/live.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace tool
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t bytes_max = 4096;

// An exec leaves the slot of the program before it.
bool is_same_program(const egb_live_slot& slot)
{
    std::error_code   unknown;
    const std::string running = fs::read_symlink(fmt::format("/proc/{}/exe", slot.pid), unknown);
    return !unknown && running == live_text(slot.program, sizeof slot.program);
}

}  // namespace

std::vector<std::string> arguments_now(const egb_live_slot& slot)
{
    std::string   text(bytes_max, '\0');
    std::ifstream file{fmt::format("/proc/{}/cmdline", slot.pid), std::ios::binary};
    file.read(text.data(), bytes_max);
    text.resize(std::size_t(std::max<std::streamsize>(file.gcount(), 0)));
    if (text.empty() || !is_same_program(slot)) {
        return {};
    }
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

std::uint64_t peak_resident_now(const egb_live_slot& slot)
{
    constexpr char name[] = "VmHWM:";
    std::ifstream  file{fmt::format("/proc/{}/status", slot.pid)};
    std::uint64_t  kibibytes = 0;
    for (std::string text; std::getline(file, text);) {
        if (text.compare(0, sizeof name - 1, name) == 0) {
            kibibytes = std::strtoull(text.c_str() + sizeof name - 1, nullptr, 10);
            break;
        }
    }
    return kibibytes != 0 && is_same_program(slot) ? times(kibibytes, 1024) : 0;
}

}  // namespace tool

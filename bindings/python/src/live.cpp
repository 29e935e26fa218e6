// SPDX-License-Identifier: MIT
// The pools of this process. Each copy of the library in it writes their numbers to a live file
// that it has mapped. The mapping is read by /proc/self/mem: there a page that is gone, or lies
// behind the end of the file, is an error and never a signal. The bytes may be nonsense, and
// are only used as numbers or names.
#include "live.hpp"

#include <eggbox/live.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace nb = nanobind;

namespace
{

constexpr const char* end_of_line = "/memfd:eggbox (deleted)";

struct mapping {
    uint64_t start = 0;
    uint64_t end   = 0;
};

class own_memory
{
  public:
    own_memory() : file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}

    ~own_memory()
    {
        if (file_ >= 0) {
            close(file_);
        }
    }

    own_memory(const own_memory&)            = delete;
    own_memory& operator=(const own_memory&) = delete;

    template <class Value>
    bool read(uint64_t address, Value& to) const
    {
        return pread(file_, &to, sizeof to, static_cast<off_t>(address)) ==
               static_cast<ssize_t>(sizeof to);
    }

  private:
    int file_;
};

// A file that two copies of the library have mapped is here once.
std::vector<mapping> mapped_files()
{
    std::vector<mapping>  out;
    std::set<std::string> seen;
    std::ifstream         maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        const size_t length = std::strlen(end_of_line);
        mapping      one;
        char         inode[32] = "";
        if (line.size() >= length && line.compare(line.size() - length, length, end_of_line) == 0 &&
            std::sscanf(
                line.c_str(),
                "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %31s",
                &one.start,
                &one.end,
                inode
            ) == 3 &&
            seen.insert(inode).second) {
            out.push_back(one);
        }
    }
    return out;
}

// The slots of this process. One that a process of the same number left is older.
void add_own_slots(std::vector<egb_live_slot>& to, const own_memory& memory, const mapping& file)
{
    egb_live_header header = {};
    if (!memory.read(file.start, header) || header.magic != EGB_LIVE_MAGIC ||
        header.version != EGB_LIVE_VERSION || header.slot_bytes != EGB_LIVE_SLOT_BYTES) {
        return;
    }
    const auto own       = static_cast<uint32_t>(getpid());
    const auto slots     = std::min<uint32_t>(header.slot_count, EGB_LIVE_SLOTS_MAX);
    auto       slot      = std::make_unique<egb_live_slot>();
    const auto same_kind = [&slot](const egb_live_slot& each) {
        return each.is_linked == slot->is_linked;
    };
    std::vector<egb_live_slot> found;
    for (uint32_t place = 0; place < slots; place++) {
        const uint64_t start = file.start + EGB_LIVE_START + place * uint64_t{EGB_LIVE_SLOT_BYTES};
        uint32_t       pid   = 0;
        if (start + EGB_LIVE_SLOT_BYTES > file.end || !memory.read(start, pid)) {
            break;
        }
        if (pid != own || !memory.read(start, *slot)) {
            continue;
        }
        const auto other = std::find_if(found.begin(), found.end(), same_kind);
        if (other == found.end()) {
            found.push_back(*slot);
        } else if (other->started_ns < slot->started_ns) {
            *other = *slot;
        }
    }
    to.insert(to.end(), found.begin(), found.end());
}

uint64_t minus(uint64_t one, uint64_t other)
{
    return one - std::min(one, other);
}

nb::dict dict_of(const egb_live_pool& pool)
{
    nb::dict out;
    out["name"]         = text_of(pool.name, sizeof pool.name);
    out["block_bytes"]  = pool.block_bytes;
    out["in_use"]       = minus(pool.in_use, pool.in_magazines);
    out["in_magazines"] = std::min<uint64_t>(pool.in_magazines, pool.in_use);
    out["peak"]         = pool.peak;
    out["bytes_held"]   = pool.bytes_held;
    out["failures"]     = minus(pool.failures, pool.failures_before);
    return out;
}

nb::dict dict_of(const egb_live_slot& slot)
{
    nb::list pools;
    for (const egb_live_pool& each : slot.pools) {
        if (each.key != 0) {
            pools.append(dict_of(each));
        }
    }
    nb::dict out;
    out["library"]          = slot.is_linked != 0 ? "linked" : "malloc";
    out["level"]            = text_of(slot.level, sizeof slot.level);
    out["pools"]            = pools;
    out["pools_beyond"]     = minus(slot.pools_beyond, EGB_LIVE_POOLS - 1);
    out["large_in_use"]     = slot.large.in_use;
    out["large_peak"]       = slot.large.peak;
    out["large_bytes"]      = slot.large.bytes;
    out["large_bytes_peak"] = slot.large.bytes_peak;
    out["large_failures"]   = slot.large.failures;
    return out;
}

}  // namespace

nb::object text_of(const char* start, size_t bytes_max)
{
    const auto      bytes = static_cast<Py_ssize_t>(strnlen(start, bytes_max));
    PyObject* const text  = PyUnicode_DecodeUTF8(start, bytes, "replace");
    if (text == nullptr) {
        throw nb::python_error();
    }
    return nb::steal(text);
}

nb::list live_slots()
{
    std::vector<egb_live_slot> slots;
    {
        const nb::gil_scoped_release others_run;
        const own_memory             memory;
        for (const mapping& each : mapped_files()) {
            add_own_slots(slots, memory, each);
        }
    }
    nb::list out;
    for (const egb_live_slot& each : slots) {
        out.append(dict_of(each));
    }
    return out;
}

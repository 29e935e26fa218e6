// SPDX-License-Identifier: MIT
#include "live/live.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool
{
namespace
{

// A place far from the descriptors that programs expect for their own, below the limit of this
// process where it is a low one.
int place_aside()
{
    constexpr rlim_t aside = 700;
    rlimit           limit = {};
    return static_cast<int>(
        getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > aside
            ? aside
            : limit.rlim_cur - limit.rlim_cur / 8 - 1
    );
}

// All of it at once: else a write by a process would fail when memory is short, and end it. A
// length beyond the limit would raise a signal.
int allocate(int file, std::uint64_t bytes)
{
    rlimit limit = {};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
        return EFBIG;
    }
    return posix_fallocate(file, 0, static_cast<off_t>(bytes));
}

bool is_known(const egb_live_header& found, std::uint64_t bytes)
{
    return found.slot_bytes == EGB_LIVE_SLOT_BYTES && found.slot_count != 0 &&
           found.slot_count <= EGB_LIVE_SLOTS_MAX && found.report_bytes <= EGB_LIVE_REPORT_MAX &&
           bytes == EGB_LIVE_BYTES(found.slot_count) + found.slot_count * found.report_bytes;
}

// Another process may make an open file of another kind shorter while it is read, which would end
// this one.
bool cannot_shrink(int file)
{
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

}  // namespace

bool live_file::map(bool is_writable)
{
    const int   protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const start      = mmap(nullptr, bytes_, protection, MAP_SHARED, file_, 0);
    header_                = start == MAP_FAILED ? nullptr : static_cast<egb_live_header*>(start);
    return header_ != nullptr;
}

live_file::live_file() : slots_(EGB_LIVE_SLOTS_MAX), bytes_(EGB_LIVE_BYTES(EGB_LIVE_SLOTS_MAX))
{
    const int made = memfd_create("eggbox", MFD_ALLOW_SEALING);
    file_          = made < 0 ? -1 : fcntl(made, F_DUPFD, place_aside());
    file_          = file_ < 0 ? made : file_;
    if (file_ != made) {
        close(made);
    }
    const int error = file_ < 0 ? errno : allocate(file_, bytes_);
    if (error != 0 || !map(true)) {
        trouble_ = std::strerror(error != 0 ? error : errno);
        return;
    }
    make_room_for_reports();
    fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    header_->magic        = EGB_LIVE_MAGIC;
    header_->version      = EGB_LIVE_VERSION;
    header_->slot_count   = slots_;
    header_->slot_bytes   = EGB_LIVE_SLOT_BYTES;
    header_->maker        = static_cast<std::uint32_t>(getpid());
    header_->is_harvested = 1;
}

// Without memory: a write there fails where memory is short, and nobody maps it. A length beyond
// the limit would raise a signal.
void live_file::make_room_for_reports()
{
    const std::uint64_t bytes = bytes_ + slots_ * EGB_LIVE_REPORT_MAX;
    rlimit              limit = {};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes &&
        ftruncate(file_, static_cast<off_t>(bytes)) == 0) {
        header_->report_bytes = EGB_LIVE_REPORT_MAX;
    }
}

live_file::live_file(const std::string& path)
{
    struct stat about    = {};
    file_                = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const bool is_sealed = file_ >= 0 && cannot_shrink(file_);  // before its length is read
    if (file_ < 0 || fstat(file_, &about) != 0) {
        throw failure(fmt::format("{}: cannot be opened: {}", shown(path), std::strerror(errno)));
    }
    bytes_ = static_cast<std::uint64_t>(about.st_size);
    if (!S_ISREG(about.st_mode) || bytes_ < EGB_LIVE_BYTES(1) || !is_sealed) {
        close(file_);
        throw failure(fmt::format("{}: is no live file of eggbox", shown(path)));
    }
    egb_live_header found = {};
    const bool      is_it =
        pread(file_, &found, sizeof found, 0) == sizeof found && found.magic == EGB_LIVE_MAGIC;
    if (!is_it || found.version != EGB_LIVE_VERSION || !is_known(found, bytes_)) {
        close(file_);
        throw failure(fmt::format(
            is_it && found.version != EGB_LIVE_VERSION
                ? "{}: is a live file of version {}, and this command knows version {}"
                : "{}: is no live file of eggbox",
            shown(path),
            found.version,
            EGB_LIVE_VERSION
        ));
    }
    slots_ = found.slot_count;
    bytes_ = EGB_LIVE_BYTES(slots_);
    if (!map(false)) {
        const int error = errno;
        close(file_);
        throw failure(fmt::format("{}: cannot be mapped: {}", shown(path), std::strerror(error)));
    }
}

live_file::~live_file()
{
    if (header_ != nullptr) {
        munmap(header_, bytes_);
    }
    if (file_ >= 0) {
        close(file_);
    }
}

std::string live_file::variable() const
{
    return is_there() ? fmt::format("{}/{}", getpid(), file_) : "";
}

std::uint64_t live_file::refused() const
{
    return is_there() ? __atomic_load_n(&header_->refused, __ATOMIC_RELAXED) : 0;
}

egb_live_slot* live_file::slot(std::uint32_t place) const
{
    char* const start = reinterpret_cast<char*>(header_) + EGB_LIVE_START;
    return reinterpret_cast<egb_live_slot*>(start + std::size_t{place} * EGB_LIVE_SLOT_BYTES);
}

std::uint32_t live_file::pid_at(std::uint32_t place) const
{
    return __atomic_load_n(&slot(place)->pid, __ATOMIC_ACQUIRE);
}

// A slot that is claimed meanwhile is counted later, and the next call looks again.
const std::vector<std::uint32_t>& live_file::places() const
{
    const std::uint32_t claims = __atomic_load_n(&header_->claims, __ATOMIC_ACQUIRE);
    if (!has_places_ || claims != claims_seen_) {
        has_places_  = true;
        claims_seen_ = claims;
        places_.clear();
        for (std::uint32_t place = 0; place < slots_; place++) {
            if (pid_at(place) != 0) {
                places_.push_back(place);
            }
        }
    }
    return places_;
}

void live_file::forget_places()
{
    has_places_ = false;
}

live_slot live_file::copy(std::uint32_t place) const
{
    live_slot out{place, {}};
    std::memcpy(&out.data, slot(place), sizeof out.data);
    return out;
}

std::uint64_t live_file::place_of_report(std::uint32_t place) const
{
    return bytes_ + place * EGB_LIVE_REPORT_MAX;
}

// Any process may write any length there.
std::string live_file::report_of(const live_slot& slot) const
{
    std::string out(std::min<std::uint64_t>(slot.data.report_bytes, EGB_LIVE_REPORT_MAX), '\0');
    const auto  place = static_cast<off_t>(place_of_report(slot.place));
    const bool  is_read =
        pread(file_, out.data(), out.size(), place) == static_cast<ssize_t>(out.size());
    return is_read ? out : "";
}

// The room for its report has no memory then, as before.
void live_file::release(std::uint32_t place, std::uint32_t pid)
{
    fallocate(
        file_,
        FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        static_cast<off_t>(place_of_report(place)),
        static_cast<off_t>(EGB_LIVE_REPORT_MAX)
    );
    __atomic_compare_exchange_n(
        &slot(place)->pid, &pid, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED
    );
}

}  // namespace tool

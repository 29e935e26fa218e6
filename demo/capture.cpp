// SPDX-License-Identifier: MIT
#include "capture.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

namespace demo
{
namespace
{

// file:   | file header, 24 bytes | record | record | ...
// record: | seconds | fraction | captured | on wire | `captured` bytes |      4 bytes a number
constexpr std::size_t   file_header_bytes   = 24;
constexpr std::size_t   record_header_bytes = 16;
constexpr std::uint32_t magic_micro         = 0xA1B2C3D4;
constexpr std::uint32_t magic_nano          = 0xA1B23C4D;
constexpr std::uint32_t magic_next_format   = 0x0A0D0D0A;
constexpr std::uint32_t link_ethernet       = 1;
constexpr std::uint32_t captured_max        = 262144;  // tcpdump's own limit

// Longer pauses are cut, so that no sum of times can overflow.
constexpr std::uint64_t time_us_max = std::uint64_t{86400} * 1000000;

std::uint32_t big_endian(const unsigned char* at)
{
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
           std::uint32_t{at[3]};
}

std::uint32_t little_endian(const unsigned char* at)
{
    return std::uint32_t{at[3]} << 24 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 |
           std::uint32_t{at[0]};
}

struct file_format {
    std::uint32_t (*number)(const unsigned char* at);
    std::uint64_t fractions_per_us;
};

file_format find_format(const unsigned char* at)
{
    for (const auto number : {little_endian, big_endian}) {
        if (number(at) == magic_micro) {
            return {number, 1};
        }
        if (number(at) == magic_nano) {
            return {number, 1000};
        }
    }
    if (big_endian(at) == magic_next_format) {
        throw bad_capture("is in the pcapng format; `tcpdump -r IT -w OUT` makes a pcap file of it"
        );
    }
    throw bad_capture("is not a pcap file: it does not begin with a pcap magic number");
}

[[noreturn]] void fail_at(std::size_t offset, const std::string& what)
{
    throw bad_capture("is damaged at byte " + std::to_string(offset) + ": " + what);
}

frame read_record(
    const std::vector<unsigned char>& bytes, std::size_t offset, const file_format& format
)
{
    if (bytes.size() - offset < record_header_bytes) {
        fail_at(offset, "it ends inside a record's header");
    }
    const unsigned char* const at       = &bytes[offset];
    const std::uint64_t        time_us  = std::uint64_t{format.number(at)} * 1000000;
    const std::uint64_t        fraction = format.number(at + 4) / format.fractions_per_us;
    const std::uint32_t        captured = format.number(at + 8);
    if (captured > captured_max) {
        fail_at(offset, "a record of " + std::to_string(captured) + " bytes");
    }
    if (bytes.size() - offset - record_header_bytes < captured) {
        fail_at(offset, "it ends inside a record of " + std::to_string(captured) + " bytes");
    }
    return {time_us + fraction, offset + record_header_bytes, captured, format.number(at + 12)};
}

// Files merged from several are not always sorted. Equal times keep their order.
void sort_from_zero(std::vector<frame>& frames)
{
    std::sort(frames.begin(), frames.end(), [](const frame& a, const frame& b) {
        return std::tie(a.time_us, a.offset) < std::tie(b.time_us, b.offset);
    });
    const std::uint64_t start = frames.front().time_us;
    for (frame& each : frames) {
        each.time_us = std::min(each.time_us - start, time_us_max);
    }
}

struct close_file {
    void operator()(std::FILE* file) const noexcept
    {
        std::fclose(file);
    }
};

std::vector<unsigned char> read_bytes(const std::string& path)
{
    const std::unique_ptr<std::FILE, close_file> file{std::fopen(path.c_str(), "rb")};
    if (file == nullptr) {
        throw bad_capture(std::string("cannot be opened: ") + std::strerror(errno));
    }
    std::vector<unsigned char> bytes;
    unsigned char              part[65536];
    while (const std::size_t count = std::fread(part, 1, sizeof part, file.get())) {
        bytes.insert(bytes.end(), part, part + count);
    }
    if (std::ferror(file.get()) != 0) {
        throw bad_capture(std::string("cannot be read: ") + std::strerror(errno));
    }
    return bytes;
}

}  // namespace

capture parse_capture(std::vector<unsigned char> bytes)
{
    if (bytes.size() < file_header_bytes) {
        throw bad_capture("is shorter than the header of a pcap file");
    }
    const file_format   format = find_format(bytes.data());
    const std::uint32_t link   = format.number(&bytes[20]) & 0xFFFF;
    if (link != link_ethernet) {
        throw bad_capture("has link type " + std::to_string(link) + ", not 1, Ethernet");
    }
    std::vector<frame> frames;
    for (std::size_t offset = file_header_bytes; offset < bytes.size();) {
        frames.push_back(read_record(bytes, offset, format));
        offset = frames.back().offset + frames.back().captured;
    }
    if (frames.empty()) {
        throw bad_capture("holds no packet");
    }
    sort_from_zero(frames);
    return {std::move(bytes), std::move(frames)};
}

capture read_capture(const std::string& path)
{
    return parse_capture(read_bytes(path));
}

}  // namespace demo
